#include "noded/inventory.hpp"

#include <gtest/gtest.h>

#include "noded/own_line.hpp"

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
