// scontrol update PartitionName=…: keys, and what is said of those that do nothing.
#include "common/config/partition_update.hpp"

#include <gtest/gtest.h>

namespace sluice::tables {
namespace {

using Values = std::map<std::string, std::string>;
using Keys = std::vector<std::string>;

ClusterConfig cluster() {
  ClusterConfig config;
  config.nodes.emplace_back().name = "n1";
  return config;
}

PartitionConfig partition() {
  PartitionConfig made;
  made.name = "part";
  made.nodes_text = "n1";
  return made;
}

TEST(PartitionUpdate, JobDefaultsStandForWhatTheyList) {
  PartitionConfig part = partition();
  ASSERT_TRUE(
      update_partition(cluster(), {{"JobDefaults", "DefCpuPerGPU=2,defmempergpu=100"}}, part));
  EXPECT_EQ(part.def_cpu_per_gpu, 2U);
  EXPECT_EQ(part.def_mem_per_gpu_mib, 100U);
  EXPECT_EQ(part.job_defaults, "DefCpuPerGPU=2,DefMemPerGPU=100");
  ASSERT_TRUE(update_partition(cluster(), {{"DefCPUPerGPU", "3"}}, part));
  EXPECT_EQ(part.job_defaults, "DefCpuPerGPU=3,DefMemPerGPU=100");
  ASSERT_TRUE(update_partition(cluster(), {{"jobdefaults", "DefMemPerGPU=50"}}, part));
  EXPECT_FALSE(part.def_cpu_per_gpu);
  EXPECT_EQ(part.job_defaults, "DefMemPerGPU=50");
  ASSERT_TRUE(update_partition(cluster(), {{"JobDefaults", ""}}, part));
  EXPECT_EQ(part.job_defaults, "");
  for (const char* bad : {"DefCpuPerGPU", "MaxTime=3", "DefCpuPerGPU=x"}) {
    const auto done = update_partition(cluster(), {{"JobDefaults", bad}}, part);
    ASSERT_FALSE(done) << bad;
    EXPECT_EQ(done.error().text, "Invalid JobDefaults specification");
  }
}

TEST(PartitionUpdate, RefusesValuesInSlurmsWords) {
  const auto said = [](const std::string& key, const std::string& value) {
    PartitionConfig part = partition();
    const auto done = update_partition(cluster(), {{key, value}}, part);
    return done ? std::string() : done.error().text;
  };
  EXPECT_EQ(said("maxtime", "x"), "Invalid input maxtime=x");
  EXPECT_EQ(said("priority", "x"), "Invalid Priority value: x");
  EXPECT_EQ(said("defmempercpu", "-1"), "Invalid DefMemPerCPU value: -1");
  EXPECT_EQ(said("OverTimeLimit", "x"), "Invalid OverTimeLimit value: x");
  EXPECT_EQ(said("maxnodes", "x"), "Invalid numeric value \"x\" for MaxNodes.");
  EXPECT_EQ(said("minnodes", "x"), "\"x\" is not a valid node count");
  EXPECT_EQ(said("preemptmode", "x"), "Invalid input: preemptmode=x");
  EXPECT_EQ(
      said("default", "maybe"),
      "Invalid input: default=maybe\nscontrol: error: Acceptable Default values are YES and NO");
  EXPECT_EQ(
      said("shared", "x"),
      "Invalid input: shared=x\nscontrol: error: Acceptable OverSubscribe values are NO, EXCLUSIVE, YES:#, and FORCE:#");
  EXPECT_EQ(said("tresbillingweights", "x"), "Invalid TRESBillingWeights specification");
}

TEST(PartitionUpdate, SaysWhatDoesNothing) {
  EXPECT_EQ(
      partition_keys_without_effect(
          ClusterConfig(), {{"MaxTime", "10"}, {"State", "UP"}, {"JobDefaults", "DefCpuPerGPU=2"}}),
      Keys{});
  EXPECT_EQ(partition_keys_without_effect(
                ClusterConfig(), {{"PowerDownOnIdle", "YES"}, {"maxtime", "5"}, {"qos", "fast"}}),
            Keys{"PartitionName.QOS"});
  EXPECT_EQ(partition_keys_without_effect(ClusterConfig(), {{"Exclusive", "TOPO"}}), Keys{});
  EXPECT_EQ(
      partition_keys_without_effect(ClusterConfig(), {{"Exclusive", "USER"}, {"NoSuchKey", "1"}}),
      Keys{});
}

}  // namespace
}  // namespace sluice::tables
