#include "common/config/dynamic_nodes.hpp"
#include "common/model/cluster_config.hpp"

#include <gtest/gtest.h>

namespace sluice::tables {
namespace {

using Values = std::map<std::string, std::string>;

ClusterConfig cluster() {
  ClusterConfig config;
  config.slurmd_port = 7000;
  config.gres_types = {"gpu"};
  return config;
}

TEST(DynamicNodes, AreReadAsNodeNameLinesAre) {
  const auto nodes = created_nodes(cluster(), {{"nodename", "d[1-2]"},
                                               {"CPUs", "4"},
                                               {"RealMemory", "1000"},
                                               {"state", "cloud"},
                                               {"Feature", "a,b"},
                                               {"Gres", "gpu:2"},
                                               {"Weight", "5"},
                                               {"Port", "[71-72]"},
                                               {"NodeAddr", "10.0.0.[1-2]"},
                                               {"NodeHostname", "host"}});
  ASSERT_TRUE(nodes) << nodes.error().text;
  ASSERT_EQ(nodes->size(), 2u);
  const NodeConfig& second = nodes->back();
  EXPECT_EQ(second.name, "d2");
  EXPECT_EQ(second.address, "10.0.0.2");
  EXPECT_EQ(second.hostname, "host");
  EXPECT_EQ(second.port, 72u);
  EXPECT_EQ(second.cpus, 4u);
  EXPECT_EQ(second.features, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(second.weight, 5u);
  EXPECT_EQ(second.state, ConfiguredNodeState::kCloud);
  EXPECT_EQ(second.dynamic, DynamicNode::kCreated);
  EXPECT_EQ(created_nodes(cluster(), {{"NodeName", "d1"}, {"State", "FUTURE"}})->front().port,
            7000u);
}

TEST(DynamicNodes, WhatIsWrongWithALine) {
  const auto error = [](const Values& values) {
    const auto nodes = created_nodes(cluster(), values);
    return nodes ? Error{ErrorCode::kOk, {}} : nodes.error();
  };
  EXPECT_EQ(error({{"NodeName", "d1"}, {"Bogus", "1"}, {"State", "CLOUD"}}).text,
            "unknown key \"Bogus\" in a NodeName line");
  EXPECT_EQ(error({{"NodeName", "d1"}, {"CPUs", "abc"}, {"State", "CLOUD"}}).code,
            ErrorCode::kInvalidConfig);
  EXPECT_EQ(error({{"NodeName", "d[1"}, {"State", "CLOUD"}}).code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(error({{"NodeName", ""}, {"State", "CLOUD"}}).code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(error({{"NodeName", "DEFAULT"}, {"State", "CLOUD"}}).text,
            "no node can be named \"DEFAULT\"");
  EXPECT_EQ(error({{"NodeName", "d1"}, {"State", "CLOUD"}, {"Gres", "fan:1"}}).text,
            "Gres=\"fan:1\" names \"fan\", which is not in GresTypes");
  for (const char* state : {"IDLE", "DOWN", "bogus", ""}) {
    const Error refused = error({{"NodeName", "d1"}, {"State", state}});
    EXPECT_EQ(refused.code, ErrorCode::kInvalidState) << state;
    EXPECT_EQ(refused.text,
              "Only State=FUTURE and State=CLOUD allowed for nodes created by scontrol");
  }
}

TEST(DynamicNodes, AnAgentSaysWhatItFound) {
  NodeHardware found;
  found.host_name = "host7";
  found.cpus = 8;
  found.sockets = 2;
  found.cores_per_socket = 2;
  found.threads_per_core = 2;
  found.real_memory_mib = 4000;
  const auto node =
      registering_node(cluster(), "z1", "Feature=a,b  RealMemory=500 Gres=gpu:1", found);
  ASSERT_TRUE(node) << node.error().text;
  EXPECT_EQ(node->name, "z1");
  EXPECT_EQ(node->hostname, "host7");
  EXPECT_TRUE(node->address.empty());
  EXPECT_EQ(node->cpus, 8u);
  EXPECT_EQ(node->sockets, 2u);
  EXPECT_EQ(node->real_memory_mib, 500u);
  EXPECT_EQ(node->features.size(), 2u);
  EXPECT_EQ(node->dynamic, DynamicNode::kRegistered);
  const auto smaller = registering_node(cluster(), "z1", "CPUs=2 NodeAddr=10.0.0.9", found);
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->cpus, 2u);
  EXPECT_EQ(smaller->cores_per_socket, 1u) << "the layout is the line's alone";
  EXPECT_EQ(smaller->address, "10.0.0.9");
  EXPECT_EQ(registering_node(cluster(), "z1", "NodeName=z2", found).error().text,
            "option 'NodeName=' not allowed in --conf");
  EXPECT_FALSE(registering_node(cluster(), "z1", "State=DOWN", found));
  EXPECT_FALSE(registering_node(cluster(), "z[1-2]", "", found));
  EXPECT_FALSE(registering_node(cluster(), "z1", "Bogus=1", found));
}

}  // namespace
}  // namespace sluice::tables
