#include "ctld/engine/inbox.hpp"

#include <utility>

#include "common/base/check.hpp"
#include "ctld/engine/gather.hpp"
#include "ctld/engine/new_work.hpp"

namespace sluice::engine {

bool Inbox::is_ready() const {
  return closed_ || ((tick_asked_ || !waiting_.empty()) && (!only_reports_ || unwritten_ == 0));
}

bool Inbox::put(Post& post) {
  const std::lock_guard lock(mutex_);
  if (closed_ || (waiting_.size() >= most_waiting_ && is_new_work(post.command))) return false;
  const bool was_ready = is_ready();
  only_reports_ = only_reports_ && is_report(post.command);
  waiting_.push_back(std::move(post));
  if (!was_ready && is_ready()) ready_.notify_one();
  return true;
}

void Inbox::ask_tick() {
  const std::lock_guard lock(mutex_);
  const bool was_ready = is_ready();
  tick_asked_ = true;
  if (!was_ready && is_ready()) ready_.notify_one();
}

Inbox::Taken Inbox::take(Duration longest) {
  std::unique_lock lock(mutex_);
  ready_.wait_for(lock, longest, [this] { return is_ready(); });
  only_reports_ = true;
  return {std::exchange(waiting_, {}), std::exchange(tick_asked_, false)};
}

void Inbox::note_sealed() {
  const std::lock_guard lock(mutex_);
  ++unwritten_;
}

void Inbox::note_written() {
  const std::lock_guard lock(mutex_);
  SLUICE_CHECK(unwritten_ > 0);
  --unwritten_;
  if (is_ready()) ready_.notify_one();
}

void Inbox::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  ready_.notify_one();
}

bool Inbox::is_over() const {
  const std::lock_guard lock(mutex_);
  return closed_ && waiting_.empty();
}

}  // namespace sluice::engine
