// scontrol update of time limits, deadlines and ends of jobs.
#include "unit/state/update_job_fixture.hpp"

namespace sluice::state {
namespace {

using protocol::JobAction;
using std::chrono::minutes;

// The bug: a deadline in the past ended the job, and EndTime of a waiting job went by without
// effect.
TEST_F(UpdateJobTest, AWaitingJobIsNotUpdatedToItsEnd) {
  const JobId id = submit(batch_spec());
  EXPECT_EQ(update(kAnn, id, [this](JobUpdate& u) { u.deadline = now_ - minutes(1); }),
            ErrorCode::kInvalidTime);
  EXPECT_EQ(update(kRoot, id, [this](JobUpdate& u) { u.end = now_; }), ErrorCode::kJobNotRunning);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.min_nodes = u.max_nodes = 0; }),
            ErrorCode::kTooManyNodes);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.num_tasks = 0; }), ErrorCode::kInvalidTaskCount);
  const auto tomorrow = [this](JobUpdate& u) { u.deadline = now_ + minutes(60 * 24); };
  EXPECT_EQ(update(kAnn, id, tomorrow), ErrorCode::kAccessDenied) << "as in Slurm";
  EXPECT_EQ(update(kRoot, id, tomorrow), ErrorCode::kOk);
  EXPECT_EQ(job(id).state, JobState::kPending);
}

TEST_F(UpdateJobTest, AUserGivesHisRunningJobNoMoreTime) {
  const JobId id = running(10);
  EXPECT_EQ(limit(kAnn, id, 11), ErrorCode::kAccessDenied);
  EXPECT_EQ(limit(kAnn, id, kInfiniteMinutes), ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kAnn, id, [this](JobUpdate& u) { u.end = now_ + minutes(11); }),
            ErrorCode::kAccessDenied);
  EXPECT_EQ(job(id).end, now_ + minutes(10));
  EXPECT_EQ(limit(kAnn, id, 10), ErrorCode::kOk);
  EXPECT_EQ(limit(kAnn, id, 9), ErrorCode::kOk);
  EXPECT_EQ(job(id).end, now_ + minutes(9));
  EXPECT_EQ(limit(kRoot, id, kInfiniteMinutes), ErrorCode::kOk);
  EXPECT_EQ(job(id).end, kNever);
  EXPECT_EQ(limit(kAnn, id, kInfiniteMinutes), ErrorCode::kOk) << "that is no more than it has";
}

// The bug: it was no limit at all, though Slurm ends such a job.
TEST_F(UpdateJobTest, NoMinutesLeaveARunningJobNoTime) {
  const JobId id = running(10);
  now_ += minutes(3);
  EXPECT_EQ(limit(kAnn, id, 0), ErrorCode::kOk);
  EXPECT_EQ(job(id).end, now_);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kTimeout);
}

// The bug: it was no limit at all, as --time=0 is; in Slurm such a job ends as soon as it begins.
TEST_F(UpdateJobTest, NoMinutesLeaveAWaitingJobTheLeastLimit) {
  JobSpec spec = batch_spec();
  spec.time_limit = 10;
  const JobId id = submit(spec);
  EXPECT_EQ(limit(kAnn, id, 0), ErrorCode::kOk);
  EXPECT_EQ(job(id).time_limit, 1U);
  ASSERT_TRUE(start_job(id, "n1"));
  EXPECT_EQ(job(id).end, now_ + minutes(1));
  spec.time_min = 5;
  EXPECT_EQ(limit(kAnn, submit(spec), 0), ErrorCode::kInvalidTimeMin);
}

// The bug: such a job ended at once.
TEST_F(UpdateJobTest, ARunningJobDoesNotEndInThePast) {
  const JobId id = running(10);
  now_ += minutes(3);
  EXPECT_EQ(update(kAnn, id, [this](JobUpdate& u) { u.end = now_ - minutes(1); }),
            ErrorCode::kInvalidTime);
  EXPECT_EQ(update(kRoot, id, [this](JobUpdate& u) { u.end = now_ - std::chrono::seconds(2); }),
            ErrorCode::kInvalidTime);
  EXPECT_EQ(job(id).end, now_ + minutes(7));
  EXPECT_EQ(update(kAnn, id, [this](JobUpdate& u) { u.end = now_ - std::chrono::seconds(1); }),
            ErrorCode::kOk)
      << "it was on its way";
  EXPECT_EQ(job(id).end, now_);
}

// The bug: it was refused; Slurm says nothing and leaves the deadline as it was.
TEST_F(UpdateJobTest, ARunningJobKeepsItsDeadline) {
  JobSpec spec = batch_spec();
  spec.time_limit = 10;
  spec.deadline = now_ + minutes(60);
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n1"));
  const Time before = job(id).spec->deadline;
  EXPECT_EQ(
      update(kAnn, id, [this](JobUpdate& u) { u.deadline = now_ + minutes(20), u.comment = "x"; }),
      ErrorCode::kOk);
  EXPECT_EQ(update(kAnn, id, [this](JobUpdate& u) { u.deadline = now_ - minutes(20); }),
            ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->deadline, before);
  EXPECT_EQ(job(id).spec->comment.view(), "x");
}

TEST_F(UpdateJobTest, AUserGivesHisWaitingJobNoMoreThanItsPartitionAllows) {
  configure([this](ClusterConfig& config) {
    config.partitions[0].max_time = 60;
    add_partition(config, "long").max_time = 600;
  });
  JobSpec spec = batch_spec();
  spec.time_limit = 10;
  const JobId id = submit(spec);
  EXPECT_EQ(limit(kAnn, id, 60), ErrorCode::kOk);
  EXPECT_EQ(limit(kAnn, id, 61), ErrorCode::kAccessDenied);
  EXPECT_EQ(limit(kAnn, id, kInfiniteMinutes), ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.time_limit = 600, u.partitions = "long"; }),
            ErrorCode::kOk);
  EXPECT_EQ(limit(kAnn, id, 601), ErrorCode::kAccessDenied);
  EXPECT_EQ(limit(kRoot, id, kInfiniteMinutes), ErrorCode::kOk);
  EXPECT_EQ(limit(kAnn, id, 601), ErrorCode::kOk) << "lower than what an administrator gave";
}

// The bug: the time it had been stopped was taken from the new limit.
TEST_F(UpdateJobTest, ANewLimitLeavesOutTheTimeAJobWasSuspended) {
  const JobId id = running(10);
  const Time start = now_;
  const std::string text = std::to_string(id);
  now_ += minutes(2);
  ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kSuspend, false}));
  now_ += minutes(60);
  ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kResume, false}));
  ASSERT_EQ(job(id).end, start + minutes(70));
  EXPECT_EQ(limit(kAnn, id, 8), ErrorCode::kOk);
  EXPECT_EQ(job(id).end, start + minutes(68));
  EXPECT_EQ(update(kAnn, id, [start](JobUpdate& u) { u.end = start + minutes(65); }),
            ErrorCode::kOk);
  EXPECT_EQ(job(id).time_limit, 5U);
  // and while it is stopped: its time goes on when it does
  ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kSuspend, false}));
  now_ += minutes(30);
  EXPECT_EQ(limit(kRoot, id, 20), ErrorCode::kOk);
  ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kResume, false}));
  EXPECT_EQ(job(id).end, start + minutes(60 + 30 + 20));
  ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kSuspend, false}));
  now_ += minutes(30);
  EXPECT_EQ(limit(kAnn, id, 1), ErrorCode::kOk) << "it has run for two minutes already";
  ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kResume, false}));
  EXPECT_EQ(job(id).end, now_);
}

TEST_F(UpdateJobTest, APartitionsDefaultTimeIsTheLimitOfJobsThatNameNone) {
  configure([](ClusterConfig& config) {
    config.partitions[0].default_time = 30, config.partitions[0].max_time = 60;
  });
  JobSpec spec = batch_spec();
  const JobId plain = submit(spec);
  EXPECT_EQ(job(plain).time_limit, 30U);
  ASSERT_TRUE(start_job(plain, "n1"));
  EXPECT_EQ(job(plain).end, now_ + minutes(30));
  spec.time_limit = 45;
  EXPECT_EQ(job(submit(spec)).time_limit, 45U);
  configure([](ClusterConfig& config) { config.partitions[0].default_time.reset(); });
  EXPECT_EQ(job(submit(batch_spec())).time_limit, 60U);
}

TEST_F(UpdateJobTest, AnEndThatNoNumberOfMinutesReaches) {
  const JobId id = running(10);
  ASSERT_EQ(update(kRoot, id, [](JobUpdate& u) { u.end = from_seconds(int64_t{1} << 40); }),
            ErrorCode::kOk);
  EXPECT_EQ(job(id).time_limit, kInfiniteMinutes - 1);
}

}  // namespace
}  // namespace sluice::state
