// A journal in memory whose next appends can be held up or made to fail.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ctld/journal/store.hpp"

namespace sluice::test {

class FakeStore final : public journal::JournalStore {
 public:
  const journal::StoreInfo& info() const override { return info_; }
  Result<journal::Sequence> first_sequence() override { return 1; }
  Result<journal::Sequence> last_sequence() override { return last_; }
  Status read(journal::Sequence, const journal::FrameVisitor&) override { return {}; }
  Result<std::optional<journal::Checkpoint>> load_latest_checkpoint() override {
    return std::optional<journal::Checkpoint>();
  }
  Result<std::string> blob(std::string_view) override { return failure(ErrorCode::kNotFound); }
  Result<std::map<std::string, journal::Sequence>> cursors() override {
    return std::map<std::string, journal::Sequence>();
  }
  Status checkpoint(const journal::Checkpoint&) override { return {}; }
  Status set_cursor(const std::string&, journal::Sequence) override { return {}; }
  Status remove_cursor(const std::string&) override { return {}; }
  Result<journal::OutboxBatch> outgoing(size_t, size_t) override { return journal::OutboxBatch(); }
  Status remove_outgoing(journal::Sequence) override { return {}; }
  uint64_t outgoing_count() const override { return 0; }
  std::string outgoing_stream() override { return {}; }
  bool outgoing_checked() const override { return true; }
  Result<bool> check_outgoing(uint64_t) override { return false; }
  uint64_t appended_bytes() const override { return 0; }
  bool low_on_room() const override { return low_; }
  Status still_there() override {
    return gone_ ? failure(ErrorCode::kRetry, "it was removed") : Status();
  }
  void set_gone(bool gone) { gone_ = gone; }
  void regain_reserve() override {
    const std::lock_guard lock(mutex_);
    ++regain_calls_;
    if (regain_after_ > 0 && regain_calls_ >= regain_after_) {
      low_ = false;
      error_ = ErrorCode::kOk;
    }
  }

  Result<journal::Sequence> append(const journal::FrameGroup& group) override {
    std::unique_lock lock(mutex_);
    arrived_.notify_all();
    ++entered_;
    open_.wait(lock, [&] { return !held_; });
    if (!group.frames.empty() && group.frames.front().sequence != last_ + 1)
      return failure("a gap");
    if (error_ != ErrorCode::kOk) return failure(error_, "made to fail");
    transactions.push_back(group.frames.size());
    if (!group.frames.empty()) last_ = group.frames.back().sequence;
    return last_;
  }

  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    {
      const std::lock_guard lock(mutex_);
      held_ = false;
    }
    open_.notify_all();
  }
  void wait_for_append() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return entered_ > 0; });
  }
  // `regain_after`: how many regain_reserve() until there is room again; 0: never.
  void fail_with(ErrorCode error, int regain_after) {
    const std::lock_guard lock(mutex_);
    error_ = error;
    low_ = error == ErrorCode::kStorageFull;
    regain_after_ = regain_after;
  }

  std::vector<size_t> transactions;  // frames in each; read after stop()

 private:
  journal::StoreInfo info_;
  std::mutex mutex_;
  std::condition_variable open_;
  std::condition_variable arrived_;
  journal::Sequence last_ = 0;
  bool held_ = false;
  int entered_ = 0;
  int regain_calls_ = 0;
  int regain_after_ = 0;
  std::atomic<bool> low_ = false;
  std::atomic<bool> gone_ = false;
  ErrorCode error_ = ErrorCode::kOk;
};

}  // namespace sluice::test
