// What each weight of priority/multifactor adds to a job's priority.
#include <functional>

#include <gtest/gtest.h>

#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

using std::chrono::hours;

// 4 nodes of 8 CPUs: "debug" has all of them and the largest factor, "half" half of that factor.
class Multifactor : public ::testing::Test {
 protected:
  uint32_t priority(const std::function<void(ClusterConfig&)>& change, const JobSpec& spec,
                    Duration waited = Duration::zero(), const std::string& partition = "debug") {
    World w(4, 8);
    w.config.priority_type = "priority/multifactor";
    w.partition("half").priority_job_factor = 50;
    w.config.partitions[0].priority_job_factor = 100;
    change(w.config);
    w.up();
    JobSpec wanted = spec;
    wanted.partitions = partition;
    const JobId id = w.submit(wanted);
    w.now += waited;
    const auto policy = make_policies(w.state).priority;
    for (const PartitionConfig& found : w.config.partitions) {
      if (found.name == partition) return policy->priority(w.job(id), found, w.now);
    }
    ADD_FAILURE() << "no partition " << partition;
    return 0;
  }
};

TEST_F(Multifactor, AgeCountsUpToItsLimit) {
  const auto weigh = [](ClusterConfig& config) {
    config.priority_weight_age = 1000;
    config.priority_max_age = hours(10);
  };
  EXPECT_EQ(priority(weigh, World::spec(1)), 1U) << "the least there is";
  EXPECT_EQ(priority(weigh, World::spec(1), hours(5)), 500U);
  EXPECT_EQ(priority(weigh, World::spec(1), hours(10)), 1000U);
  EXPECT_EQ(priority(weigh, World::spec(1), hours(100)), 1000U);
  const auto longer = [&](ClusterConfig& config) {
    weigh(config);
    config.priority_max_age = hours(20);
  };
  EXPECT_EQ(priority(longer, World::spec(1), hours(5)), 250U);
  EXPECT_EQ(priority([](ClusterConfig&) {}, World::spec(1), hours(5)), 1U) << "without a weight";
}

TEST_F(Multifactor, LargeJobsOrSmallOnes) {
  const auto weigh = [](ClusterConfig& config) { config.priority_weight_job_size = 1000; };
  const auto small_first = [&](ClusterConfig& config) {
    weigh(config);
    config.priority_favor_small = true;
  };
  JobSpec half = World::spec(16), whole = World::spec(32);
  half.min_nodes = 2;
  whole.min_nodes = 4;
  EXPECT_EQ(priority(weigh, half), 500U);
  EXPECT_EQ(priority(weigh, whole), 1000U);
  EXPECT_EQ(priority(small_first, half), 500U);
  EXPECT_EQ(priority(small_first, whole), 1U);
  JobSpec wide = World::spec(8);  // half of the CPUs, on one of four nodes
  wide.cpus_per_task = 2;
  EXPECT_EQ(priority(weigh, wide), 375U);
  EXPECT_EQ(priority(small_first, wide), 625U);
}

TEST_F(Multifactor, FactorsOfPartitions) {
  const auto weigh = [](ClusterConfig& config) { config.priority_weight_partition = 1000; };
  EXPECT_EQ(priority(weigh, World::spec(1)), 1000U);
  EXPECT_EQ(priority(weigh, World::spec(1), {}, "half"), 500U);
  EXPECT_EQ(priority([](ClusterConfig&) {}, World::spec(1)), 1U);
}

TEST_F(Multifactor, WhatIsWeighedIsAdded) {
  const auto weigh = [](ClusterConfig& config) {
    config.priority_weight_partition = 1000;
    config.priority_weight_age = 100;
    config.priority_max_age = hours(10);
  };
  JobSpec nice = World::spec(1);
  nice.nice = 30;
  EXPECT_EQ(priority(weigh, nice, hours(5), "half"), 520U);
  JobSpec raised = nice;
  raised.uid = 0;  // administrators may
  raised.site_factor = 100;
  EXPECT_EQ(priority(weigh, raised, hours(5), "half"), 620U);
  raised.site_factor = -1000;
  EXPECT_EQ(priority(weigh, raised, hours(5), "half"), 1U);
}

}  // namespace
}  // namespace sluice::sched
