// The journal's thread: order, coalescing, waiting for room, and draining at the end.
#include "ctld/journal/group_commit.hpp"

#include <condition_variable>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::journal {
namespace {

// A store in memory whose next appends can be held up or made to fail.
class FakeStore final : public JournalStore {
 public:
  const StoreInfo& info() const override { return info_; }
  Result<Sequence> first_sequence() override { return 1; }
  Result<Sequence> last_sequence() override { return last_; }
  Status read(Sequence, const FrameVisitor&) override { return {}; }
  Result<std::optional<Checkpoint>> load_latest_checkpoint() override {
    return std::optional<Checkpoint>();
  }
  Result<std::string> blob(std::string_view) override { return failure(ErrorCode::kNotFound); }
  Result<std::map<std::string, Sequence>> cursors() override {
    return std::map<std::string, Sequence>();
  }
  Status checkpoint(const Checkpoint&) override { return {}; }
  Status set_cursor(const std::string&, Sequence) override { return {}; }
  Status remove_cursor(const std::string&) override { return {}; }
  bool low_on_room() const override { return low_; }
  void regain_reserve() override {
    const std::lock_guard lock(mutex_);
    ++regain_calls_;
    if (regain_after_ > 0 && regain_calls_ >= regain_after_) {
      low_ = false;
      error_ = ErrorCode::kOk;
    }
  }

  Result<Sequence> append(const FrameGroup& group) override {
    std::unique_lock lock(mutex_);
    arrived_.notify_all();
    ++entered_;
    open_.wait(lock, [&] { return !held_; });
    if (error_ != ErrorCode::kOk) return failure(error_, "made to fail");
    transactions.push_back(group.frames.size());
    last_ = group.frames.back().sequence;
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
  StoreInfo info_;
  std::mutex mutex_;
  std::condition_variable open_;
  std::condition_variable arrived_;
  Sequence last_ = 0;
  bool held_ = false;
  int entered_ = 0;
  int regain_calls_ = 0;
  int regain_after_ = 0;
  std::atomic<bool> low_ = false;
  ErrorCode error_ = ErrorCode::kOk;
};

FrameGroup group_of(Sequence sequence) {
  FrameGroup group;
  group.frames.push_back({sequence, 0, kNoTime, "bytes"});
  return group;
}

GroupCommitOptions quick() {
  GroupCommitOptions options;
  options.retry_interval = std::chrono::milliseconds(1);
  return options;
}

TEST(GroupCommit, CallsBackInOrderAndCoalescesWhatWaits) {
  FakeStore store;
  store.hold();
  std::vector<Sequence> order;
  GroupCommit journal(store);
  const auto submit = [&](Sequence sequence) {
    journal.submit(group_of(sequence), [&order, sequence](const Result<Sequence>& done) {
      ASSERT_TRUE(done);
      EXPECT_GE(*done, sequence);
      order.push_back(sequence);
    });
  };
  submit(1);
  store.wait_for_append();
  for (Sequence s = 2; s <= 100; ++s)
    submit(s);
  EXPECT_EQ(journal.backlog(), 100U);
  store.release();
  journal.stop();
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(store.transactions, (std::vector<size_t>{1, 99}));
  EXPECT_EQ(journal.backlog(), 0U);
}

TEST(GroupCommit, LargeBacklogIsSplit) {
  FakeStore store;
  store.hold();
  GroupCommitOptions options;
  options.max_transaction_bytes = 1000;
  GroupCommit journal(store, options);
  for (Sequence s = 1; s <= 10; ++s) {
    FrameGroup group = group_of(s);
    group.frames[0].bytes = std::string(600, 'x');
    journal.submit(std::move(group), [](const Result<Sequence>&) {});
  }
  store.release();
  journal.stop();
  EXPECT_GE(store.transactions.size(), 5U);
}

TEST(GroupCommit, FullStorageIsRetriedUntilThereIsRoom) {
  FakeStore store;
  store.fail_with(ErrorCode::kStorageFull, 5);
  std::vector<bool> changes;
  GroupCommitOptions options = quick();
  options.on_storage_change = [&](bool full, const std::string&) { changes.push_back(full); };
  GroupCommit journal(store, options);
  EXPECT_TRUE(journal.storage_full());
  std::mutex mutex;
  std::condition_variable arrived;
  int done_count = 0;
  for (Sequence s = 1; s <= 2; ++s) {
    journal.submit(group_of(s), [&](const Result<Sequence>& done) {
      const std::lock_guard lock(mutex);
      done_count += done ? 1 : 0;
      arrived.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  arrived.wait(lock, [&] { return done_count == 2; });
  lock.unlock();
  journal.stop();
  EXPECT_FALSE(journal.storage_full());
  EXPECT_EQ(changes, (std::vector<bool>{false}));
}

TEST(GroupCommit, StopWhileFullSaysThatTheGroupIsNotDurable) {
  FakeStore store;
  store.fail_with(ErrorCode::kStorageFull, 0);
  std::vector<ErrorCode> codes;
  GroupCommit journal(store, quick());
  for (Sequence s = 1; s <= 3; ++s) {
    journal.submit(group_of(s), [&](const Result<Sequence>& done) {
      codes.push_back(done ? ErrorCode::kOk : done.error().code);
    });
  }
  journal.stop();
  EXPECT_EQ(codes, std::vector<ErrorCode>(3, ErrorCode::kStorageFull));
}

TEST(GroupCommit, OtherErrorsReachTheCallback) {
  FakeStore store;
  store.fail_with(ErrorCode::kError, 0);
  ErrorCode code = ErrorCode::kOk;
  GroupCommit journal(store, quick());
  journal.submit(group_of(1), [&](const Result<Sequence>& done) { code = done.error().code; });
  journal.stop();
  EXPECT_EQ(code, ErrorCode::kError);
}

}  // namespace
}  // namespace sluice::journal
