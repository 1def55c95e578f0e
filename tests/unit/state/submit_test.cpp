// What submission makes of a job, and whose it takes.
#include "fixture.hpp"

namespace sluice::state {
namespace {

// The bug: a job that the agents could not start was accepted, and held after its launch had failed.
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

}  // namespace
}  // namespace sluice::state
