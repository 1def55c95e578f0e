// What is told of a job depends on who asks.
#include "ctld/query/job_query.hpp"

#include <gtest/gtest.h>

#include "common/protocol/job_query.hpp"
#include "common/wire/codec.hpp"
#include "support/core_fixture.hpp"

namespace sluice::ctld {
namespace {

class JobQueries : public state::CoreTest {
 protected:
  // The one job there is, as this user is shown it.
  protocol::JobRecord shown_to(uint32_t uid) {
    protocol::QueryJobsRequest request;
    request.steps = true;
    JobQuery query(request, {uid, {}}, std::make_shared<const state::ClusterState>(state_),
                   std::make_shared<const sched::SchedulerView>(), now_);
    auto chunk = query.next();
    EXPECT_TRUE(chunk && *chunk && (*chunk)->jobs.size() == 1);
    return chunk && *chunk && !(*chunk)->jobs.empty() ? (*chunk)->jobs.front()
                                                      : protocol::JobRecord{};
  }
};

// The bug: anybody could see by its hash whether another's script or environment was what he took
// it for.
TEST_F(JobQueries, StrangersSeeNothingOfScriptsAndEnvironments) {
  JobSpec spec = batch_spec();
  spec.script_blob = "hash-of-script";
  spec.environment_blob = "hash-of-environment";
  spec.limits = {4711, 4712};
  spec.request_id = 17;
  spec.submit_sid = 99;
  const JobId job = submit(spec);
  ASSERT_TRUE(start_job(job, "n1"));
  StepSpec step;
  step.uid = state::kAnn.uid;
  step.num_tasks = 1;
  step.environment_blob = "hash-of-step";
  step.request_id = 18;
  state::CreateStep command;
  command.who = state::kAnn;
  command.job = job;
  command.step = step;
  ASSERT_TRUE(run(command));
  for (const uint32_t uid : {state::kAnn.uid, state::kRoot.uid}) {
    const std::string sent = wire::encode(shown_to(uid));
    for (const char* text : {"hash-of-script", "hash-of-environment", "hash-of-step"})
      EXPECT_NE(sent.find(text), std::string::npos) << text;
    EXPECT_EQ(shown_to(uid).job.spec->limits, spec.limits);
  }
  const protocol::JobRecord record = shown_to(state::kBob.uid);
  EXPECT_EQ(wire::encode(record).find("hash-of"), std::string::npos);
  EXPECT_TRUE(record.job.spec->limits.empty());
  EXPECT_EQ(record.job.spec->request_id, 0U);
  EXPECT_EQ(record.job.spec->name, "job");
  EXPECT_EQ(record.job.spec->submit_sid, 99U) << "AllocNode:Sid= is shown to all";
  ASSERT_EQ(record.job.steps.size(), 2U);
  EXPECT_EQ(record.job.steps.back()->spec->request_id, 0U);
  EXPECT_EQ(state_.jobs.at(job).spec->script_blob, "hash-of-script")
      << "of the state nothing is cut";
}

// The bugs: there was no memory with --mem=0, and nothing at all where tasks and nodes contradict.
TEST_F(JobQueries, WhatAJobAsksForIsCounted) {
  configure([](ClusterConfig& config) {
    config.select_type_parameters = {"CR_CPU_Memory"};
    config.nodes.front().real_memory_mib = 4000;
  });
  JobSpec spec = batch_spec();
  spec.min_nodes = spec.max_nodes = 2;
  spec.memory_kind = MemoryKind::kPerNode;
  spec.memory_mib = 0;
  spec.num_tasks = 2;
  (void)submit(spec);
  EXPECT_EQ(shown_to(state::kAnn.uid).required_tres, "cpu=2,mem=8000M,node=2,billing=2");
}

TEST_F(JobQueries, WhatAHeldJobAsksForInVainIsCounted) {
  JobSpec spec = batch_spec();
  spec.min_nodes = spec.max_nodes = 2;
  spec.num_tasks = 8;
  spec.ntasks_per_node = 2;
  spec.hold = true;
  (void)submit(spec);
  EXPECT_TRUE(shown_to(state::kAnn.uid).required_tres.starts_with("cpu=8,"))
      << shown_to(state::kAnn.uid).required_tres;
}

// It was 1 until the scheduler had looked at it, which it does not at once where a job cannot start
// yet.
TEST_F(JobQueries, AJobThatTheSchedulerHasNotSeenHasItsPriority) {
  configure([](ClusterConfig& config) { config.priority_type = "priority/basic"; });
  JobSpec spec = batch_spec();
  spec.begin = now_ + std::chrono::hours(1);
  const JobId job = submit(spec);
  EXPECT_EQ(shown_to(state::kAnn.uid).soft.priority, 4'294'901'760U - job);
}

// The bug: %h of a job said NO where its partition has all jobs share.
TEST_F(JobQueries, APartitionMakesItShare) {
  const auto share = [this](OverSubscribe how, uint32_t count) {
    configure([&](ClusterConfig& config) {
      config.partitions[0].over_subscribe = how;
      config.partitions[0].over_subscribe_count = count;
    });
    return shown_to(state::kAnn.uid).shares_by_force;
  };
  const JobId job = submit(batch_spec());
  EXPECT_TRUE(share(OverSubscribe::kForce, 2));
  EXPECT_FALSE(share(OverSubscribe::kForce, 1));
  EXPECT_FALSE(share(OverSubscribe::kYes, 4));
  EXPECT_TRUE(share(OverSubscribe::kForce, 0)) << "0: four";
  JobUpdate update;
  update.sharing = Sharing::kExclusive;
  ASSERT_TRUE(run(state::UpdateJob{state::kRoot, std::to_string(job), update, {}}));
  EXPECT_FALSE(shown_to(state::kAnn.uid).shares_by_force);
  ASSERT_TRUE(start_job(job, "n1"));
  EXPECT_TRUE(shown_to(state::kAnn.uid).shares_by_force) << "that it may not be alone counts then";
}

// The bug: %h of a job of --oversubscribe said YES where it had its nodes alone.
TEST_F(JobQueries, APartitionLetsItNotShare) {
  configure([](ClusterConfig& config) {
    config.partitions[0].over_subscribe = OverSubscribe::kExclusive;
  });
  JobSpec spec = batch_spec();
  spec.sharing = Sharing::kOversubscribe;
  const JobId job = submit(spec);
  EXPECT_FALSE(shown_to(state::kAnn.uid).alone_by_force);
  ASSERT_TRUE(start_job(job, "n1", 8));
  EXPECT_TRUE(shown_to(state::kAnn.uid).alone_by_force);
}

}  // namespace
}  // namespace sluice::ctld
