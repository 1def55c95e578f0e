// The bug: each node that registered was sent the lines of all nodes.
#include "ctld/agents/config_for_nodes.hpp"

#include <gtest/gtest.h>

namespace sluice::ctld {
namespace {

std::shared_ptr<ClusterConfig> cluster() {
  auto config = std::make_shared<ClusterConfig>();
  config->cluster_name = "demo";
  for (const char* name : {"a1", "a2", "v1", "v2", "v3"}) {
    NodeConfig node;
    node.name = name;
    node.hostname = name[0] == 'v' ? "host" : name;
    config->nodes.push_back(node);
  }
  config->partitions.emplace_back().name = "debug";
  return config;
}

std::vector<std::string> names(const ClusterConfig& config) {
  std::vector<std::string> out;
  for (const NodeConfig& node : config.nodes) out.push_back(node.name);
  return out;
}

TEST(ConfigForNodes, HasTheLineOfTheNodeAlone) {
  ConfigForNodes sent;
  const auto config = cluster();
  const ClusterConfig own = sent.of(config, "a2");
  EXPECT_EQ(own.cluster_name, "demo");
  EXPECT_EQ(names(own), std::vector<std::string>{"a2"});
  EXPECT_TRUE(own.partitions.empty());
  EXPECT_TRUE(names(sent.of(config, "b1")).empty());
}

TEST(ConfigForNodes, SaysThatAHostHasSeveralNodes) {
  ConfigForNodes sent;
  const auto config = cluster();
  EXPECT_EQ(names(sent.of(config, "v1")), (std::vector<std::string>{"v1", "v2"}));
  EXPECT_EQ(names(sent.of(config, "v3")), (std::vector<std::string>{"v3", "v1"}));
}

TEST(ConfigForNodes, FollowsTheConfiguration) {
  ConfigForNodes sent;
  EXPECT_EQ(sent.of(cluster(), "a1").nodes.front().cpus, NodeConfig().cpus);
  const auto next = cluster();
  next->nodes[0].cpus = 64;
  next->cluster_name = "other";
  const ClusterConfig own = sent.of(next, "a1");
  EXPECT_EQ(own.nodes.front().cpus, 64U);
  EXPECT_EQ(own.cluster_name, "other");
}

}  // namespace
}  // namespace sluice::ctld
