// See refusal_log.hpp.
#include "common/rpc/refusal_log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "common/base/printable.hpp"
#include "common/log/log.hpp"
#include "common/names/errors.hpp"
#include "common/os/is_away.hpp"

namespace sluice::net {
namespace {

constexpr size_t kMostSubject = 80, kMostReason = 200;  // bytes
constexpr Duration kAgain = std::chrono::hours(1);
constexpr Duration kOver = std::chrono::minutes(1);  // unseen for so long, it lasts no longer
constexpr size_t kMostLasting = 1000;

SteadyTime steady_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

// Nothing is forbidden to administrators: that a user they named does not exist is said with these
// words, too.
bool is_mistyped(const Refusal& refusal) {
  return refusal.by_admin && (refusal.why.code == ErrorCode::kInvalidUser ||
                              refusal.why.code == ErrorCode::kAccessDenied);
}

// Nothing is wrong with the request: it is asked again, or there is nothing left to do.
bool is_passing(ErrorCode code) {
  switch (code) {
    case ErrorCode::kAlreadyDone:
    case ErrorCode::kJobFinished:
    case ErrorCode::kJobPending:
    case ErrorCode::kNodesBusy:
    case ErrorCode::kStepsBusy: return true;
    default: return is_away(code);
  }
}

std::string subject_text(const Refusal& refusal) {
  if (refusal.subject.empty()) return {};
  return fmt::format(": {}", escape_controls(refusal.subject.substr(0, kMostSubject)));
}

std::string left_out_text(uint64_t left_out) {
  if (left_out == 0) return {};
  return fmt::format(" ({} more were refused and not logged)", left_out);
}

}  // namespace

bool RefusalLog::Room::take(SteadyTime now) {
  const double seconds = std::chrono::duration<double>(now - filled).count();
  lines = std::clamp(lines + seconds * kMost, 0.0, kMost);
  filled = now;
  if (lines < 1) {
    ++left_out;
    return false;
  }
  lines -= 1;
  return true;
}

bool is_denial(ErrorCode code) {
  return code == ErrorCode::kAccessDenied || code == ErrorCode::kAuthentication ||
         code == ErrorCode::kInvalidUser || code == ErrorCode::kInvalidCredential ||
         code == ErrorCode::kWrongCluster;
}

bool RefusalLog::is_told(const Refusal& refusal, SteadyTime now, uint64_t& left_out) {
  if (std::ranges::find(repeated_, refusal.method) == repeated_.end()) return false;
  std::erase_if(lasting_, [&](const auto& one) { return now - one.second.seen > kOver; });
  if (lasting_.size() >= kMostLasting) lasting_.clear();
  // the port is another one with each connection
  const std::string_view host = refusal.peer.substr(0, refusal.peer.rfind(':'));
  Lasting& lasting = lasting_[fmt::format("{} {} {} {}", host, refusal.uid.value_or(UINT32_MAX),
                                          static_cast<int>(refusal.why.code), refusal.why.text)];
  const bool is_new = lasting.seen == SteadyTime{};
  lasting.seen = now;
  if (!is_new && now - lasting.logged < kAgain) {
    ++lasting.left_out;
    return true;
  }
  lasting.logged = now;
  left_out += std::exchange(lasting.left_out, 0);
  return false;
}

std::optional<std::string> RefusalLog::line(const Refusal& refusal, SteadyTime now) {
  if (is_mistyped(refusal)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  uint64_t left_out = 0;
  if (is_told(refusal, now, left_out) || !denials_.take(now)) return std::nullopt;
  std::string text = refusal.uid ? fmt::format("Security violation, {} RPC from uid={} at {}",
                                               refusal.method, *refusal.uid, refusal.peer)
                                 : fmt::format("authentication of {} RPC from {} failed",
                                               refusal.method, refusal.peer);
  text += subject_text(refusal);
  if (!refusal.why.text.empty()) text += ": " + refusal.why.text;
  return text + left_out_text(left_out + std::exchange(denials_.left_out, 0));
}

std::optional<std::string> RefusalLog::line_of_change(const Refusal& refusal, SteadyTime now) {
  const bool changes = std::ranges::find(changes_, refusal.method) != changes_.end();
  if (!changes || !refusal.uid || is_passing(refusal.why.code)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!mistakes_.take(now)) return std::nullopt;
  return fmt::format("{} RPC from uid={} at {} was refused{}: {}{}", refusal.method, *refusal.uid,
                     refusal.peer, subject_text(refusal),
                     escape_controls(error_text(refusal.why).substr(0, kMostReason)),
                     left_out_text(std::exchange(mistakes_.left_out, 0)));
}

void RefusalLog::note(const Refusal& refusal) {
  if (is_denial(refusal.why.code) && !is_mistyped(refusal)) {
    if (const auto text = line(refusal, steady_now())) log::error("{}", *text);
  } else if (const auto text = line_of_change(refusal, steady_now())) {
    log::info("{}", *text);
  }
}

}  // namespace sluice::net
