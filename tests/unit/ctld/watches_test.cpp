// Who waits for a job hears of every change, in order.
#include "ctld/query/watches.hpp"

#include <csignal>
#include <ctime>
#include <future>
#include <mutex>
#include <thread>

#include "support/core_fixture.hpp"

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
  void finish(Status status) override {
    if (!end) end = status ? ErrorCode::kOk : status.error().code;
  }
  void on_cancel(std::function<void()> callback) override { gone = std::move(callback); }
  void on_ready(std::function<void()>) override {}

  std::vector<JobState> states;
  int32_t worst = 0;           // exit status
  std::function<void()> gone;  // as if the client had broken off
  std::optional<ErrorCode> end;
};

class WatchesTest : public state::CoreTest {
 protected:
  state::ClusterSnapshot now() const { return std::make_shared<const state::ClusterState>(state_); }

  Watches watches_{[](JobId) {}, [] { return Duration(0); }};
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  Watches::Writer writer_{inbox_};
};

// A job that starts while its watch is added: the change comes between the state that the watch
// begins with and the watch itself.
TEST_F(WatchesTest, AChangeInBetweenIsNotLost) {
  const JobId job = submit(batch_spec());
  const state::ClusterSnapshot before = now();
  ASSERT_TRUE(start_job(job, "n1"));
  const state::ClusterSnapshot after = now();
  std::thread publisher;
  watches_.add(
      {.job = job}, state::kAnn.uid,
      [&] {
        publisher = std::thread([&] { watches_.notify(job, {}, after); });
        return before;
      },
      writer_);
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
    watches_.notify(id, {}, now());
  };
  end(1, 2 << 8);
  watches_.add(
      {.job = array}, state::kAnn.uid, [&] { return now(); }, writer_);
  EXPECT_EQ(inbox_->states, std::vector{JobState::kRunning});
  end(2, 0);
  EXPECT_FALSE(inbox_->end) << "the array's own record is over, another is not";
  end(0, 0);
  EXPECT_EQ(inbox_->end, ErrorCode::kOk);
  EXPECT_EQ(inbox_->states, (std::vector{JobState::kRunning, JobState::kCompleted,
                                         JobState::kCompleted, JobState::kFailed}))
      << "the one that failed before the watch began is not forgotten";
}

// The bug: of two tasks that ended in one frame the first was told, and the watch was over: sbatch
// --wait then ended with the status of another task than the worst.
TEST_F(WatchesTest, TasksThatEndTogetherAreAllTold) {
  JobSpec spec = batch_spec();
  spec.array = "0-2";
  const JobId array = submit(spec);
  for (const uint32_t task : {0U, 1U, 2U}) ASSERT_TRUE(start_job(array, "n1", 1, task));
  watches_.add(
      {.job = array}, state::kAnn.uid, [&] { return now(); }, writer_);
  std::vector<JobId> ended;
  for (const uint32_t task : {0U, 1U, 2U}) {
    ended.push_back(state::find_array_task(state_, array, task)->id);
    ASSERT_TRUE(end_step(ended.back(), kBatchStep, "n1", static_cast<int32_t>(task) << 8, true));
  }
  for (const JobId id : ended) watches_.notify(id, {}, now());
  EXPECT_EQ(inbox_->end, ErrorCode::kOk);
  EXPECT_EQ(inbox_->worst, 2 << 8);
}

// Counts what a client would get.
class Counter final : public net::StreamSink {
 public:
  net::WriteState write(std::string) override {
    ++updates;
    return net::WriteState::kOk;
  }
  // what comes after the first counts for nothing
  void finish(Status status) override { is_over = is_over || status.has_value(); }
  void on_cancel(std::function<void()>) override {}
  void on_ready(std::function<void()>) override {}

  size_t updates = 0;
  bool is_over = false;
};

// The bug: whoever watched an array of his 1600 times over held the publisher for minutes when its
// tasks were cancelled: for each watch and each task that ended all tasks were looked at, and the
// update was made anew.
TEST_F(WatchesTest, ManyTasksThatEndTogetherAreLookedAtOnce) {
  constexpr uint32_t kUsers = 100;
  JobSpec spec = batch_spec();
  spec.array = "0-699";
  const JobId array = submit(spec);
  const std::string name = std::to_string(array);
  // records of their own
  ASSERT_TRUE(
      run(state::ChangeJob{state::kAnn, name + "_[0-698]", protocol::JobAction::kUserHold, false}));
  std::vector<std::shared_ptr<Counter>> counters;
  const state::ClusterSnapshot before = now();
  for (uint32_t user = 1; user <= kUsers; ++user) {
    for (size_t i = 0; i < Watches::kMostOfUser; ++i) {
      counters.push_back(std::make_shared<Counter>());
      watches_.add(
          {.job = array}, user, [&] { return before; }, Watches::Writer(counters.back()));
    }
  }
  // one waits on
  ASSERT_TRUE(
      run(state::SignalJob{state::kAnn, name + "_[0-4,6-699]", SIGKILL, protocol::kSignalCancel}));
  const state::ClusterSnapshot after = now();
  const std::clock_t begun = std::clock();
  size_t ended = 0;
  after->arrays.find(array)->jobs.for_each([&](uint32_t id) {
    if (!is_finished(after->jobs.at(id))) return;
    watches_.notify(id, {}, after);
    ++ended;
  });
  EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 2);
  ASSERT_EQ(ended, 699U);
  for (const auto& counter : counters) {
    EXPECT_EQ(counter->updates, 1 + ended);
    EXPECT_FALSE(counter->is_over);
  }
  ASSERT_TRUE(run(state::SignalJob{state::kAnn, name + "_5", SIGKILL, protocol::kSignalCancel}));
  watches_.notify(state::find_array_task(state_, array, 5)->id, {}, now());
  for (const auto& counter : counters) EXPECT_TRUE(counter->is_over);
}

TEST_F(WatchesTest, AUserHasSomeOfAJobAndOthersAreNotInTheWay) {
  const JobId job = submit(batch_spec()), other = submit(batch_spec());
  const auto watch = [&](JobId id, uint32_t uid) {
    auto inbox = std::make_shared<Inbox>();
    watches_.add(
        {.job = id}, uid, [&] { return now(); }, Watches::Writer(inbox));
    return inbox;
  };
  std::vector<std::shared_ptr<Inbox>> open;
  for (size_t i = 0; i < Watches::kMostOfUser; ++i) open.push_back(watch(job, state::kAnn.uid));
  EXPECT_EQ(watch(job, state::kAnn.uid)->end, ErrorCode::kAccessDenied)
      << "commands that wait do not ask again";
  EXPECT_FALSE(watch(other, state::kAnn.uid)->end);
  EXPECT_FALSE(watch(job, state::kRoot.uid)->end);
  for (const auto& inbox : open) EXPECT_FALSE(inbox->end);
  open.front()->gone();
  EXPECT_FALSE(watch(job, state::kAnn.uid)->end);
  ASSERT_TRUE(
      run(state::SignalJob{state::kAnn, std::to_string(job), SIGKILL, protocol::kSignalCancel}));
  watches_.notify(job, {}, now());
  EXPECT_EQ(open.back()->states, (std::vector{JobState::kPending, JobState::kCancelled}));
  EXPECT_EQ(open.back()->end, ErrorCode::kOk);
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
  // Waits for this job's client, too; that of a job which was looked at before, and is not in the
  // list, never goes.
  std::vector<JobId> gone_until(JobId last) {
    {
      const std::lock_guard lock(mutex_);
      last_ = last;
    }
    watching_.notify(last, {}, now());
    EXPECT_EQ(done_.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
    watching_.close();
    return gone_;
  }

  std::mutex mutex_;
  JobId last_ = kNoJob;
  std::vector<JobId> gone_;
  std::promise<void> done_;
  Watches watching_{[this](JobId job) { gone(job); },
                    [] { return Duration(std::chrono::milliseconds(1)); }};
};

TEST_F(ClientsTest, OneThatNeverAsksIsMissed) {
  const JobId listens = start(true, "n1");
  const JobId has_none = start(false, "n2");  // salloc --no-shell
  JobSpec spec = batch_spec();
  spec.attended = true;
  const JobId waits = submit(spec);
  const JobId silent = start(true, "n3");
  watching_.add(
      {.job = listens, .end_when_cancelled = true}, state::kAnn.uid, [&] { return now(); },
      writer_);
  for (const JobId job : {listens, has_none, waits}) watching_.notify(job, {}, now());
  EXPECT_EQ(gone_until(silent), std::vector{silent});
}

// Whoever only looks, as scontrol wait_job does, is not the job's client.
TEST_F(ClientsTest, AnotherThatWatchesDoesNotCount) {
  const JobId silent = start(true, "n1");
  watching_.add(
      {.job = silent}, state::kAnn.uid, [&] { return now(); }, writer_);
  EXPECT_EQ(gone_until(silent), std::vector{silent});
}

// The bug: the job was cancelled when InactiveLimit was taken out of slurm.conf while its client
// was waited for.
TEST_F(ClientsTest, NobodyIsMissedOnceThereIsNoLimit) {
  const JobId silent = start(true, "n1");
  std::promise<void> asked_again;
  int asked = 0;
  Watches watching{[this](JobId job) { gone(job); },
                   [&]() -> Duration {
                     if (++asked == 1) return std::chrono::milliseconds(1);
                     if (asked == 2) asked_again.set_value();
                     return Duration(0);
                   }};
  watching.notify(silent, {}, now());
  EXPECT_EQ(asked_again.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  watching.close();
  EXPECT_TRUE(gone_.empty());
}

TEST_F(WatchesTest, AnUnknownJobEndsIt) {
  watches_.add(
      {.job = 99}, state::kAnn.uid, [&] { return now(); }, writer_);
  EXPECT_EQ(inbox_->end, ErrorCode::kInvalidJobId);
  watches_.notify(99, {}, now());
  EXPECT_TRUE(inbox_->states.empty());
}

}  // namespace
}  // namespace sluice::ctld
