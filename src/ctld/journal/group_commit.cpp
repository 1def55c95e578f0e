// The loop of the journal's thread.
#include "ctld/journal/group_commit.hpp"

#include <iterator>
#include <optional>
#include <utility>

#include "common/base/check.hpp"
#include "common/base/thread_name.hpp"

namespace sluice::journal {

namespace {

size_t size_of(const FrameGroup& group) {
  size_t bytes = 0;
  for (const Frame& frame : group.frames) bytes += frame.bytes.size() + sizeof(Frame);
  for (const Blob& blob : group.blobs) bytes += blob.bytes.size() + sizeof(Blob);
  for (const std::string& record : group.outgoing) bytes += record.size();
  return bytes;
}

template <class T>
void move_behind(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

GroupCommit::GroupCommit(JournalStore& store, GroupCommitOptions options)
    : store_(store),
      options_(std::move(options)),
      trouble_(store.low_on_room() ? ErrorCode::kStorageFull : ErrorCode::kOk),
      thread_([this] { run(); }) {}

GroupCommit::~GroupCommit() { stop(); }

void GroupCommit::submit(FrameGroup group, OnDurable on_durable) {
  {
    const std::lock_guard lock(mutex_);
    SLUICE_CHECK(!stopping_);
    waiting_.push_back({std::move(group), std::move(on_durable)});
  }
  changed_.notify_one();
}

size_t GroupCommit::backlog() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + in_flight_;
}

void GroupCommit::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::deque<GroupCommit::Waiting> GroupCommit::take_batch() {
  std::unique_lock lock(mutex_);
  in_flight_ = 0;
  const auto ready = [&] { return stopping_ || !waiting_.empty(); };
  // nothing to write, but room may be back, or the store be gone
  changed_.wait_for(
      lock, trouble_ == ErrorCode::kOk ? options_.look_interval : options_.retry_interval, ready);
  std::deque<Waiting> batch;
  size_t bytes = 0;
  while (!waiting_.empty() && (batch.empty() || bytes < options_.max_transaction_bytes)) {
    bytes += size_of(waiting_.front().group);
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  in_flight_ = batch.size();
  return batch;
}

void GroupCommit::run() {
  name_thread("journal");
  if (trouble_ != ErrorCode::kOk && options_.on_storage_change)
    options_.on_storage_change(trouble_, "the disk of the journal has no room for its reserve");
  std::optional<Error> given_up;  // why a group was not written: those behind it cannot follow it
  for (;;) {
    std::deque<Waiting> batch = take_batch();
    if (batch.empty()) {
      const std::unique_lock lock(mutex_);
      if (stopping_) return;
    }
    look();
    if (batch.empty()) continue;
    FrameGroup merged;
    for (Waiting& one : batch) {
      move_behind(merged.frames, one.group.frames);
      move_behind(merged.blobs, one.group.blobs);
      move_behind(merged.outgoing, one.group.outgoing);
    }
    const Result<Sequence> written =
        given_up ? Result<Sequence>(tl::unexpected<Error>(*given_up)) : write(merged);
    if (!written) given_up = written.error();
    for (const Waiting& one : batch) one.on_durable(written);
  }
}

void GroupCommit::look() {
  if (trouble_ != ErrorCode::kOk) store_.regain_reserve();
  if (const Status there = store_.still_there(); !there)
    set_trouble(there.error().code, there.error().text);
  else if (!store_.low_on_room()) set_trouble(ErrorCode::kOk, {});
}

Result<Sequence> GroupCommit::write(const FrameGroup& group) {
  for (;;) {
    Result<Sequence> written = store_.append(group);
    if (written) {
      if (store_.low_on_room()) {
        set_trouble(ErrorCode::kStorageFull,
                    "the disk of the journal is full; its last reserve is in use");
      } else {
        set_trouble(ErrorCode::kOk, {});
      }
      return written;
    }
    const ErrorCode code = written.error().code;
    if (code != ErrorCode::kStorageFull && code != ErrorCode::kRetry) return written;
    set_trouble(code, written.error().text);
    if (pause(options_.retry_interval)) return store_.append(group);
    store_.regain_reserve();
  }
}

bool GroupCommit::pause(std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, interval, [&] { return stopping_; });
}

void GroupCommit::set_trouble(ErrorCode trouble, const std::string& why) {
  const bool was = trouble_.exchange(trouble) != ErrorCode::kOk;
  const bool is = trouble != ErrorCode::kOk;
  if (was != is && options_.on_storage_change) options_.on_storage_change(trouble, why);
}

}  // namespace sluice::journal
