// Jobs before they start: what they wait for, and what is refused.
#include "support/core_fixture.hpp"

#include "common/model/job_update.hpp"

namespace sluice::state {
namespace {

TEST_F(CoreTest, Dependencies) {
  const JobId first = submit(batch_spec());
  JobSpec spec = batch_spec();
  spec.dependency = "afterok:" + std::to_string(first);
  const JobId then = submit(spec);
  spec.dependency = "afternotok:" + std::to_string(first);
  const JobId never = submit(spec);
  spec.dependency = "singleton";
  const JobId single = submit(spec);
  spec.dependency = "foo";
  EXPECT_EQ(error_of(SubmitJob{kAnn, spec, {}}), ErrorCode::kInvalidDependency);
  EXPECT_EQ(job(then).reason, JobReason::kDependency);
  EXPECT_EQ(job(then).dependency, "afterok:" + std::to_string(first) + "(unfulfilled)");
  EXPECT_FALSE(start_job(then, "n1"));
  ASSERT_TRUE(start_job(first, "n1"));
  ASSERT_TRUE(end_step(first, kBatchStep, "n1", 0, true));
  EXPECT_EQ(effects<RunTick>().size(), 1u);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(job(then).dependency.empty());
  EXPECT_EQ(job(then).accrue, now_);
  EXPECT_EQ(job(never).reason, JobReason::kDependencyNeverSatisfied);
  EXPECT_EQ(job(never).dependency, "afternotok:" + std::to_string(first) + "(failed)");
  EXPECT_EQ(job(single).dependency, "singleton(unfulfilled)");
}

TEST_F(CoreTest, SingletonsWaitForThoseBeforeThemAlsoWhenIdsWrap) {
  auto config = std::make_shared<ClusterConfig>(*config_);
  config->first_job_id = 1;
  config->max_job_id = 12;
  ASSERT_TRUE(run(ReplaceConfig{config}));
  while (state_.next_job_id < 11) {
    const JobId gone = submit(batch_spec());
    ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(gone), 0, protocol::kSignalCancel}));
  }
  now_ += config->min_job_age + std::chrono::seconds(1);
  ASSERT_TRUE(run(Tick{}));
  JobSpec spec = batch_spec();
  spec.dependency = "singleton";
  const JobId first = submit(spec), second = submit(spec), third = submit(spec),
              fourth = submit(spec);
  ASSERT_EQ((std::vector{first, second, third, fourth}), (std::vector<JobId>{11, 12, 1, 2}));
  EXPECT_TRUE(job(first).dependency.empty());
  ASSERT_TRUE(run(Tick{}));
  for (const JobId id : {second, third, fourth}) EXPECT_FALSE(job(id).dependency.empty()) << id;
  ASSERT_TRUE(start_job(first, "n1"));
  ASSERT_TRUE(end_step(first, kBatchStep, "n1", 0, true));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(job(second).dependency.empty());
  for (const JobId id : {third, fourth}) EXPECT_FALSE(job(id).dependency.empty()) << id;
}

TEST_F(CoreTest, BeginTime) {
  JobSpec spec = batch_spec();
  spec.begin = now_ + std::chrono::hours(1);
  const JobId id = submit(spec);
  EXPECT_EQ(job(id).eligible, spec.begin);
  EXPECT_EQ(job(id).accrue, kNoTime);
  EXPECT_FALSE(start_job(id, "n1"));
  now_ += std::chrono::hours(1);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).accrue, now_);
  EXPECT_TRUE(start_job(id, "n1"));
}

TEST_F(CoreTest, ResetAccrueTime) {
  const JobId id = submit(batch_spec());
  const Time then = now_;
  JobUpdate update;
  update.reset_accrue = true;
  now_ += std::chrono::minutes(5);
  ASSERT_TRUE(run(UpdateJob{kAnn, std::to_string(id), update})) << "who loses by it may do so";
  EXPECT_EQ(job(id).accrue, now_);
  EXPECT_EQ(job(id).eligible, then);
  JobSpec later = batch_spec();
  later.begin = now_ + std::chrono::hours(1);
  const JobId waits = submit(later);
  ASSERT_TRUE(run(UpdateJob{kRoot, std::to_string(waits), update}));
  EXPECT_EQ(job(waits).accrue, kNoTime) << "it does not accrue yet";
  ASSERT_TRUE(start_job(id, "n1"));
  EXPECT_EQ(error_of(UpdateJob{kRoot, std::to_string(id), update}), ErrorCode::kJobNotPending);
}

TEST_F(CoreTest, ARepeatedSubmissionIsTheSameJob) {
  JobSpec spec = batch_spec();
  spec.request_id = 77;
  const JobId id = submit(spec);
  EXPECT_EQ(submit(spec), id);
  EXPECT_NE(submit(spec, kBob), id);
}

// Its start was planned before the deadline came too near, or was changed.
TEST_F(CoreTest, WhatCannotEndBeforeItsDeadlineDoesNotStart) {
  JobSpec spec = batch_spec();
  spec.time_limit = 5;
  spec.deadline = now_ + std::chrono::minutes(10);
  const JobId id = submit(spec);
  const JobId in_time = submit(spec);
  now_ += std::chrono::minutes(5);
  EXPECT_TRUE(start_job(in_time, "n1"));
  now_ += std::chrono::seconds(1);
  EXPECT_FALSE(start_job(id, "n1"));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kDeadline);
}

// The bug: it ran on behind its deadline, without a limit.
TEST_F(CoreTest, ADeadlineLimitsWhatHasNoOtherLimit) {
  JobSpec spec = batch_spec();
  spec.time_limit = 0;
  spec.deadline = now_ + std::chrono::minutes(10) + std::chrono::seconds(30);
  const JobId id = submit(spec);
  EXPECT_EQ(job(id).spec->time_min, 1u);
  now_ += std::chrono::minutes(10);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kDeadline);
}

TEST_F(CoreTest, WhatCanNeverRunIsRefused) {
  const auto refused = [&](const std::function<void(JobSpec&)>& change) {
    JobSpec spec = batch_spec();
    change(spec);
    return error_of(SubmitJob{kAnn, spec, {}});
  };
  EXPECT_EQ(refused([](JobSpec& s) { s.cpus_per_task = 9; }), ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(refused([](JobSpec& s) {
              s.memory_kind = MemoryKind::kPerNode;
              s.memory_mib = 5000;
            }),
            ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(refused([](JobSpec& s) { s.min_nodes = s.max_nodes = 4, s.ntasks_per_node = 9; }),
            ErrorCode::kOk)
      << "more CPUs than the partition has: waits, as in Slurm";
  EXPECT_EQ(refused([](JobSpec& s) { s.min_nodes = s.max_nodes = 2, s.ntasks_per_node = 9; }),
            ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(refused([](JobSpec& s) { s.required_nodes = "nope"; }), ErrorCode::kInvalidNodeName);
  EXPECT_EQ(refused([](JobSpec& s) { s.required_nodes = s.excluded_nodes = "n1"; }),
            ErrorCode::kInvalidNodeName);
  EXPECT_EQ(refused([](JobSpec& s) { s.time_limit = 5, s.time_min = 10; }),
            ErrorCode::kInvalidTimeMin);
  EXPECT_EQ(refused([](JobSpec& s) { s.time_limit = 0, s.time_min = kInfiniteMinutes; }),
            ErrorCode::kInvalidTimeMin)
      << "the limit is not said";
  EXPECT_EQ(refused([&](JobSpec& s) { s.deadline = now_ - std::chrono::seconds(1); }),
            ErrorCode::kInvalidTimeLimit);
  EXPECT_EQ(
      refused([&](JobSpec& s) { s.time_min = 2, s.deadline = now_ + std::chrono::seconds(90); }),
      ErrorCode::kInvalidTimeMin);
  EXPECT_EQ(refused([](JobSpec& s) { s.constraint = "slow"; }), ErrorCode::kInvalidFeature);
  EXPECT_EQ(refused([](JobSpec& s) { s.constraint = "fast*0", s.hold = true; }),
            ErrorCode::kInvalidFeature);
  EXPECT_EQ(refused([](JobSpec& s) { s.constraint = "[fast*2]"; }), ErrorCode::kOk);
  EXPECT_EQ(refused([](JobSpec& s) { s.partitions = "debug,nope"; }), ErrorCode::kInvalidPartition);
  EXPECT_EQ(refused([](JobSpec& s) { s.array = "5-1"; }), ErrorCode::kInvalidArray);
  EXPECT_EQ(refused([](JobSpec& s) { s.reservation = "r"; }), ErrorCode::kInvalidReservation);
  EXPECT_EQ(refused([](JobSpec& s) { s.gres = "gpu:1"; }), ErrorCode::kInvalidGres);
  EXPECT_EQ(refused([](JobSpec& s) { s.nice = -5; }), ErrorCode::kInvalidNice);
  EXPECT_EQ(refused([](JobSpec& s) { s.min_nodes = 99; }), ErrorCode::kOk) << "waits, as in Slurm";
}

TEST_F(CoreTest, PartitionsOfReservationsAndOfLittleMemory) {
  auto changed = std::make_shared<ClusterConfig>(*config_);
  PartitionConfig other = changed->partitions[0];
  other.is_default = false;
  other.name = "reserved";
  other.req_resv = true;
  changed->partitions.push_back(other);
  other.name = "lean";
  other.req_resv = false;
  other.max_mem_per_cpu_mib = 50;
  changed->partitions.push_back(other);
  ASSERT_TRUE(run(ReplaceConfig{changed}));
  JobSpec spec = batch_spec();
  spec.partitions = "reserved";
  EXPECT_EQ(error_of(SubmitJob{kRoot, spec, {}}), ErrorCode::kAccessDenied);
  spec.partitions = "lean";
  spec.memory_kind = MemoryKind::kPerNode;
  spec.memory_mib = 400;
  EXPECT_EQ(error_of(SubmitJob{kAnn, spec, {}}), ErrorCode::kOk);
  spec.memory_mib = 401;
  EXPECT_EQ(error_of(SubmitJob{kAnn, spec, {}}), ErrorCode::kNodesNotAvailable)
      << "nine CPUs of eight";
}

}  // namespace
}  // namespace sluice::state
