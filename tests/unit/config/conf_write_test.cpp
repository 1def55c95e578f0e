// scontrol write config: what it writes gives the same configuration again.
#include <gtest/gtest.h>

#include "common/base/text.hpp"
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

// The bug: what a partition says of preemption, binding and root's jobs was left out.
TEST(ConfWrite, EachKeyOfAPartitionIsWritten) {
  const std::string keys =
      "AllocNodes=n1 AllowAccounts=a AllowGroups=g AllowQos=q Alternate=other CpuBind=core "
      "DefaultTime=30 DefCPUPerGPU=2 DefMemPerCPU=100 DefMemPerGPU=70 DisableRootJobs=NO "
      "Exclusive=USER GraceTime=20 Hidden=YES LLN=YES MaxCPUsPerNode=3 MaxCPUsPerSocket=2 "
      "MaxMemPerNode=900 MaxNodes=2 MaxTime=60 MinNodes=1 OverSubscribe=YES:3 OverTimeLimit=5 "
      "PowerDownOnIdle=YES PreemptMode=OFF PriorityJobFactor=7 PriorityTier=8 QOS=q ReqResv=YES "
      "ResumeTimeout=30 RootOnly=YES SelectTypeParameters=CR_CORE State=DOWN SuspendTime=60 "
      "SuspendTimeout=40 Topology=t TRESBillingWeights=CPU=1.0,Mem=0.25G";
  for (const std::string& key : split_list(keys, ' ')) {
    const ClusterConfig before = config_of(
        "NodeName=n[1-2] CPUs=8\nPartitionName=other Nodes=n1\nPartitionName=p Nodes=n1 " + key +
        "\n");
    const auto after = parse(write_config(before, "today"));
    ASSERT_TRUE(after) << key << ": " << after.error().text;
    EXPECT_EQ(after->config.partitions, before.partitions) << key;
    EXPECT_NE(before.partitions[1],
              config_of("NodeName=n[1-2] CPUs=8\nPartitionName=other Nodes=n1\n"
                        "PartitionName=p Nodes=n1\n")
                  .partitions[1])
        << key << " says what is usual";
  }
}

}  // namespace
}  // namespace sluice::tables
