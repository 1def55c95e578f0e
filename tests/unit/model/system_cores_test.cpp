// Which cores of a node are kept for the system, and what is left to jobs.
#include "common/model/system_cores.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

// Two sockets of three cores of two threads.
NodeConfig node_with(uint32_t count, const char* list = "") {
  NodeConfig node;
  node.sockets = 2;
  node.cores_per_socket = 3;
  node.threads_per_core = 2;
  node.cpus = 12;
  node.core_spec_count = count;
  node.cpu_spec_list = list;
  return node;
}

std::string kept(const NodeConfig& node) { return system_cores(node).to_text(); }

TEST(SystemCores, FromTheLastSocketsInTurn) {
  EXPECT_EQ(kept(node_with(0)), "");
  EXPECT_EQ(kept(node_with(1)), "5");
  EXPECT_EQ(kept(node_with(2)), "2,5");
  EXPECT_EQ(kept(node_with(3)), "2,4-5");
  EXPECT_EQ(kept(node_with(5)), "1-5");
}

TEST(SystemCores, FromTheFirstSocketsInTurn) {
  NodeConfig node = node_with(1);
  node.system_cores_first = true;
  EXPECT_EQ(kept(node), "0");
  node.core_spec_count = 3;
  EXPECT_EQ(kept(node), "0-1,3");
}

TEST(SystemCores, ListedCpusWithTheirCores) {
  EXPECT_EQ(kept(node_with(0, "1,4")), "0,2") << "the other thread of a core is kept, too";
  EXPECT_EQ(system_cpu_list(node_with(0, "1,4")), "0-1,4-5");
  EXPECT_EQ(system_cpu_list(node_with(1)), "10-11");
  EXPECT_EQ(system_cpu_list(node_with(0)), "");
}

TEST(SystemCores, WhatIsLeftToJobs) {
  EXPECT_EQ(effective_cpus(node_with(0)), 12U);
  EXPECT_EQ(effective_cpus(node_with(2)), 8U);
  EXPECT_EQ(effective_cpus(node_with(0, "0-3")), 8U);
  NodeConfig counted_as_cores = node_with(2);
  counted_as_cores.cpus = 6;
  EXPECT_EQ(effective_cpus(counted_as_cores), 4U);
}

TEST(SystemCores, ValuesThatMakeNoSense) {
  EXPECT_TRUE(check_system_cores(node_with(5)));
  EXPECT_FALSE(check_system_cores(node_with(6)));
  EXPECT_FALSE(check_system_cores(node_with(1, "0")));
  EXPECT_TRUE(check_system_cores(node_with(0, "0-9")));
  EXPECT_FALSE(check_system_cores(node_with(0, "0,2,4,6,8,10")));
  EXPECT_FALSE(check_system_cores(node_with(0, "12")));
  EXPECT_FALSE(check_system_cores(node_with(0, "none")));
}

TEST(SystemCores, WhatAJobLeaves) {
  const auto left = [](const NodeConfig& node, SystemShare share) {
    return system_cores(node, share).to_text();
  };
  const NodeConfig two = node_with(2);
  EXPECT_EQ(left(two, {}), "2,5") << "as the node has it";
  EXPECT_EQ(left(two, {.cores = 0}), "");
  EXPECT_EQ(left(two, {.cores = 1}), "5");
  EXPECT_EQ(left(two, {.cores = 3}), "2,4-5");
  EXPECT_EQ(left(two, {.threads = 3}), "2,5") << "whole cores";
  EXPECT_EQ(left(two, {.cores = 100}), "0-5");
  const NodeConfig listed = node_with(0, "0-3");
  EXPECT_EQ(left(listed, {.cores = 1}), "0") << "of those in the list first";
  EXPECT_EQ(left(listed, {.cores = 3}), "0-1,5");
}

TEST(SystemCores, JobsSayItWhereTheyMay) {
  JobSpec spec;
  spec.core_spec = 1;
  ClusterConfig config;
  EXPECT_FALSE(system_share(spec, config).given());
  config.allow_spec_resources_usage = true;
  EXPECT_EQ(system_share(spec, config).cores, 1U);
  EXPECT_FALSE(system_share(JobSpec(), config).given());
}

}  // namespace
}  // namespace sluice
