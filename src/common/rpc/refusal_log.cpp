// See refusal_log.hpp.
#include "common/rpc/refusal_log.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "common/base/printable.hpp"
#include "common/log/log.hpp"
#include "common/names/errors.hpp"
#include "common/os/is_away.hpp"

namespace sluice::net {
namespace {

constexpr size_t kMostSubject = 80, kMostReason = 200;  // bytes
// from one line to the next of what lasts
constexpr Duration kPauses[] = {std::chrono::minutes(1), std::chrono::minutes(10),
                                std::chrono::hours(1)};
// Unseen for so long, it lasts no longer: what a daemon repeats, and what others ask.
constexpr Duration kOver = std::chrono::minutes(1), kOverOfOthers = std::chrono::minutes(15);
constexpr size_t kMostLasting = 1000;
constexpr size_t kMostRooms = 1000;  // users

SteadyTime steady_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

// Nothing is forbidden to administrators: that a user they named does not exist is said with these
// words, too.
bool is_mistyped(const Refusal& refusal) {
  return refusal.by_admin && (refusal.why.code == ErrorCode::kInvalidUser ||
                              refusal.why.code == ErrorCode::kAccessDenied);
}

bool holds(const std::vector<std::string>& methods, std::string_view method) {
  return std::ranges::find(methods, method) != methods.end();
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

// What tells one refusal from another, cut so that no caller fills the memory. By what they ask
// about only daemons are told apart: a user could make up as many nodes and jobs as he likes.
std::string lasting_key(const Refusal& refusal, bool repeated) {
  // the port is another one with each connection; whatever a daemon asks, it is the same cause
  const std::string_view host = refusal.peer.substr(0, refusal.peer.rfind(':'));
  return fmt::format("{} {} {} {} {}", host, refusal.uid.value_or(UINT32_MAX),
                     repeated ? std::string_view() : refusal.method,
                     refusal.by_admin ? refusal.subject.substr(0, kMostSubject) : "",
                     cause_key({refusal.why.code, refusal.why.text.substr(0, kMostReason)}));
}

// Where there are as many entries as may be, the one that was not seen for longest goes for it.
template <class Key, class Value>
Value& entry_of(std::map<Key, Value>& entries, const Key& key, size_t most,
                SteadyTime Value::*seen) {
  if (entries.size() >= most && !entries.contains(key))
    entries.erase(
        std::ranges::min_element(entries, {}, [&](const auto& one) { return one.second.*seen; }));
  return entries[key];
}

}  // namespace

RefusalLog::Room& RefusalLog::room_of(Rooms& rooms, const Refusal& refusal) {
  return entry_of(rooms, refusal.uid.value_or(kNoUid), kMostRooms, &Room::filled);
}

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

std::string cause_key(const Error& why) {
  std::string key = fmt::format("{} ", static_cast<uint32_t>(why.code));
  bool in_number = false;
  for (const char c : why.text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) key += c;
    else if (!in_number) key += '#';
    in_number = is_digit;
  }
  return key;
}

RefusalLog::Lasting& RefusalLog::lasting(const std::string& key) {
  return entry_of(lasting_, key, kMostLasting, &Lasting::seen);
}

bool RefusalLog::is_told(const Refusal& refusal, SteadyTime now, uint64_t& left_out) {
  const bool repeated = holds(repeated_, refusal.method);
  if (!repeated && refusal.uid) return false;
  std::erase_if(lasting_, [&](const auto& one) {
    return now - one.second.seen > (one.second.repeated ? kOver : kOverOfOthers);
  });
  Lasting& one = lasting(lasting_key(refusal, repeated));
  one.seen = now;
  one.repeated = repeated;
  if (one.lines > 0 && now - one.logged < kPauses[std::min(one.lines, std::size(kPauses)) - 1]) {
    ++one.left_out;
    return true;
  }
  ++one.lines;
  one.logged = now;
  left_out += std::exchange(one.left_out, 0);
  return false;
}

std::optional<std::string> RefusalLog::line(const Refusal& refusal, SteadyTime now) {
  if (is_mistyped(refusal)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  uint64_t left_out = 0;
  Room& room = room_of(denials_, refusal);
  if (is_told(refusal, now, left_out) || !room.take(now)) return std::nullopt;
  std::string text = refusal.uid ? fmt::format("Security violation, {} RPC from uid={} at {}",
                                               refusal.method, *refusal.uid, refusal.peer)
                                 : fmt::format("authentication of {} RPC from {} failed",
                                               refusal.method, refusal.peer);
  text += subject_text(refusal);
  if (!refusal.why.text.empty()) text += ": " + refusal.why.text;
  return text + left_out_text(left_out + std::exchange(room.left_out, 0));
}

std::optional<std::string> RefusalLog::line_of_change(const Refusal& refusal, SteadyTime now) {
  const ErrorCode code = refusal.why.code;
  if (!refusal.uid || !holds(changes_, refusal.method) || is_away(code)) return std::nullopt;
  if (is_passing(code) && !holds(by_admins_, refusal.method)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  uint64_t left_out = 0;
  Room& room = room_of(mistakes_, refusal);
  if (is_told(refusal, now, left_out) || !room.take(now)) return std::nullopt;
  return fmt::format("{} RPC from uid={} at {} was refused{}: {}{}", refusal.method, *refusal.uid,
                     refusal.peer, subject_text(refusal),
                     escape_controls(error_text(refusal.why).substr(0, kMostReason)),
                     left_out_text(left_out + std::exchange(room.left_out, 0)));
}

void RefusalLog::note(const Refusal& refusal) {
  if (is_denial(refusal.why.code) && !is_mistyped(refusal)) {
    if (const auto text = line(refusal, steady_now())) log::error("{}", *text);
  } else if (const auto text = line_of_change(refusal, steady_now())) {
    if (holds(repeated_, refusal.method)) log::error("{}", *text);
    else log::info("{}", *text);
  }
}

}  // namespace sluice::net
