// sprio's question: which jobs are told of, and that all who show a priority show the same.
#include "common/protocol/job_query.hpp"
#include "ctld/query/priority_query.hpp"

#include <gtest/gtest.h>

#include "ctld/query/job_query.hpp"
#include "unit/sched/world.hpp"

namespace sluice::ctld {
namespace {

using sched::World;

constexpr uint32_t kAnn = 1001, kBob = 1002;

class PriorityQueries : public ::testing::Test {
 protected:
  PriorityQueries() : w(4, 8) {
    w.config.priority_type = "priority/multifactor";
    w.config.priority_weight_age = 1000;
    w.config.priority_max_age = std::chrono::hours(10);
    w.config.priority_weight_partition = 100;
    w.config.partitions[0].priority_job_factor = 10;
    w.partition("half").priority_job_factor = 5;
  }
  std::vector<protocol::PriorityRecord> records(protocol::QueryPrioritiesRequest request = {},
                                                uint32_t uid = 0) {
    PriorityQuery query(std::move(request), uid, std::make_shared<state::ClusterState>(w.state),
                        sched::make_policies(w.state), w.now);
    std::vector<protocol::PriorityRecord> out;
    for (auto chunk = query.next(); chunk && *chunk; chunk = query.next())
      out.insert(out.end(), (*chunk)->records.begin(), (*chunk)->records.end());
    return out;
  }
  protocol::JobRecord shown(JobId job) {
    protocol::QueryJobsRequest request;
    request.ids = {std::to_string(job)};
    JobQuery query(request, {0, {}}, std::make_shared<const state::ClusterState>(w.state),
                   w.soft ? w.soft : std::make_shared<const sched::SchedulerView>(), w.now);
    auto chunk = query.next();
    return chunk && *chunk && !(*chunk)->jobs.empty() ? (*chunk)->jobs.front()
                                                      : protocol::JobRecord{};
  }
  World w;
};

TEST_F(PriorityQueries, FiltersAreJoined) {
  w.up();
  JobSpec both = World::spec(1);
  both.partitions = "half,debug";
  const JobId first = w.submit(both);
  JobSpec bobs = World::spec(1);
  bobs.uid = kBob;
  const JobId second = w.submit(bobs);
  EXPECT_EQ(records().size(), 3U);
  EXPECT_EQ(records({.jobs = {first}}).size(), 2U);
  EXPECT_EQ(records({.uids = {kBob}}).front().job, second);
  EXPECT_EQ(records({.partitions = {"half"}}).front().priority, 50U);
  EXPECT_TRUE(records({.jobs = {first}, .uids = {kBob}}).empty());
}

TEST_F(PriorityQueries, OthersJobsArePrivate) {
  w.config.private_data = {"jobs"};
  w.up();
  w.submit(World::spec(1));
  EXPECT_EQ(records({}, kAnn).size(), 1U);
  EXPECT_TRUE(records({}, kBob).empty());
}

TEST_F(PriorityQueries, OnlyJobsThatMayStart) {
  w.up();
  const JobId waits = w.submit(World::spec(1));
  JobSpec held = World::spec(1);
  held.hold = true;
  JobSpec late = World::spec(1);
  late.begin = w.now + std::chrono::hours(1);
  JobSpec after = World::spec(1);
  after.dependency = "afterok:" + std::to_string(waits);
  for (const JobSpec& spec : {held, late, after}) w.submit(spec);
  ASSERT_EQ(records().size(), 1U);
  EXPECT_EQ(records().front().job, waits);
}

TEST_F(PriorityQueries, AGivenPriorityWeighsNothing) {
  w.up();
  JobSpec spec = World::spec(1);
  spec.uid = 0;
  spec.priority = 777;
  w.submit(spec);
  w.pass_time(std::chrono::hours(5));
  const protocol::PriorityRecord record = records().front();
  EXPECT_TRUE(record.fixed);
  EXPECT_EQ(record.priority, 777U);
  EXPECT_EQ(record.factors, PriorityFactors{});
}

TEST_F(PriorityQueries, AllWhoShowAPriorityShowTheSame) {
  w.config.priority_calc_period = std::chrono::minutes(5);
  w.up();
  w.set_node("n[1-4]", "DRAIN");
  const JobId job = w.submit(World::spec(1));
  for (int minute = 0; minute < 30; ++minute) {
    w.pass_time(std::chrono::minutes(7));
    w.pass();
    EXPECT_EQ(records().front().priority, shown(job).soft.priority);
    EXPECT_EQ(w.soft->find(job)->priority, shown(job).soft.priority);
  }
  EXPECT_EQ(shown(job).soft.priority, 100U + 1000U * 210 / 600);
}

// CALCULATE_RUNNING: else a job keeps what it started with.
TEST_F(PriorityQueries, RunningJobsOnlyWhereTheyAreCalculated) {
  for (const bool calculated : {false, true}) {
    w = World(4, 8);
    w.config.priority_type = "priority/multifactor";
    w.config.priority_weight_partition = 100;
    if (calculated) w.config.priority_flags = {"CALCULATE_RUNNING"};
    w.up();
    const JobId job = w.submit(World::spec(1));
    w.pass();
    EXPECT_EQ(records().size(), calculated ? 1U : 0U);
    EXPECT_EQ(shown(job).soft.priority, 100U);
    w.config.priority_weight_partition = 300;
    ASSERT_TRUE(w.run(state::ReplaceConfig{std::make_shared<ClusterConfig>(w.config)}));
    EXPECT_EQ(shown(job).soft.priority, calculated ? 300U : 100U);
  }
}

}  // namespace
}  // namespace sluice::ctld
