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

SteadyTime steady_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

}  // namespace

bool is_denial(ErrorCode code) {
  return code == ErrorCode::kAccessDenied || code == ErrorCode::kAuthentication ||
         code == ErrorCode::kInvalidUser || code == ErrorCode::kInvalidCredential ||
         code == ErrorCode::kWrongCluster;
}

std::optional<std::string> RefusalLog::line(const Refusal& refusal, SteadyTime now) {
  // Nothing is forbidden to them: that a user they named does not exist is said with these words,
  // too.
  if (refusal.by_admin &&
      (refusal.why.code == ErrorCode::kInvalidUser || refusal.why.code == ErrorCode::kAccessDenied))
    return std::nullopt;
  const std::lock_guard lock(mutex_);
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
  if (left_out_ > 0)
    text += fmt::format(" ({} more were refused and not logged)", std::exchange(left_out_, 0));
  return text;
}

void RefusalLog::note(const Refusal& refusal) {
  if (!is_denial(refusal.why.code)) return;
  if (const auto text = line(refusal, steady_now())) log::error("{}", *text);
}

}  // namespace sluice::net
