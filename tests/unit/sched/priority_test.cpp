// What each weight of priority/multifactor adds to a job's priority.
#include <functional>

#include <gtest/gtest.h>

#include "ctld/sched/policy/incr_only.hpp"
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

TEST_F(Multifactor, PartitionsByTheirOwnFactor) {
  const auto raw = [](ClusterConfig& config) {
    config.priority_weight_partition = 3;
    config.priority_flags = {"NO_NORMAL_PART"};
  };
  EXPECT_EQ(priority(raw, World::spec(1)), 300U);
  EXPECT_EQ(priority(raw, World::spec(1), {}, "half"), 150U);
}

// Ages grow at multiples of PriorityCalcPeriod after the controller's start; what is changed of a
// job counts at once.
TEST(PriorityCalcPeriod, AJobKeepsItsPriorityInBetween) {
  World w(1, 8);
  w.config.priority_type = "priority/multifactor";
  w.config.priority_weight_age = 1000;
  w.config.priority_max_age = hours(10);
  w.config.priority_calc_period = std::chrono::minutes(5);
  w.up();
  const Time start = w.now;
  w.now += std::chrono::seconds(10);
  const JobId id = w.submit(World::spec(1));
  const auto at = [&](Duration after) {
    w.now = start + after;
    const auto policy = make_policies(w.state).priority;
    return policy->weigh(w.job(id), w.config.partitions[0], w.now)->priority;
  };
  EXPECT_EQ(at(std::chrono::seconds(299)), 1U);
  EXPECT_EQ(at(std::chrono::seconds(300)), 8U) << "290 s of 10 h";
  EXPECT_EQ(at(std::chrono::seconds(599)), 8U);
  EXPECT_EQ(at(std::chrono::seconds(600)), 16U);
  EXPECT_EQ(make_policies(w.state).priority->next_change(w.now), start + std::chrono::minutes(15));
  state::UpdateJob command;
  command.who = {0, 0};
  command.target = std::to_string(id);
  command.update.site_factor = 100;
  ASSERT_TRUE(w.run(command));
  EXPECT_EQ(at(std::chrono::seconds(601)), 116U);
}

// What an administrator changes of a partition lowers nobody; what is changed of a job does.
TEST(IncrOnly, PrioritiesFallOnlyWithTheJob) {
  World w(1, 8);
  w.config.priority_type = "priority/multifactor";
  w.config.priority_flags = {"INCR_ONLY"};
  w.config.priority_weight_partition = 1000;
  w.partition("other").priority_job_factor = 10;
  w.config.partitions[0].priority_job_factor = 10;
  w.up();
  const JobId id = w.submit(World::spec(1));
  const auto now_is = [&](const std::shared_ptr<const PriorityMemory>& before) {
    const auto policy = make_policies(w.state, before).priority;
    return policy->weigh(w.job(id), w.config.partitions[0], w.now)->priority;
  };
  EXPECT_EQ(now_is(nullptr), 1000U);
  const auto before =
      std::make_shared<PriorityMemory>(w.state, *make_policies(w.state).priority, w.now);
  w.config.partitions[0].priority_job_factor = 5;
  EXPECT_EQ(now_is(nullptr), 500U);
  EXPECT_EQ(now_is(before), 1000U);
  state::UpdateJob command;
  command.who = {0, 0};
  command.target = std::to_string(id);
  command.update.nice = 100;
  ASSERT_TRUE(w.run(command));
  EXPECT_EQ(now_is(before), 400U);
}

// What accounting will fill in.
class Shares : public ::testing::Test {
 protected:
  std::optional<WeighedJob> weigh(const std::vector<std::string>& flags, const std::string& account,
                                  const std::string& qos, uint32_t uid = 1001) {
    World w(4, 8);
    w.config.priority_type = "priority/multifactor";
    w.config.priority_flags = flags;
    w.config.priority_weight_fair_share = 10'000;
    w.config.priority_weight_assoc = 100;
    w.config.priority_weight_qos = 1'000;
    w.up();
    JobSpec spec = World::spec(1);
    spec.account = account;
    spec.qos = qos;
    spec.uid = uid;
    const JobId id = w.submit(spec);
    const auto shares = std::make_shared<ShareTable>();
    shares->set("physics", 1001, {.fair_share = 0.5, .priority = 20});
    shares->set("physics", 1002, {.fair_share = 0.25, .priority = 40});
    shares->set_qos("high", 8);
    shares->set_qos("normal", 2);
    const auto policy = make_policies(w.state, nullptr, shares).priority;
    return policy->weigh(w.job(id), w.config.partitions[0], w.now);
  }
};

TEST_F(Shares, AreWeighedByAccountAndUser) {
  const auto ann = weigh({}, "physics", "high");
  EXPECT_EQ(ann->factors, (PriorityFactors{.assoc = 0.5, .fair_share = 0.5, .qos = 1}));
  EXPECT_EQ(ann->priority, 5'000U + 50 + 1'000);
  const auto bob = weigh({}, "physics", "normal", 1002);
  EXPECT_EQ(bob->factors, (PriorityFactors{.assoc = 1, .fair_share = 0.25, .qos = 0.25}));
  EXPECT_EQ(bob->priority, 2'500U + 100 + 250);
  EXPECT_EQ(weigh({}, "biology", "none")->priority, 1U) << "nobody knows them";
}

TEST_F(Shares, AreNotNormalisedWhereFlagsSaySo) {
  EXPECT_EQ(weigh({"NO_NORMAL_ASSOC"}, "physics", "high")->priority, 5'000U + 2'000 + 1'000);
  EXPECT_EQ(weigh({"NO_NORMAL_QOS"}, "physics", "high")->priority, 5'000U + 50 + 8'000);
  EXPECT_EQ(weigh({"NO_NORMAL_ALL"}, "physics", "high")->priority, 5'000U + 2'000 + 8'000);
}

}  // namespace
}  // namespace sluice::sched
