// scontrol write config: what it writes gives the same configuration again.
#include <gtest/gtest.h>

#include "common/config/conf_write.hpp"
#include "unit/config/conf_support.hpp"

namespace sluice::tables {
namespace {

TEST(ConfWrite, GivesTheSameAgain) {
  const ClusterConfig before = config_of(
      "SlurmctldPort=7000-7001\nKillWait=17\nProlog=/a\nProlog=/b\nMailDomain=example.org\nSchedulerParameters=defer,bf_window=10\n"
      "NodeName=n[1-2] CPUs=8 Boards=1 SocketsPerBoard=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=2000 Features=a,b Weight=3\n"
      "NodeName=n3 NodeHostname=host NodeAddr=10.0.0.3 Port=7100 CPUs=4 State=DRAIN Reason=\"a fan is loud\"\n"
      "NodeSet=some Nodes=n[1-2]\nNodeSet=more Feature=a Nodes=n3\nDownNodes=n2 State=DOWN Reason=gone\n"
      "PartitionName=debug Nodes=some Default=YES MaxTime=1-00:00:00 DefaultTime=30 PriorityTier=5 OverSubscribe=FORCE:2\n"
      "PartitionName=all Nodes=ALL AllowGroups=x,y MaxNodes=2 Hidden=YES DefMemPerCPU=100 DefCpuPerGPU=2 DefMemPerGPU=70 State=DRAIN\n");
  const std::string text = write_config(before, "today");
  const auto parsed = parse(text);
  ASSERT_TRUE(parsed) << parsed.error().text << "\n" << text;
  const ClusterConfig& after = parsed->config;
  EXPECT_EQ(after.values, before.values);
  EXPECT_EQ(after.prolog, before.prolog);
  EXPECT_EQ(after.controllers, before.controllers);
  EXPECT_EQ(after.nodes, before.nodes);
  EXPECT_EQ(after.node_sets, before.node_sets);
  EXPECT_EQ(after.down_nodes, before.down_nodes);
  EXPECT_EQ(after.partitions, before.partitions);
  EXPECT_NE(text.find("\n#WaitTime=0\n"), std::string::npos)
      << "what is not set stands there with its default";
}

}  // namespace
}  // namespace sluice::tables
