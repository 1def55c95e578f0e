// Who waits for a job hears of every change, in order.
#include "ctld/rpc/watches.hpp"

#include <future>
#include <mutex>
#include <thread>

#include "../state/fixture.hpp"

namespace sluice::ctld {
namespace {

// Keeps what a client would get.
class Inbox final : public net::StreamSink {
 public:
  net::WriteState write(std::string chunk) override {
    const auto update = wire::decode<protocol::JobWatchUpdate>(chunk);
    if (update && !end) {  // what comes after the end reaches nobody
      states.push_back(update->state);
      worst = std::max(worst, update->exit_status);
    }
    return net::WriteState::kOk;
  }
  void finish(Status status) override { end = status ? ErrorCode::kOk : status.error().code; }
  void on_cancel(std::function<void()>) override {}
  void on_ready(std::function<void()>) override {}

  std::vector<JobState> states;
  int32_t worst = 0;  // exit status
  std::optional<ErrorCode> end;
};

class WatchesTest : public state::CoreTest {
 protected:
  state::ClusterSnapshot now() const { return std::make_shared<const state::ClusterState>(state_); }

  Watches watches_{[](JobId) {}, [] { return Duration(0); }};
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  Watches::Writer writer_{inbox_};
};

// A job that starts while its watch is added: the change comes between the state that the watch begins
// with and the watch itself.
TEST_F(WatchesTest, AChangeInBetweenIsNotLost) {
  const JobId job = submit(batch_spec());
  const state::ClusterSnapshot before = now();
  ASSERT_TRUE(start_job(job, "n1"));
  const state::ClusterSnapshot after = now();
  std::thread publisher;
  watches_.add({.job = job}, [&] {
    publisher = std::thread([&] { watches_.notify(job, {}, *after); });
    return before;
  }, writer_);
  publisher.join();
  EXPECT_EQ(inbox_->states, (std::vector{JobState::kPending, JobState::kRunning}));
  EXPECT_FALSE(inbox_->end);
}

// sbatch --wait of an array: until its last task is over, whichever that is.
TEST_F(WatchesTest, AnArrayIsWatchedToItsLastTask) {
  JobSpec spec = batch_spec();
  spec.array = "0-2";
  const JobId array = submit(spec);
  for (const uint32_t task : {0U, 1U, 2U}) ASSERT_TRUE(start_job(array, "n1", 1, task));
  const auto end = [&](uint32_t task, int32_t status) {
    const JobId id = state::find_array_task(state_, array, task)->id;
    ASSERT_TRUE(end_step(id, kBatchStep, "n1", status, true));
    watches_.notify(id, {}, *now());
  };
  end(1, 2 << 8);
  watches_.add({.job = array}, [&] { return now(); }, writer_);
  EXPECT_EQ(inbox_->states, std::vector{JobState::kRunning});
  end(2, 0);
  EXPECT_FALSE(inbox_->end) << "the array's own record is over, another is not";
  end(0, 0);
  EXPECT_EQ(inbox_->end, ErrorCode::kOk);
  EXPECT_EQ(inbox_->states, (std::vector{JobState::kRunning, JobState::kCompleted, JobState::kCompleted, JobState::kFailed}))
      << "the one that failed before the watch began is not forgotten";
}

// The bug: of two tasks that ended in one frame the first was told, and the watch was over: sbatch --wait then ended with
// the status of another task than the worst.
TEST_F(WatchesTest, TasksThatEndTogetherAreAllTold) {
  JobSpec spec = batch_spec();
  spec.array = "0-2";
  const JobId array = submit(spec);
  for (const uint32_t task : {0U, 1U, 2U}) ASSERT_TRUE(start_job(array, "n1", 1, task));
  watches_.add({.job = array}, [&] { return now(); }, writer_);
  std::vector<JobId> ended;
  for (const uint32_t task : {0U, 1U, 2U}) {
    ended.push_back(state::find_array_task(state_, array, task)->id);
    ASSERT_TRUE(end_step(ended.back(), kBatchStep, "n1", static_cast<int32_t>(task) << 8, true));
  }
  for (const JobId id : ended) watches_.notify(id, {}, *now());
  EXPECT_EQ(inbox_->end, ErrorCode::kOk);
  EXPECT_EQ(inbox_->worst, 2 << 8);
}

// With InactiveLimit: the jobs whose clients are said to be gone, in order.
class ClientsTest : public WatchesTest {
 protected:
  JobId start(bool attended, const std::string& node) {
    JobSpec spec = batch_spec();
    spec.batch = false;
    spec.attended = attended;
    const JobId job = submit(spec);
    EXPECT_TRUE(start_job(job, node));
    return job;
  }
  void gone(JobId job) {
    const std::lock_guard lock(mutex_);
    gone_.push_back(job);
    if (job == last_) done_.set_value();
  }
  // Waits for this job's client, too; that of a job which was looked at before, and is not in the list, never goes.
  std::vector<JobId> gone_until(JobId last) {
    {
      const std::lock_guard lock(mutex_);
      last_ = last;
    }
    watching_.notify(last, {}, *now());
    EXPECT_EQ(done_.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
    watching_.close();
    return gone_;
  }

  std::mutex mutex_;
  JobId last_ = kNoJob;
  std::vector<JobId> gone_;
  std::promise<void> done_;
  Watches watching_{[this](JobId job) { gone(job); }, [] { return Duration(std::chrono::milliseconds(1)); }};
};

TEST_F(ClientsTest, OneThatNeverAsksIsMissed) {
  const JobId listens = start(true, "n1");
  const JobId has_none = start(false, "n2");  // salloc --no-shell
  JobSpec spec = batch_spec();
  spec.attended = true;
  const JobId waits = submit(spec);
  const JobId silent = start(true, "n3");
  watching_.add({.job = listens, .end_when_cancelled = true}, [&] { return now(); }, writer_);
  for (const JobId job : {listens, has_none, waits}) watching_.notify(job, {}, *now());
  EXPECT_EQ(gone_until(silent), std::vector{silent});
}

// Whoever only looks, as scontrol wait_job does, is not the job's client.
TEST_F(ClientsTest, AnotherThatWatchesDoesNotCount) {
  const JobId silent = start(true, "n1");
  watching_.add({.job = silent}, [&] { return now(); }, writer_);
  EXPECT_EQ(gone_until(silent), std::vector{silent});
}

// The bug: the job was cancelled when InactiveLimit was taken out of slurm.conf while its client was waited for.
TEST_F(ClientsTest, NobodyIsMissedOnceThereIsNoLimit) {
  const JobId silent = start(true, "n1");
  std::promise<void> asked_again;
  int asked = 0;
  Watches watching{[this](JobId job) { gone(job); }, [&]() -> Duration {
                     if (++asked == 1) return std::chrono::milliseconds(1);
                     if (asked == 2) asked_again.set_value();
                     return Duration(0);
                   }};
  watching.notify(silent, {}, *now());
  EXPECT_EQ(asked_again.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  watching.close();
  EXPECT_TRUE(gone_.empty());
}

TEST_F(WatchesTest, AnUnknownJobEndsIt) {
  watches_.add({.job = 99}, [&] { return now(); }, writer_);
  EXPECT_EQ(inbox_->end, ErrorCode::kInvalidJobId);
  watches_.notify(99, {}, *now());
  EXPECT_TRUE(inbox_->states.empty());
}

}  // namespace
}  // namespace sluice::ctld
