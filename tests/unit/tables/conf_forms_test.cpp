// The ways in which the files of real sites write values: each is what slurmctld takes.
#include <gtest/gtest.h>

#include "unit/tables/conf_support.hpp"

namespace sluice::tables {
namespace {

using Words = std::vector<std::string>;

TEST(ConfForms, NamesOfPluginsNeedNoKind) {
  EXPECT_EQ(config_of("TaskPlugin=affinity,cgroup\n").task_plugin, (Words{"task/affinity", "task/cgroup"}));
  EXPECT_EQ(config_of("TaskPlugin=task/cgroup,affinity\n").task_plugin, (Words{"task/cgroup", "task/affinity"}));
  EXPECT_EQ(config_of("ProctrackType=cgroup\n").proctrack_type, "proctrack/cgroup");
  EXPECT_EQ(config_of("SelectType=cons_tres\n").select_type, "select/cons_tres");
  EXPECT_EQ(config_of("AuthType=munge\n").auth_type, "auth/munge");
  EXPECT_EQ(config_of("SchedulerType=backfill\nPriorityType=multifactor\n").priority_type, "priority/multifactor");
  EXPECT_EQ(config_of("PreemptType=partition_prio\n").preempt_type, "preempt/partition_prio");
  EXPECT_EQ(config_of("TopologyPlugin=tree\n").topology_plugin, "topology/tree");
  EXPECT_EQ(config_of("JobAcctGatherType=linux\n").job_acct_gather_type, "jobacct_gather/linux");
  EXPECT_EQ(config_of("JobCompType=filetxt\n").job_comp_type, "jobcomp/filetxt");
  EXPECT_EQ(config_of("JobCompType=none\n").job_comp_type, "");
  EXPECT_EQ(config_of("JobSubmitPlugins=job_submit/all_partitions\n").job_submit_plugins, Words{"all_partitions"});
  EXPECT_NE(error_of("ProctrackType=task/cgroup\n"), "");
  EXPECT_NE(error_of("ProctrackType=nothing\n"), "");
}

TEST(ConfForms, OldNamesAndLists) {
  for (const char* line :
       {"PriorityFlags=FAIR_TREE", "PriorityFlags=FAIR_TREE,MAX_TRES", "DebugFlags=PowerSave,Backfill", "SwitchType=switch/generic",
        "AcctGatherEnergyType=acct_gather_energy/rapl,acct_gather_energy/gpu", "AcctGatherEnergyType=rapl", "TopologyPlugin=topology/hypercube",
        "SlurmctldTimeout=INFINITE", "MinJobAge=INFINITE", "PartitionName=p MaxTime=-1", "MaxStepCount=UNLIMITED", "MaxJobCount=INFINITE", "PriorityWeightAge=1K", "PriorityMaxAge=-1",
        "PartitionName=p GraceTime=INFINITE", "PartitionName=p SuspendTime=-1"}) {
    EXPECT_EQ(error_of(std::string(line) + "\n"), "");
  }
  EXPECT_EQ(config_of("PriorityWeightAge=1K\n").priority_weight_age, 1024U);
}

TEST(ConfForms, PowerSavingIsSwitchedOff) {
  for (const char* value : {"-1", "NONE", "INFINITE"}) {
    EXPECT_EQ(config_of(std::string("SuspendTime=") + value + "\n").suspend_time, kNoLimit) << value;
  }
  EXPECT_NE(error_of("SuspendTime=-2\n"), "");
  EXPECT_NE(error_of("KillWait=-1\n"), "");
}

TEST(ConfForms, RangesOfPortsWithoutBrackets) {
  const ClusterConfig config = config_of("NodeName=n[1-3] Port=6821-6823\nNodeName=m[1-2] Port=7001,7003\nNodeName=o[1-2] Port=7005\n");
  std::vector<uint32_t> ports;
  for (const NodeConfig& node : config.nodes) ports.push_back(node.port);
  EXPECT_EQ(ports, (std::vector<uint32_t>{6821, 6822, 6823, 7001, 7003, 7005, 7005}));
  EXPECT_EQ(error_of("NodeName=n[1-3] Port=6821-6822\n"), "/etc/slurm.conf:3: Port=\"[6821-6822]\" has 2 values for 3 nodes; allowed: 1 or 3");
}

TEST(ConfForms, ListsBrokenBehindAComma) {
  EXPECT_EQ(config_of("SchedulerParameters=defer,\\\nrequeue_delay=3\n").scheduler_parameters, (Words{"defer", "requeue_delay=3"}));
}

TEST(ConfForms, BlanksBetweenNodesOfAPartition) {
  EXPECT_EQ(config_of("NodeName=n[1-3]\nPartitionName=p Nodes=\"n1 n[2-3]\"\n").partitions[0].nodes.size(), 3U);
}

}  // namespace
}  // namespace sluice::tables
