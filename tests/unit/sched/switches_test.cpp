// Preferred features, and placements below few switches.
#include <gtest/gtest.h>

#include "ctld/sched/topology/switches.hpp"
#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

World with_tree() {
  World w(4, 2);
  w.config.switches = {
      {"s1", {"n1", "n2"}, {}, ""}, {"s2", {"n3", "n4"}, {}, ""}, {"top", {}, {"s1", "s2"}, ""}};
  w.up();
  return w;
}

JobSpec wide(uint32_t nodes) {
  JobSpec made = World::spec(0, 10);
  made.min_nodes = made.max_nodes = nodes;
  made.sharing = Sharing::kExclusive;
  return made;
}

JobSpec on(const char* node) {
  JobSpec made = wide(1);
  made.required_nodes = node;
  return made;
}

TEST(Switches, FewAreUsed) {
  World w = with_tree();
  w.submit(on("n1"));
  w.submit(wide(2));
  w.submit(wide(1));
  EXPECT_EQ(w.pass(), "1:n1 2:n[3-4] 3:n2");
}

TEST(Switches, JobWaitsForFewAndNotForever) {
  World w = with_tree();
  w.submit(on("n1"));
  w.submit(on("n3"));
  JobSpec near = wide(2);
  near.switches = "1@5";
  w.submit(near);
  EXPECT_EQ(w.pass(), "1:n1 2:n3");
  w.pass_time(std::chrono::minutes(4));
  EXPECT_EQ(w.pass(), "");
  w.pass_time(std::chrono::minutes(1));
  EXPECT_EQ(w.pass(), "3:n[2,4]");
}

// What the first of them could not find is not what the second, whose patience is over, could not
// find.
TEST(Switches, TheMemoOfAPassKnowsPatience) {
  World w = with_tree();
  for (const char* node : {"n1", "n3"}) {
    JobSpec longer = on(node);
    longer.time_limit = 100;
    w.submit(longer);
  }
  JobSpec near = wide(2);
  near.switches = "1@5";
  const JobId old = w.submit(near);
  EXPECT_EQ(w.pass(), "1:n1 2:n3");
  w.pass_time(std::chrono::minutes(4));
  near.priority = UINT32_MAX - 1;  // of the same demand, younger, and first
  ASSERT_TRUE(w.run(state::SubmitJob{{0, 0}, near, {}}));
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(plan_pass(w.state, make_policies(w.state), w.now).again,
            w.now + std::chrono::minutes(1));
  w.pass_time(std::chrono::minutes(1));
  EXPECT_EQ(w.pass(), std::to_string(old) + ":n[2,4]");
  EXPECT_EQ(w.reason(old + 1), JobReason::kResources);
}

TEST(Switches, WithoutALimitOfItsOwnAJobWaitsFiveMinutes) {
  ClusterConfig config;
  JobSpec spec;
  EXPECT_EQ(switches_of(spec, config).most, 0U);
  spec.switches = "2";
  EXPECT_EQ(switches_of(spec, config).most, 2U);
  EXPECT_EQ(switches_of(spec, config).wait, Duration(std::chrono::minutes(5)));
  spec.switches = "2@3";
  EXPECT_EQ(switches_of(spec, config).wait, Duration(std::chrono::minutes(3)));
  config.scheduler_parameters = {"max_switch_wait=60"};
  EXPECT_EQ(switches_of(spec, config).wait, Duration(std::chrono::minutes(1)));
}

TEST(Prefer, FirstWhereItIsLikedThenAnywhere) {
  World w(2, 2);
  w.config.nodes[1].features = {"fast"};
  w.up();
  JobSpec job = World::spec(2, 10);
  job.prefer = "fast";
  w.submit(job);
  EXPECT_EQ(w.pass(), "1:n2");
  w.submit(job);
  EXPECT_EQ(w.pass(), "2:n1");
}

// The bug: what was preferred was looked for among the nodes of the constraint alone.
TEST(Prefer, StandsInPlaceOfTheConstraint) {
  World w(4, 2);
  w.config.nodes[0].features = {"a"};
  w.config.nodes[1].features = {"b"};
  w.config.nodes[2].features = {"b", "c"};
  w.up();
  JobSpec job = World::spec(2, 10);
  job.constraint = "a";
  job.prefer = "b";
  w.submit(job);
  w.submit(job);
  w.submit(job);
  EXPECT_EQ(w.pass(), "1:n2 2:n3 3:n1");
  w.submit(job);
  EXPECT_EQ(w.pass(), "") << "n4 is neither";
  w.finish(2);
  EXPECT_EQ(w.pass(), "4:n3");
}

// The bug: counts and brackets of what is preferred were passed over.
TEST(Prefer, CountsAndAlternatives) {
  World w(4, 2);
  w.config.nodes[0].features = w.config.nodes[1].features = {"a"};
  w.config.nodes[2].features = {"b"};
  w.config.nodes[3].features = {"c"};
  w.up();
  JobSpec job = wide(2);
  job.prefer = "[b*1&c*1]";
  const JobId counted = w.submit(job);
  EXPECT_EQ(w.pass(), "1:n[3-4]");
  w.finish(counted);
  job.prefer = "[b|a]";
  w.submit(job);
  EXPECT_EQ(w.pass(), "2:n[1-2]");
}

}  // namespace
}  // namespace sluice::sched
