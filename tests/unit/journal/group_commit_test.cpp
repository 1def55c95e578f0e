// The journal's thread: order, coalescing, waiting for room, and draining at the end.
#include "ctld/journal/group_commit.hpp"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "unit/journal/fake_store.hpp"

namespace sluice::journal {
namespace {

using test::FakeStore;

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
  for (Sequence s = 2; s <= 100; ++s) submit(s);
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
  options.on_storage_change = [&](ErrorCode trouble, const std::string&) {
    changes.push_back(trouble != ErrorCode::kOk);
  };
  GroupCommit journal(store, options);
  EXPECT_EQ(journal.trouble(), ErrorCode::kStorageFull);
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
  EXPECT_EQ(journal.trouble(), ErrorCode::kOk);
  EXPECT_EQ(changes, (std::vector<bool>{true, false})) << "it was full when it began";
}

// A backup that held the lock for long ended the controller.
TEST(GroupCommit, ALockedJournalIsTriedAgain) {
  FakeStore store;
  store.fail_with(ErrorCode::kRetry, 3);
  std::vector<bool> changes;
  GroupCommitOptions options = quick();
  options.on_storage_change = [&](ErrorCode trouble, const std::string&) {
    changes.push_back(trouble != ErrorCode::kOk);
  };
  GroupCommit journal(store, options);
  EXPECT_EQ(journal.trouble(), ErrorCode::kOk);
  std::promise<bool> durable;
  journal.submit(group_of(1),
                 [&](const Result<Sequence>& done) { durable.set_value(done.has_value()); });
  EXPECT_TRUE(durable.get_future().get());
  journal.stop();
  EXPECT_EQ(journal.trouble(), ErrorCode::kOk);
  EXPECT_EQ(changes, (std::vector<bool>{true, false}));
}

// A controller went on for days with a journal that was removed, and lost all of it at its end.
TEST(GroupCommit, AStoreThatIsGoneIsNoticedThoughNothingIsWritten) {
  FakeStore store;
  std::vector<std::string> told;
  std::mutex mutex;
  std::condition_variable changed;
  GroupCommitOptions options = quick();
  options.look_interval = std::chrono::milliseconds(1);
  options.on_storage_change = [&](ErrorCode, const std::string& why) {
    const std::lock_guard lock(mutex);
    told.push_back(why);
    changed.notify_all();
  };
  const auto wait_for = [&](size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return told.size() >= count; });
  };
  GroupCommit journal(store, options);
  store.set_gone(true);
  wait_for(1);
  EXPECT_EQ(journal.trouble(), ErrorCode::kRetry);
  store.set_gone(false);
  wait_for(2);
  EXPECT_EQ(journal.trouble(), ErrorCode::kOk);
  journal.stop();
  EXPECT_EQ(told, (std::vector<std::string>{"it was removed", ""}));
}

// The bug: those behind the first one were tried without it, which is no error of a full disk, and
// the controller aborted.
TEST(GroupCommit, StopWhileFullSaysThatTheGroupsAreNotDurable) {
  FakeStore store;
  store.fail_with(ErrorCode::kStorageFull, 0);
  std::vector<ErrorCode> codes;
  GroupCommitOptions options = quick();
  options.max_transaction_bytes = 1;  // each group by itself
  GroupCommit journal(store, options);
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
