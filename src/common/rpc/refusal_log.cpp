// See refusal_log.hpp.
#include "common/rpc/refusal_log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "common/base/printable.hpp"
#include "common/log/log.hpp"

namespace sluice::net {
namespace {

constexpr size_t kMostSubject = 80;  // bytes
constexpr Duration kAgain = std::chrono::hours(1);
constexpr Duration kOver = std::chrono::minutes(1);  // unseen for so long, it lasts no longer
constexpr size_t kMostLasting = 1000;

SteadyTime steady_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

}  // namespace

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
  // Nothing is forbidden to them: that a user they named does not exist is said with these words,
  // too.
  if (refusal.by_admin &&
      (refusal.why.code == ErrorCode::kInvalidUser || refusal.why.code == ErrorCode::kAccessDenied))
    return std::nullopt;
  const std::lock_guard lock(mutex_);
  uint64_t left_out = 0;
  if (is_told(refusal, now, left_out)) return std::nullopt;
  const double seconds = std::chrono::duration<double>(now - filled_).count();
  room_ = std::clamp(room_ + seconds * kMost, 0.0, kMost);
  filled_ = now;
  if (room_ < 1) {
    ++left_out_;
    return std::nullopt;
  }
  room_ -= 1;
  std::string text = refusal.uid ? fmt::format("Security violation, {} RPC from uid={} at {}",
                                               refusal.method, *refusal.uid, refusal.peer)
                                 : fmt::format("authentication of {} RPC from {} failed",
                                               refusal.method, refusal.peer);
  if (!refusal.subject.empty())
    text += fmt::format(": {}", escape_controls(refusal.subject.substr(0, kMostSubject)));
  if (!refusal.why.text.empty()) text += ": " + refusal.why.text;
  left_out += std::exchange(left_out_, 0);
  if (left_out > 0) text += fmt::format(" ({} more were refused and not logged)", left_out);
  return text;
}

void RefusalLog::note(const Refusal& refusal) {
  if (!is_denial(refusal.why.code)) return;
  if (const auto text = line(refusal, steady_now())) log::error("{}", *text);
}

}  // namespace sluice::net
