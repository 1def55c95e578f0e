#include "common/rpc/admission.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sluice::net {

Status Admission::open(uint32_t uid) {
  const std::lock_guard lock(mutex_);
  User& user = users_[uid];
  // one that was cancelled waits for its turn all the same
  const size_t kept = std::max(user.calls, user.waiting.size());
  if (kept >= limits_.calls_of_user) {
    return failure(ErrorCode::kRetry,
                   fmt::format("user {} has {} requests open already", uid, kept));
  }
  ++user.calls;
  return {};
}

void Admission::closed(uint32_t uid, size_t held_bytes, size_t held_answers) {
  const std::lock_guard lock(mutex_);
  User& user = users_[uid];
  --user.calls;
  user.bytes -= std::min(user.bytes, held_bytes);
  bytes_ -= std::min(bytes_, held_bytes);
  user.answers -= std::min(user.answers, held_answers);
  forget_idle(uid);
}

Status Admission::hold_answer(uint32_t uid, size_t bytes) {
  const std::lock_guard lock(mutex_);
  User& user = users_[uid];
  if (user.answers > 0 && user.answers + bytes > limits_.answers_of_user)
    return failure(ErrorCode::kRetry, fmt::format("user {} has {} bytes of answers to read already",
                                                  uid, user.answers));
  user.answers += bytes;
  return {};
}

void Admission::read_answer(uint32_t uid, size_t bytes) {
  const std::lock_guard lock(mutex_);
  User& user = users_[uid];
  user.answers -= std::min(user.answers, bytes);
}

void Admission::forget_idle(uint32_t uid) {
  const auto at = users_.find(uid);
  if (at != users_.end() && at->second.calls == 0 && at->second.reads == 0 &&
      at->second.waiting.empty())
    users_.erase(at);
}

void Admission::ask_to_read(uint32_t uid, const std::shared_ptr<Reader>& call) {
  std::unique_lock lock(mutex_);
  users_[uid].waiting.push_back(call);
  pass_turn(uid, lock);
}

void Admission::has_read(uint32_t uid) {
  std::unique_lock lock(mutex_);
  --users_[uid].reads;
  pass_turn(uid, lock);
}

void Admission::pass_turn(uint32_t uid, std::unique_lock<std::mutex>& lock) {
  while (true) {
    User& user = users_[uid];
    if (user.waiting.empty() || user.reads >= limits_.reads_of_user) break;
    const std::shared_ptr<Reader> call = std::move(user.waiting.front());
    user.waiting.pop_front();
    ++user.reads;
    lock.unlock();
    const bool reads = call->start_reading();
    lock.lock();
    if (!reads) --users_[uid].reads;
  }
  forget_idle(uid);
}

Status Admission::hold(uint32_t uid, size_t bytes) {
  const std::lock_guard lock(mutex_);
  User& user = users_[uid];
  // one is always taken: its size is bounded by its method
  const bool too_many = user.bytes > 0 && (user.bytes + bytes > limits_.bytes_of_user ||
                                           bytes_ + bytes > limits_.bytes_of_all);
  if (too_many)
    return failure(ErrorCode::kRetry,
                   fmt::format("{} bytes of requests of user {} wait already", user.bytes, uid));
  user.bytes += bytes;
  bytes_ += bytes;
  return {};
}

void Admission::add(uint32_t uid, size_t bytes) {
  const std::lock_guard lock(mutex_);
  users_[uid].bytes += bytes;
  bytes_ += bytes;
}

}  // namespace sluice::net
