#include "noded/node/inventory.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "noded/node/node_line.hpp"

namespace sluice::noded {
namespace {

TEST(Inventory, TheLineOfSlurmdC) {
  NodeHardware hardware;
  hardware.host_name = "vm";
  hardware.cpus = 2;
  hardware.sockets = 1;
  hardware.cores_per_socket = 2;
  hardware.threads_per_core = 1;
  hardware.real_memory_mib = 24105;
  EXPECT_EQ(node_line(hardware, std::chrono::seconds(6096)),
            "NodeName=vm CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 "
            "RealMemory=24105\nUpTime=0-01:41:36\n");
}

TEST(Inventory, ConfigOverridesMakesTheConfiguredCountsStand) {
  NodeHardware real;
  real.cpus = 2;
  real.real_memory_mib = 100;
  NodeConfig node;
  node.cpus = 64;
  node.real_memory_mib = 1000;
  ClusterConfig config;
  EXPECT_EQ(reported_hardware(real, node, config).cpus, 2U);
  config.slurmd_parameters = {"config_overrides"};
  EXPECT_EQ(reported_hardware(real, node, config).cpus, 64U);
  EXPECT_EQ(reported_hardware(real, node, config).real_memory_mib, 1000U);
}

TEST(Inventory, TmpFsIsWhereTemporarySpaceIsLookedFor) {
  EXPECT_GT(discover_hardware("/", {}).tmp_disk_mib, 0U);
  EXPECT_EQ(discover_hardware("/proc", {}).tmp_disk_mib, 0U);
  EXPECT_EQ(discover_hardware("/nowhere", {}).tmp_disk_mib, 0U);
}

// hwloc makes up a host of 2 packages, each with 2 NUMA nodes of 2 level 3 caches with 3 cores of 2
// threads.
class MadeUpHost : public ::testing::Test {
 protected:
  MadeUpHost() { ::setenv("HWLOC_SYNTHETIC", "pack:2 numa:2 l3:2 core:3 pu:2", 1); }
  ~MadeUpHost() override { ::unsetenv("HWLOC_SYNTHETIC"); }
  static std::string found(const std::vector<std::string>& slurmd_parameters) {
    const NodeHardware hardware = discover_hardware("/tmp", slurmd_parameters);
    return std::to_string(hardware.cpus) + ":" + std::to_string(hardware.sockets) + ":" +
           std::to_string(hardware.cores_per_socket) + ":" +
           std::to_string(hardware.threads_per_core);
  }
};

TEST_F(MadeUpHost, WhatIsCountedAsSockets) {
  EXPECT_EQ(found({}), "48:2:12:2");
  EXPECT_EQ(found({"numa_node_as_socket"}), "48:4:6:2");
  EXPECT_EQ(found({"config_overrides", "l3cache_as_socket"}), "48:8:3:2");
  ::setenv("HWLOC_SYNTHETIC", "pack:2 numa:1 core:4 pu:1", 1);
  EXPECT_EQ(found({"l3cache_as_socket"}), "8:2:4:1") << "there are no such caches";
}

TEST(OwnName, IsTheOneNodeOfThisHost) {
  ClusterConfig config;
  for (const char* name : {"a1", "b1", "b2"}) {
    NodeConfig& node = config.nodes.emplace_back();
    node.name = name;
    node.hostname = name[0] == 'a' ? "hosta.example.org" : "hostb";
  }
  EXPECT_EQ(own_node_name(config, "hosta"), "a1");
  EXPECT_FALSE(own_node_name(config, "hostb"));  // two: -N must say which
  EXPECT_FALSE(own_node_name(config, "hostc"));
}

}  // namespace
}  // namespace sluice::noded
