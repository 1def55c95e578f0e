// What submission makes of a job, and whose it takes.
#include "support/core_fixture.hpp"

#include "common/model/job_update.hpp"

namespace sluice::state {
namespace {

// The bug: a job that the agents could not start was accepted, and held after its launch had
// failed.
TEST_F(CoreTest, AgentsThatAreNotRootsRunJobsOfTheirUser) {
  configure([](ClusterConfig& config) { config.slurm_user_id = kAnn.uid; });
  JobSpec spec = batch_spec();
  spec.uid = kBob.uid;
  EXPECT_EQ(error_of(SubmitJob{kBob, spec, {}}), ErrorCode::kOk) << "the agents are root's";
  configure([](ClusterConfig& config) { config.slurmd_user_id = kAnn.uid; });
  EXPECT_EQ(error_of(SubmitJob{kBob, spec, {}}), ErrorCode::kAccessDenied);
  spec.uid = kRoot.uid;
  EXPECT_EQ(error_of(SubmitJob{kRoot, spec, {}}), ErrorCode::kAccessDenied);
  spec.uid = kAnn.uid;
  EXPECT_EQ(error_of(SubmitJob{kAnn, spec, {}}), ErrorCode::kOk);
  EXPECT_EQ(error_of(SubmitJob{kRoot, spec, {}}), ErrorCode::kOk);
}

// The bug: no memory for each CPU was no memory at all, so that others came to the same nodes.
TEST_F(CoreTest, NoMemoryForEachCpuIsAllOfTheNodes) {
  JobSpec spec = batch_spec();
  spec.memory_kind = MemoryKind::kPerCpu;
  const JobId id = submit(spec);
  EXPECT_EQ(job(id).spec->memory_kind, MemoryKind::kPerNode);
  EXPECT_EQ(job(id).spec->memory_mib, 0u);
  JobUpdate update;
  update.memory_per_cpu_mib = 20;
  ASSERT_TRUE(run(UpdateJob{kAnn, std::to_string(id), update}));
  EXPECT_EQ(job(id).spec->memory_kind, MemoryKind::kPerCpu);
  update.memory_per_cpu_mib = 0;
  ASSERT_TRUE(run(UpdateJob{kAnn, std::to_string(id), update}));
  EXPECT_EQ(job(id).spec->memory_kind, MemoryKind::kPerNode);
  EXPECT_EQ(job(id).spec->memory_mib, 0u);
}

// The bug: the node's prolog found a text of 128 KiB in a variable, could not be run with it, and
// its node was drained.
TEST_F(CoreTest, TextsLeaveRoomForTheNamesOfTheirVariables) {
  constexpr size_t kWord = size_t{128}
                           << 10;  // of the kernel, NAME= and the NUL at the end included
  const std::string too_long(kWord - std::string("SLURM_JOB_EXTRA=").size(), 'x');
  JobSpec spec = batch_spec();
  spec.extra = too_long;
  EXPECT_FALSE(run(SubmitJob{kAnn, spec, {"users"}}));
  spec.extra = std::string(120'000, 'x');
  const JobId id = submit(spec);
  ASSERT_NE(id, kNoJob);
  JobUpdate update;
  update.extra = too_long;
  EXPECT_FALSE(run(UpdateJob{kAnn, std::to_string(id), update}));
  EXPECT_EQ(job(id).spec->extra, spec.extra);
}

// It ended as DEADLINE a moment later.
TEST_F(CoreTest, AJobThatCannotEndBeforeItsDeadlineIsRefused) {
  JobSpec spec = batch_spec();
  spec.deadline = now_ + std::chrono::hours(1);
  spec.time_limit = 120;
  const auto reply = run(SubmitJob{kAnn, spec, {"users"}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kInvalidTimeLimit);
  spec.time_min = 30;
  EXPECT_NE(submit(spec), kNoJob);
  spec.time_min = 0;
  spec.time_limit = kInfiniteMinutes;
  const JobId unlimited = submit(spec);
  EXPECT_EQ(job(unlimited).spec->time_min, 1u) << "it has what is left before the deadline";
}

// The bug: it was queued, and waited for ever.
TEST_F(CoreTest, TheLeastTimeLimitIsWithinThatOfThePartition) {
  configure([](ClusterConfig& config) {
    config.partitions[0].max_time = 10;
    PartitionConfig longer = config.partitions[0];
    longer.name = "longer";
    longer.is_default = false;
    longer.max_time = 40;
    config.partitions.push_back(longer);
  });
  JobSpec spec = batch_spec();
  const auto submitted = [&](Minutes least, const char* partitions) {
    spec.time_min = least;
    spec.partitions = partitions;
    return error_of(SubmitJob{kAnn, spec, {"users"}});
  };
  spec.time_limit = 30;
  EXPECT_EQ(submitted(20, "debug"), ErrorCode::kInvalidTimeMin);
  EXPECT_EQ(submitted(10, "debug"), ErrorCode::kOk);
  EXPECT_EQ(submitted(20, "debug,longer"), ErrorCode::kOk) << "one of them is enough";
  configure([](ClusterConfig& config) { config.enforce_part_limits = EnforcePartLimits::kAll; });
  EXPECT_EQ(submitted(20, "debug"), ErrorCode::kInvalidTimeLimit) << "the limit is looked at first";
  spec.time_limit = 0;
  EXPECT_EQ(submitted(20, "debug"), ErrorCode::kInvalidTimeMin);
}

TEST_F(CoreTest, TheWaitForSwitchesIsBounded) {
  configure([](ClusterConfig& config) { config.scheduler_parameters = {"max_switch_wait=90"}; });
  const auto kept = [this](const char* asked) {
    JobSpec spec = batch_spec();
    spec.switches = asked;
    return job(submit(spec)).spec->switches.str();
  };
  EXPECT_EQ(kept("2"), "2@00:01:30");
  EXPECT_EQ(kept("1@60"), "1@00:01:30");
  EXPECT_EQ(kept("1@1:00"), "1@00:01:00");
  configure([](ClusterConfig& config) { config.scheduler_parameters = {}; });
  EXPECT_EQ(kept("1"), "1@00:05:00");
  EXPECT_EQ(kept("1@0"), "1@00:00:00");
  for (const char* text : {"1@", "1@x", "1@-1", "1@INFINITE"})
    EXPECT_EQ(kept(text), "1@00:05:00") << text << ": no time, so the longest";
}

}  // namespace
}  // namespace sluice::state
