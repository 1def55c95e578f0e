// Heterogeneous jobs in a pass.
#include "world.hpp"

namespace sluice::sched {
namespace {

struct HetWorld : World {
  using World::World;
  JobId submit_het(const std::vector<JobSpec>& components) {
    state::SubmitJob command{{1001, 1001}, components.front(), {}};
    command.components.assign(components.begin() + 1, components.end());
    const auto reply = run(command);
    EXPECT_TRUE(reply);
    return reply ? std::get<state::JobSubmittedReply>(*reply).job : kNoJob;
  }
};

TEST(HetPass, ComponentsFindRoomBesideOneAnother) {
  HetWorld world(2, 8);
  world.up();
  const JobId leader = world.submit_het({World::spec(3), World::spec(6), World::spec(5)});
  EXPECT_EQ(leader, 1u);
  EXPECT_EQ(world.pass(), "1:n1 2:n2 3:n1");
}

TEST(HetPass, TestOnlyTellsOfAllComponents) {
  HetWorld world(2, 8);
  world.up();
  const JobId leader = world.submit_het({World::spec(8), World::spec(4)});
  auto found = test_start_in_turn(world.state, leader, world.now, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->start, world.now);
  EXPECT_EQ(found->nodes, "n[1-2]");
  EXPECT_EQ(found->cpus, 12U);
}

// Behind those that wait, as all other jobs.
TEST(HetPass, TestOnlyIsInTurn) {
  HetWorld world(2, 8);
  world.up();
  world.submit(World::spec(16, 30));
  ASSERT_EQ(world.pass(), "1:n[1-2]");
  world.submit(World::spec(16, 20));
  const JobId leader = world.submit_het({World::spec(8), World::spec(4)});
  const auto found = test_start_in_turn(world.state, leader, world.now, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->start, world.now + std::chrono::minutes(50));
  EXPECT_EQ(found->nodes, "n[1-2]");
  EXPECT_EQ(found->cpus, 12U);
  EXPECT_EQ(found->partition, "debug");
}

TEST(HetPass, OneThatFindsNoRoomKeepsAllWaiting) {
  HetWorld world(2, 8);
  world.up();
  const JobId first = world.submit(World::spec(8, 10));
  ASSERT_EQ(world.pass(), "1:n1");
  const JobId leader = world.submit_het({World::spec(6), World::spec(6)});
  const JobId small = world.submit(World::spec(8, 5));
  // what the first component would have taken is free for the next job, which ends before both are
  // to start
  EXPECT_EQ(world.pass(), "4:n2");
  EXPECT_EQ(world.reason(leader), JobReason::kResources);
  EXPECT_EQ(world.reason(leader + 1), JobReason::kResources);
  world.finish(first);
  EXPECT_EQ(world.pass(), "");
  world.finish(small);
  EXPECT_EQ(world.pass(), "2:n1 3:n2");
}

// Before the tick that ends it.
TEST(HetPass, OneThatCannotEndBeforeItsDeadlineKeepsAllFromStarting) {
  HetWorld world(2, 8);
  world.up();
  JobSpec late = World::spec(1, 5);
  late.deadline = world.now + std::chrono::minutes(10);
  const JobId leader = world.submit_het({World::spec(1), late});
  world.now += std::chrono::minutes(6);
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.reason(leader), JobReason::kDeadLine);
  world.pass_time(std::chrono::seconds(1));
  EXPECT_EQ(world.job(leader).state, JobState::kDeadline);
}

TEST(HetPass, NodesAreKeptForAllComponents) {
  HetWorld world(2, 8);
  world.up();
  world.submit(World::spec(8, 10));
  ASSERT_EQ(world.pass(), "1:n1");
  const JobId leader = world.submit_het({World::spec(8), World::spec(8)});
  world.submit(World::spec(8, 60));  // would hold n2 beyond the time at which n1 is free
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.soft->find(leader)->expected_start, world.now + std::chrono::minutes(10));
  EXPECT_EQ(world.soft->find(leader + 1)->expected_start, world.now + std::chrono::minutes(10));
}

TEST(HetPass, ComponentsShareWhatTheirPartitionMayHaveOfANode) {
  HetWorld world(1, 8);
  world.config.partitions.front().max_cpus_per_node = 3;
  world.up();
  world.submit(World::spec(1, 10));
  ASSERT_EQ(world.pass(), "1:n1");
  // each of them would fit now
  const JobId leader = world.submit_het({World::spec(1), World::spec(2)});
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.soft->find(leader)->expected_start, world.now + std::chrono::minutes(10));
  world.finish(1);
  EXPECT_EQ(world.pass(), "2:n1 3:n1");
}

TEST(HetPass, WhatNeverFitsTogetherKeepsNothing) {
  HetWorld world(2, 8);
  world.up();
  JobSpec both = World::spec(16);
  world.submit(World::spec(1, 10));
  ASSERT_EQ(world.pass(), "1:n1");
  const JobId leader = world.submit_het({both, both});
  world.submit(World::spec(4, 600));
  EXPECT_EQ(world.pass(), "4:n1");
  EXPECT_EQ(world.reason(leader), JobReason::kResources);
}

TEST(HetPass, AHeldComponentKeepsAllWaiting) {
  HetWorld world(2, 8);
  world.up();
  const JobId leader = world.submit_het({World::spec(1), World::spec(1)});
  ASSERT_TRUE(world.run(
      state::ChangeJob{{0, 0}, std::to_string(leader + 1), protocol::JobAction::kHold, false}));
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.reason(leader), JobReason::kResources);
  EXPECT_EQ(world.reason(leader + 1), JobReason::kJobHeldAdmin);
}

TEST(HetPass, EachComponentInItsOwnPartition) {
  HetWorld world(2, 8);
  world.config.partitions.front().nodes = {"n1"};
  world.partition("other").nodes = {"n2"};
  world.up();
  JobSpec there = World::spec(2);
  there.partitions = "other";
  world.submit_het({World::spec(2), there});
  EXPECT_EQ(world.pass(), "1:n1 2:n2");
  EXPECT_EQ(world.job(2).partition, "other");
}

TEST(HetPass, LicensesAreCountedOverAllComponents) {
  HetWorld world(2, 8);
  world.config.licenses = "tool:3";
  world.up();
  JobSpec spec = World::spec(1);
  spec.licenses = "tool:2";
  const JobId leader = world.submit_het({spec, spec});
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.reason(leader), JobReason::kLicenses);
}

}  // namespace
}  // namespace sluice::sched
