// The ways in which the files of real sites write values: each is what slurmctld takes.
#include <gtest/gtest.h>

#include "unit/config/conf_support.hpp"

namespace sluice::tables {
namespace {

using Words = std::vector<std::string>;

TEST(ConfForms, NamesOfPluginsNeedNoKind) {
  EXPECT_EQ(config_of("TaskPlugin=affinity,cgroup\n").task_plugin,
            (Words{"task/affinity", "task/cgroup"}));
  EXPECT_EQ(config_of("TaskPlugin=task/cgroup,affinity\n").task_plugin,
            (Words{"task/cgroup", "task/affinity"}));
  EXPECT_EQ(config_of("ProctrackType=cgroup\n").proctrack_type, "proctrack/cgroup");
  EXPECT_EQ(config_of("SelectType=cons_tres\n").select_type, "select/cons_tres");
  EXPECT_EQ(config_of("AuthType=munge\n").auth_type, "auth/munge");
  EXPECT_EQ(config_of("SchedulerType=backfill\nPriorityType=multifactor\n").priority_type,
            "priority/multifactor");
  EXPECT_EQ(config_of("PreemptType=partition_prio\nPreemptMode=CANCEL\n").preempt_type,
            "preempt/partition_prio");
  EXPECT_EQ(config_of("TopologyPlugin=tree\n").topology_plugin, "topology/tree");
  EXPECT_EQ(config_of("JobAcctGatherType=linux\n").job_acct_gather_type, "jobacct_gather/linux");
  EXPECT_EQ(config_of("JobCompType=filetxt\n").job_comp_type, "jobcomp/filetxt");
  EXPECT_EQ(config_of("JobCompType=none\n").job_comp_type, "");
  EXPECT_EQ(config_of("JobSubmitPlugins=job_submit/all_partitions\n").job_submit_plugins,
            Words{"all_partitions"});
  EXPECT_NE(error_of("ProctrackType=task/cgroup\n"), "");
  EXPECT_NE(error_of("ProctrackType=nothing\n"), "");
}

TEST(ConfForms, OldNamesAndLists) {
  for (const char* line :
       {"PriorityFlags=FAIR_TREE", "PriorityFlags=FAIR_TREE,MAX_TRES",
        "DebugFlags=PowerSave,Backfill", "SwitchType=switch/generic",
        "AcctGatherEnergyType=acct_gather_energy/rapl,acct_gather_energy/gpu",
        "AcctGatherEnergyType=rapl", "TopologyPlugin=topology/hypercube",
        "SlurmctldTimeout=INFINITE", "MinJobAge=INFINITE", "PartitionName=p MaxTime=-1",
        "MaxStepCount=UNLIMITED", "MaxJobCount=INFINITE", "PriorityWeightAge=1K",
        "PriorityMaxAge=-1", "PartitionName=p GraceTime=INFINITE",
        "PartitionName=p SuspendTime=-1"}) {
    EXPECT_EQ(error_of(std::string(line) + "\n"), "");
  }
  EXPECT_EQ(config_of("PriorityWeightAge=1K\n").priority_weight_age, 1024U);
}

TEST(ConfForms, PowerSavingIsSwitchedOff) {
  for (const char* value : {"-1", "NONE", "INFINITE"}) {
    EXPECT_EQ(config_of(std::string("SuspendTime=") + value + "\n").suspend_time, kNoLimit)
        << value;
  }
  EXPECT_NE(error_of("SuspendTime=-2\n"), "");
  EXPECT_NE(error_of("KillWait=-1\n"), "");
}

TEST(ConfForms, NumbersOfOldSpellings) {
  EXPECT_EQ(config_of("EnforcePartLimits=1\n").enforce_part_limits, EnforcePartLimits::kAny);
  EXPECT_EQ(config_of("EnforcePartLimits=yes\n").enforce_part_limits, EnforcePartLimits::kAny);
  EXPECT_EQ(config_of("EnforcePartLimits=0\n").enforce_part_limits, EnforcePartLimits::kNo);
  EXPECT_EQ(config_of("AccountingStorageEnforce=1\n").accounting_storage_enforce,
            Words{"associations"});
  EXPECT_EQ(config_of("AccountingStorageEnforce=2\n").accounting_storage_enforce,
            (Words{"associations", "limits"}));
  EXPECT_EQ(config_of("KillWait=+30\n").kill_wait, std::chrono::seconds(30));
  EXPECT_EQ(config_of("MaxJobCount=0x100\n").max_job_count, 256U);
  EXPECT_EQ(config_of("MaxJobCount=010\n").max_job_count, 8U);
  for (const char* bad : {"MaxJobCount=0x", "MaxJobCount=08", "MaxJobCount=1e3", "MaxJobCount=10KB",
                          "KillWait=30s", "KillWait=00:05", "KillWait=+"}) {
    EXPECT_NE(error_of(std::string(bad) + "\n"), "") << bad;
  }
}

TEST(ConfForms, AllAndNoneOfPrivateData) {
  EXPECT_EQ(config_of("PrivateData=all\n").private_data.size(), 9U);
  EXPECT_EQ(config_of("PrivateData=cloud,ALL\n").private_data.size(), 9U);
  EXPECT_EQ(config_of("PrivateData=none\n").private_data, Words{});
  EXPECT_EQ(config_of("PrivateData=none,jobs\n").private_data, Words{"jobs"});
  EXPECT_EQ(config_of("PrivateData=none\n").without_effect, Words{});
  EXPECT_EQ(config_of("PrivateData=all\n").without_effect, Words{"PrivateData=all"});
}

TEST(ConfForms, AnyCountMayBeInfinite) {
  for (const char* key :
       {"WaitTime", "CompleteWait", "TreeWidth", "KillWait", "MessageTimeout", "BatchStartTimeout",
        "UnkillableStepTimeout", "SuspendTimeout", "ResumeRate", "GroupUpdateTime",
        "HealthCheckInterval", "TCPTimeout", "EioTimeout", "MaxTasksPerNode", "SchedulerTimeSlice",
        "AcctGatherNodeFreq", "PriorityDecayHalfLife", "MaxBatchRequeue"}) {
    EXPECT_EQ(error_of(std::string(key) + "=INFINITE\n"), "") << key;
    EXPECT_EQ(error_of(std::string(key) + "=unlimited\n"), "") << key;
    EXPECT_NE(error_of(std::string(key) + "=-1\n"),
              std::string(key) == "PriorityDecayHalfLife" ? "x" : "")
        << key;
  }
  EXPECT_EQ(config_of("WaitTime=INFINITE\n").wait_time, std::chrono::seconds(65535));
  EXPECT_EQ(config_of("TreeWidth=INFINITE\n").tree_width, 65535U);
  for (const char* bad : {"ReturnToService=INFINITE", "SlurmdPort=INFINITE",
                          "MaxArraySize=INFINITE", "FirstJobId=INFINITE"}) {
    EXPECT_NE(error_of(std::string(bad) + "\n"), "") << bad;
  }
}

TEST(ConfForms, ThousandsOfMegabytes) {
  EXPECT_EQ(config_of("NodeName=n1 RealMemory=10K TmpDisk=2k\n").nodes[0].real_memory_mib, 10240U);
  EXPECT_EQ(config_of("DefMemPerCPU=4K\n").def_mem_per_cpu_mib, 4096U);
  EXPECT_EQ(config_of("DefMemPerCPU=4G\n").def_mem_per_cpu_mib, 4096U);
  EXPECT_NE(error_of("DefMemPerCPU=1.5G\n"), "");
}

TEST(ConfForms, ListsOfControllers) {
  const auto hosts =
      config_of("SlurmctldHost=head[1-2](10.0.0.[1-2])\nSlurmctldHost=spare[1-2]\n").controllers;
  ASSERT_EQ(hosts.size(), 5U);  // the first is the smallest configuration's
  EXPECT_EQ(hosts[2].name + " " + hosts[2].address, "head2 10.0.0.2");
  EXPECT_EQ(hosts[4].name + " " + hosts[4].address, "spare2 spare2");
  for (const char* bad : {"SlurmctldHost=head[1-2](10.0.0.1)", "SlurmctldHost=a,b",
                          "SlurmctldHost=a()", "SlurmctldHost=\"a b\"", "SlurmctldHost=h[1-2,1]"}) {
    EXPECT_NE(error_of(std::string(bad) + "\n"), "") << bad;
  }
}

// 22.05 refuses these as well.
TEST(ConfForms, StatesThatNoFileGives) {
  for (const char* state : {"IDLE*", "DOWN*", "UP", "RESUME", "MAINT", "POWER_DOWN", "UNKNOWN*"}) {
    EXPECT_NE(error_of(std::string("NodeName=n1 State=") + state + "\n"), "") << state;
  }
}

TEST(ConfForms, KeysBlanksAndComments) {
  EXPECT_EQ(config_of("\tkillwait\t=\t20  \n").kill_wait, std::chrono::seconds(20));
  EXPECT_EQ(config_of("KillWait=20\r\n").kill_wait, std::chrono::seconds(20));
  EXPECT_EQ(config_of("KillWait=2\\\n0\n").kill_wait, std::chrono::seconds(20));
  EXPECT_EQ(config_of("KillWait=20#comment\n").kill_wait, std::chrono::seconds(20));
  EXPECT_EQ(config_of("MaxJobCount=\"20000\" # comment\n").max_job_count, 20000U);
  EXPECT_EQ(config_of("NodeName=n1 CPUs=8 \\\n# comment\nDisableRootJobs=yes\n").disable_root_jobs,
            true);
  EXPECT_EQ(
      config_of("nodename=default cpus=4\nnodename=\"n1\"\nNodeName=DEFAULT CPUs=8\nNodeName=n2\n")
          .nodes[1]
          .cpus,
      8U);
  const ClusterConfig parts = config_of(
      "NodeName=n[1-2]\nPartitionName=DEFAULT MaxTime=60 Nodes=all\nPartitionName=a\nPartitionName=default MaxTime=30\nPartitionName=b\n");
  EXPECT_EQ(parts.partitions[0].max_time, 60U);
  EXPECT_EQ(parts.partitions[1].max_time, 30U);
  EXPECT_EQ(parts.partitions[1].nodes.size(), 2U);
  for (const char* bad :
       {"KillWait=20;", "KillWait: 20", "KillWait", "GresTypes=gpu, mps", "Prolog='/a b'"}) {
    EXPECT_NE(error_of(std::string(bad) + "\n"), "") << bad;
  }
}

TEST(ConfForms, RangesOfPortsWithoutBrackets) {
  const ClusterConfig config = config_of(
      "NodeName=n[1-3] Port=6821-6823\nNodeName=m[1-2] Port=7001,7003\nNodeName=o[1-2] Port=7005\n");
  std::vector<uint32_t> ports;
  for (const NodeConfig& node : config.nodes) ports.push_back(node.port);
  EXPECT_EQ(ports, (std::vector<uint32_t>{6821, 6822, 6823, 7001, 7003, 7005, 7005}));
  EXPECT_EQ(error_of("NodeName=n[1-3] Port=6821-6822\n"),
            "/etc/slurm.conf:3: Port=\"[6821-6822]\" has 2 values for 3 nodes; allowed: 1 or 3");
}

TEST(ConfForms, ListsBrokenBehindAComma) {
  EXPECT_EQ(config_of("SchedulerParameters=defer,\\\nrequeue_delay=3\n").scheduler_parameters,
            (Words{"defer", "requeue_delay=3"}));
}

TEST(ConfForms, BlanksBetweenNodesOfAPartition) {
  EXPECT_EQ(config_of("NodeName=n[1-3]\nPartitionName=p Nodes=\"n1 n[2-3]\"\n")
                .partitions[0]
                .nodes.size(),
            3U);
}

// Values of 22.05 that were refused, and one that it refuses.
TEST(ConfForms, ValuesThatSlurmTakes) {
  for (const char* state : {"DRAIN", "DRAINED", "draining"}) {
    const auto config = config_of(std::string("NodeName=n1 State=") + state + "\n");
    EXPECT_EQ(config.nodes[0].state, ConfiguredNodeState::kDrain) << state;
  }
  EXPECT_TRUE(config_of("KillOnBadExit=2\n").kill_on_bad_exit);
  EXPECT_FALSE(config_of("KillOnBadExit=0\n").kill_on_bad_exit);
  EXPECT_TRUE(config_of("PriorityFlags=0\n").priority_flags.empty());
  EXPECT_TRUE(config_of("PriorityFlags=0\n").without_effect.empty());
}

// The bug: such a value was taken for none, and a bound of tokens' lives for no bound.
TEST(ConfForms, NumbersOfOptionsAreNumbers) {
  const std::pair<const char*, const char*> cases[] = {
      {"AuthAltParameters=", "max_token_lifespan=10m"},
      {"SlurmctldParameters=rl_enable,", "rl_bucket_size=x"},
      {"SchedulerParameters=defer,", "bf_interval=x"},
      {"SchedulerParameters=", "default_queue_depth=-1"},
      {"SchedulerParameters=", "requeue_delay="},
      {"AuthInfo=", "ttl=abc"}};
  for (const auto& [before, option] : cases) {
    const std::string key(before, std::string_view(before).find('='));
    EXPECT_EQ(error_of(std::string(before) + option + "\n"),
              "/etc/slurm.conf:3: " + key + ": " + option +
                  " is not valid; allowed: a number, 0 or more");
  }
  EXPECT_EQ(error_of("SchedulerParameters=bf_interval=60,bf_window=43200,sched_interval=-1\n"), "");
}

TEST(ConfForms, PreemptTypeAndModeGoTogether) {
  for (const char* bad :
       {"PreemptType=preempt/partition_prio\n", "PreemptType=preempt/qos\nPreemptMode=OFF\n",
        "PreemptType=preempt/qos\nPreemptMode=GANG\n", "PreemptMode=CANCEL\n",
        "PreemptType=preempt/none\nPreemptMode=REQUEUE,GANG\n"}) {
    EXPECT_NE(error_of(bad).find("PreemptType and PreemptMode values incompatible"),
              std::string::npos)
        << bad << error_of(bad);
  }
  EXPECT_NE(error_of("PreemptType=preempt/qos\nPreemptMode=SUSPEND\n")
                .find("PreemptMode=SUSPEND requires GANG too"),
            std::string::npos);
  for (const char* good : {"PreemptMode=GANG\n", "PreemptMode=OFF\n", "PreemptType=preempt/none\n",
                           "PreemptType=preempt/qos\nPreemptMode=SUSPEND,GANG\n",
                           "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL,WITHIN\n"})
    EXPECT_EQ(error_of(good), "") << good;
}

}  // namespace
}  // namespace sluice::tables
