// slurm.conf as a whole: values, lines, defaults, and the words of refusals.
#include "common/config/conf_parse.hpp"

#include <gtest/gtest.h>

#include "common/base/text.hpp"
#include "common/wire/codec.hpp"
#include "unit/config/conf_support.hpp"

namespace sluice::tables {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(ConfParse, ReadsGlobalKeysInAnyCase) {
  const ClusterConfig config = config_of(
      "killWAIT=45 SLURMDTIMEOUT=infinite\nPrivateData=Jobs,usage,accounts\nSlurmdDebug=5\n"
      "SchedulerParameters=bf_window=60,defer\nSlurmctldPort=7000-7003\nMaxMemPerCPU=2G\n"
      "PriorityDecayHalfLife=1-0\nPrologFlags=x11\nProlog=/a\nProlog=/b\n"
      "SlurmctldHost=two(10.0.0.2)\nSlurmctldSyslogDebug=verbose\n");
  EXPECT_EQ(config.kill_wait, seconds(45));
  EXPECT_EQ(config.slurmd_timeout, kNoLimit);
  EXPECT_EQ(config.private_data, (std::vector<std::string>{"accounts", "jobs", "usage"}));
  EXPECT_EQ(config.slurmd_debug, DebugLevel::kDebug);
  EXPECT_EQ(config.slurmctld_syslog_debug, DebugLevel::kVerbose);
  EXPECT_EQ(option_value(config.scheduler_parameters, "BF_WINDOW"), "60");
  EXPECT_EQ(config.slurmctld_port, 7000U);
  EXPECT_EQ(config.slurmctld_port_count, 4U);
  EXPECT_EQ(config.max_mem_per_cpu_mib, 2048U);
  EXPECT_EQ(config.priority_decay_half_life, minutes(24 * 60));
  EXPECT_EQ(config.prolog_flags, (std::vector<std::string>{"Alloc", "Contain", "X11"}));
  EXPECT_EQ(config.prolog, (std::vector<std::string>{"/a", "/b"}));
  ASSERT_EQ(config.controllers.size(), 2U);
  EXPECT_EQ(config.controllers[0].address, "vm");
  EXPECT_EQ(config.controllers[1].address, "10.0.0.2");
  EXPECT_EQ(config.values.at("KillWait"), "45");
  EXPECT_EQ(config.values.at("Prolog"), "/a,/b");
}

TEST(ConfParse, TakesTheUnitOfAutobind) {
  const ClusterConfig config = config_of("TaskPluginParam=verbose,autobind=cores\n");
  EXPECT_EQ(option_value(config.task_plugin_param, "Autobind"), "Cores");
  EXPECT_TRUE(has_option(config.task_plugin_param, "Verbose"));
  EXPECT_TRUE(config.without_effect.empty());
  EXPECT_NE(error_of("TaskPluginParam=Autobind=boards\n"), "");
}

TEST(ConfParse, FillsDefaultsOfLists) {
  const ClusterConfig config = config_of("");
  EXPECT_EQ(config.select_type_parameters, std::vector<std::string>{"CR_CORE_MEMORY"});
  EXPECT_EQ(config.propagate_resource_limits, std::vector<std::string>{"ALL"});
  EXPECT_EQ(config.health_check_node_state, std::vector<std::string>{"ANY"});
  EXPECT_EQ(config.accounting_storage_tres.size(), 8U);
  EXPECT_EQ(config_of("AccountingStorageTRES=gres/gpu\n").accounting_storage_tres.back(),
            "gres/gpuutil");
  EXPECT_TRUE(config.without_effect.empty());
}

TEST(ConfParse, ExpandsNodesWithTheirOwnParts) {
  const ClusterConfig config = config_of(
      "SlurmdPort=7000\nNodeName=DEFAULT RealMemory=4096 Feature=fast,big Weight=3\n"
      "NodeName=n[1-2,10] NodeHostname=vm NodeAddr=127.0.0.1 Port=[16900-16902] CPUs=8\n"
      "NodeName=m1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 Weight=1 State=FUTURE\n");
  ASSERT_EQ(config.nodes.size(), 4U);
  const NodeConfig& n10 = config.nodes[2];
  EXPECT_EQ(n10.name, "n10");
  EXPECT_EQ(n10.hostname, "vm");
  EXPECT_EQ(n10.address, "127.0.0.1");
  EXPECT_EQ(n10.port, 16902U);
  EXPECT_EQ(n10.cpus, 8U);
  EXPECT_EQ(n10.sockets, 8U);
  EXPECT_EQ(n10.real_memory_mib, 4096U);
  EXPECT_EQ(n10.weight, 3U);
  const NodeConfig& m1 = config.nodes[3];
  EXPECT_EQ(m1.cpus, 16U);
  EXPECT_EQ(m1.port, 7000U);
  EXPECT_EQ(m1.address, "m1");
  EXPECT_EQ(m1.state, ConfiguredNodeState::kFuture);
  EXPECT_EQ(m1.features, (std::vector<std::string>{"fast", "big"}));
  EXPECT_EQ(m1.weight, 1U);
}

TEST(ConfParse, CountsCpusAsCoresOrThreads) {
  EXPECT_TRUE(config_of("NodeName=n CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n")
                  .nodes[0]
                  .cpus_are_cores());
  EXPECT_EQ(config_of("NodeName=n CPUs=16 CoresPerSocket=4 ThreadsPerCore=2\n").nodes[0].sockets,
            2U);
  EXPECT_EQ(config_of("NodeName=n Boards=2 SocketsPerBoard=2 CoresPerSocket=4\n").nodes[0].cpus,
            16U);
  EXPECT_EQ(error_of("NodeName=n CPUs=5 Sockets=1 CoresPerSocket=2 ThreadsPerCore=2\n"),
            "/etc/slurm.conf:3: CPUs=5 is not valid; allowed: Sockets (1), Sockets*CoresPerSocket "
            "(2) or Sockets*CoresPerSocket*ThreadsPerCore (4)");
}

TEST(ConfParse, ReadsPartitions) {
  const ClusterConfig config = config_of(
      "NodeName=n[1-4] Feature=x\nNodeName=g1\nNodeSet=plain Feature=x\nNodeSet=two Nodes=n[1-2]\n"
      "PartitionName=DEFAULT MaxTime=60 State=DOWN DefMemPerCPU=100\n"
      "PartitionName=a Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:2 AllowGroups=hpc,staff\n"
      "PartitionName=b Nodes=g1,two MaxTime=UNLIMITED DefaultTime=1:30 PreemptMode=SUSPEND,GANG "
      "AllowGroups=ALL ExclusiveUser=YES Priority=7\n"
      "DownNodes=n[3-4] State=DRAIN Reason=\"power supply\"\n");
  ASSERT_EQ(config.partitions.size(), 2U);
  const PartitionConfig& a = config.partitions[0];
  EXPECT_TRUE(a.is_default);
  EXPECT_EQ(a.nodes.size(), 5U);
  EXPECT_EQ(a.node_sets, std::vector<std::string>{"ALL"});
  EXPECT_EQ(a.max_time, 60U);
  EXPECT_EQ(a.over_subscribe, OverSubscribe::kForce);
  EXPECT_EQ(a.over_subscribe_count, 2U);
  EXPECT_EQ(a.allow_groups, (std::vector<std::string>{"hpc", "staff"}));
  const PartitionConfig& b = config.partitions[1];
  EXPECT_EQ(b.nodes, (std::vector<std::string>{"n1", "n2", "g1"}));
  EXPECT_EQ(b.max_time, kInfiniteMinutes);
  EXPECT_EQ(b.default_time, 2U);
  EXPECT_EQ(b.state, PartitionState::kDown);
  EXPECT_EQ(b.preempt_mode, PreemptMode::kSuspend);
  EXPECT_TRUE(b.preempt_gang);
  EXPECT_EQ(b.exclusive, ExclusiveMode::kUser);
  EXPECT_EQ(b.priority_tier, 7U);
  EXPECT_EQ(b.def_mem_per_cpu_mib, 100U);
  EXPECT_EQ(config.node_sets[0].nodes.size(), 4U);
  ASSERT_EQ(config.down_nodes.size(), 1U);
  EXPECT_EQ(config.down_nodes[0].nodes, (std::vector<std::string>{"n3", "n4"}));
  EXPECT_EQ(config.down_nodes[0].state, ConfiguredNodeState::kDrain);
}

TEST(ConfParse, JobDefaultsIsTheTwoKeysOfGpus) {
  const ClusterConfig config = config_of(
      "NodeName=n1\nPartitionName=gpus Nodes=ALL JobDefaults=DefMemPerGPU=9,DefCpuPerGPU=3\n");
  const PartitionConfig& partition = config.partitions.back();
  EXPECT_EQ(partition.def_cpu_per_gpu, 3U);
  EXPECT_EQ(partition.def_mem_per_gpu_mib, 9U);
  EXPECT_EQ(partition.job_defaults, "DefCpuPerGPU=3,DefMemPerGPU=9");
  for (const char* bad : {"DefCpuPerGPU", "DefCpuPerGPU=x", "DefGpuPerCPU=2"}) {
    EXPECT_NE(
        error_of(std::string("NodeName=n1\nPartitionName=gpus Nodes=ALL JobDefaults=") + bad + "\n")
            .find("JobDefaults"),
        std::string::npos)
        << bad;
  }
}

TEST(ConfParse, RefusesWithPlaceKeyAndWhatIsAllowed) {
  EXPECT_EQ(error_of("\nKilWait=3\n"),
            "/etc/slurm.conf:4: unknown key \"KilWait\"; did you mean \"KillWait\"?");
  EXPECT_EQ(error_of("ReturnToService=3\n"),
            "/etc/slurm.conf:3: ReturnToService=\"3\" is not valid; allowed: a number from 0 to 2");
  EXPECT_EQ(error_of("SlurmdTimeout=-1\n").substr(0, 54),
            "/etc/slurm.conf:3: SlurmdTimeout=\"-1\" is not valid; al");
  EXPECT_EQ(error_of("EnforcePartLimits=some\n"),
            "/etc/slurm.conf:3: EnforcePartLimits=\"some\" is not valid; allowed: one of NO, ANY, "
            "ALL, YES, 0, 1");
  EXPECT_EQ(error_of("PrivateData=jobs,any\n").substr(0, 68),
            "/etc/slurm.conf:3: PrivateData=\"jobs,any\" is not valid; allowed: a c");
  EXPECT_EQ(error_of("NodeName=n1 Cpu=3\n"),
            "/etc/slurm.conf:3: unknown key \"Cpu\" in a NodeName line; did you mean \"CPUs\"?");
  EXPECT_EQ(error_of("NodeName=n[1-3]\nNodeName=n2\n"),
            "/etc/slurm.conf:4: node \"n2\" is there already");
  EXPECT_EQ(error_of("NodeName=n[1-3] Port=[1-2]\n"),
            "/etc/slurm.conf:3: Port=\"[1-2]\" has 2 values for 3 nodes; allowed: 1 or 3");
  EXPECT_EQ(error_of("PartitionName=a Nodes=n9\n"),
            "/etc/slurm.conf:3: partition \"a\": unknown node \"n9\"");
  EXPECT_EQ(error_of("PartitionName=a\nPartitionName=a\n"),
            "/etc/slurm.conf:4: partition \"a\" is there already");
  EXPECT_EQ(error_of("NodeName=n Gres=gpu:2\n"),
            "/etc/slurm.conf:3: Gres=\"gpu:2\" names \"gpu\", which is not in GresTypes");
  EXPECT_EQ(error_of("SlurmctldHost=vm\n").substr(0, 43),
            "/etc/slurm.conf:3: SlurmctldHost=\"vm\" is no");
  EXPECT_EQ(parse("ClusterName=x\n").error().text,
            "/etc/slurm.conf: SlurmctldHost is not set; one line of it is wanted");
  EXPECT_EQ(parse("SlurmctldHost=x\n").error().text, "/etc/slurm.conf: ClusterName is not set");
}

TEST(ConfParse, TellsAllThatIsWrongWithALine) {
  EXPECT_EQ(
      error_of("KillWait=abc WaitTime=5 min ReturnToService=x\n"),
      "/etc/slurm.conf:3: KEY=VALUE is wanted at \"min ReturnToService=x\"\n"
      "/etc/slurm.conf:3: KillWait=\"abc\" is not valid; allowed: a number of seconds from 0 to 65533\n"
      "/etc/slurm.conf:3: ReturnToService=\"x\" is not valid; allowed: a number from 0 to 2");
  EXPECT_EQ(error_of("NodeName=n1 Cpu=3 State=GONE Port=a\n").find("Cpu"), 32U);
  const auto lines_in = [](const std::string& text) { return split(text, '\n').size(); };
  EXPECT_EQ(lines_in(error_of("NodeName=n1 Cpu=3 State=GONE Port=a\n")), 3U)
      << error_of("NodeName=n1 Cpu=3 State=GONE Port=a\n");
  EXPECT_EQ(lines_in(error_of("these words are no keys\n")), 1U);
  EXPECT_EQ(error_of("NodeName=n1\nPartitionName=a Nodes=n[1-3],m\n"),
            "/etc/slurm.conf:4: partition \"a\": unknown nodes \"n[2-3],m\"");
}

TEST(ConfParse, TellsOfEveryLineOnceWhereAllIsWanted) {
  std::vector<std::string> errors;
  const auto lines = lines_of(
      "ClusterName=demo\nSlurmctldHost=vm\nNodeName=n1 CPUs=x State=GONE\nNodeName=n2 Port=[1-2]\n"
      "PartitionName=a Nodes=n1,n2\nPartitionName=b Nodes=n8 MinNodes=3 MaxNodes=2\nPartitionName=c Nodes=n9 Alternate=d\n");
  ASSERT_TRUE(lines);
  (void)parse_all_of_slurm_conf(*lines, errors);
  const std::vector<std::string> begins = {":3: CPUs=\"x\"",
                                           ":3: State=\"GONE\"",
                                           ":4: Port=\"[1-2]\"",
                                           ":6: partition \"b\": MinNodes=3",
                                           ":6: partition \"b\": unknown node \"n8\"",
                                           ":7: partition \"c\": unknown node \"n9\"",
                                           ":7: partition \"c\": unknown partition \"d\""};
  ASSERT_EQ(errors.size(), begins.size()) << join(errors, "\n");
  for (size_t i = 0; i < begins.size(); ++i)
    EXPECT_TRUE(errors[i].starts_with("/etc/slurm.conf" + begins[i])) << errors[i];
}

TEST(ConfParse, ChecksListsWithRulesOfTheirOwn) {
  EXPECT_EQ(config_of("Licenses=matlab:10,ansys@server:5,fan\n").licenses,
            "matlab:10,ansys@server:5,fan");
  EXPECT_NE(error_of("Licenses=matlab:many\n"), "");
  EXPECT_EQ(config_of("RequeueExit=1-9,18\n").requeue_exit, "1-9,18");
  EXPECT_EQ(error_of("RequeueExit=9-1\n"),
            "/etc/slurm.conf:3: RequeueExit=\"9-1\" is not valid; allowed: a comma-separated list "
            "of exit codes from 0 to 255 and ranges such as 1-9");
  EXPECT_NE(error_of("RequeueExitHold=256\n"), "");
  EXPECT_EQ(config_of("MessageTimeout=20\n").unkillable_step_timeout, seconds(100));
  EXPECT_EQ(config_of("MaxArraySize=0\nLogTimeFormat=short,format_stderr\n").log_time_format,
            "short,format_stderr");
}

TEST(ConfParse, NamesWhatHasNoEffectOnce) {
  const ClusterConfig config = config_of(
      "MCSPlugin=mcs/user\nPreemptType=preempt/none\nControlMachine=old\n"
      "NodeName=n[1-2] TRESWeights=x\nNodeName=m TRESWeights=x\nSchedulerParameters=bf_busy_nodes,foo=3,requeue_delay=1\n"
      "PartitionName=o Nodes=m AllowAccounts=a DenyQos=q ReqResv=YES\n");
  EXPECT_EQ(
      config.without_effect,
      (std::vector<std::string>{"ControlMachine", "MCSPlugin", "NodeName.TRESWeights",
                                "PartitionName.AllowAccounts", "PartitionName.DenyQos",
                                "SchedulerParameters=bf_busy_nodes", "SchedulerParameters=foo"}));
}

TEST(ConfParse, NamesOfSomeKeysOnlyValuesThatDoNothing) {
  const auto idle = [](const std::string& line) { return config_of(line + "\n").without_effect; };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(idle("AccountingStorageType=accounting_storage/none"), Keys{});
  EXPECT_EQ(idle("AccountingStorageType=accounting_storage/slurmdbd"), Keys{});
  EXPECT_EQ(idle("JobCompType=jobcomp/filetxt"), Keys{});
  EXPECT_EQ(idle("JobCompType=jobcomp/lua"), Keys{"JobCompType=jobcomp/lua"});
  EXPECT_EQ(idle("PreemptMode=OFF"), Keys{});
  EXPECT_EQ(idle("PreemptType=preempt/qos\nPreemptMode=REQUEUE"), Keys{});
  EXPECT_EQ(idle("PreemptType=preempt/qos\nPreemptMode=SUSPEND,GANG"), Keys{});
  EXPECT_EQ(idle("PreemptType=preempt/qos\nPreemptMode=REQUEUE,WITHIN"), Keys{});
  EXPECT_EQ(idle("PreemptParameters=strict_order,suspend_grace_time=3,youngest_first"),
            Keys{"PreemptParameters=suspend_grace_time"});
  EXPECT_EQ(idle("PrivateData=jobs,nodes"), Keys{});
  EXPECT_EQ(idle("PrivateData=usage,jobs"), Keys{"PrivateData=usage"});
  EXPECT_EQ(idle("SchedulerParameters=correspond_after_task_cnt=20,step_retry_count=9"), Keys{});
  EXPECT_EQ(idle("TopologyPlugin=topology/tree"), Keys{});
  EXPECT_EQ(idle("TopologyPlugin=topology/block"), Keys{});
  EXPECT_EQ(idle("LogTimeFormat=rfc5424_ms"), Keys{});
  EXPECT_EQ(idle("DebugFlags=Steps,TraceJobs"), Keys{});
  EXPECT_EQ(idle("DebugFlags=Steps,Gang"), Keys{"DebugFlags=Gang"});
}

TEST(ConfParse, WarnsOfWhatIsSetTwice) {
  const auto parsed = parse(std::string(kSmallest) + "KillWait=3\nKillWait=4\n");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->config.kill_wait, seconds(4));
  EXPECT_EQ(parsed->warnings, std::vector<std::string>{
                                  "/etc/slurm.conf:4: KillWait is set more than once, this value "
                                  "is used"});
}

TEST(ConfParse, TravelsUnchanged) {
  const ClusterConfig config =
      config_of("NodeName=n[1-4] Feature=a\nPartitionName=p Nodes=ALL DefaultTime=5\nKillWait=9\n");
  const auto back = wire::decode<ClusterConfig>(wire::encode(config));
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back == config);
}

TEST(ConfParse, NamesWhatOfGresConfHasNoEffect) {
  auto parsed = parse(std::string(kSmallest) + "GresTypes=gpu,shard\n");
  ASSERT_TRUE(parsed);
  const std::string lines =
      "AutoDetect=rsmi\nName=gpu File=/dev/a Flags=explicit,nvidia_gpu_env AutoDetect=rsmi\n"
      "Name=shard Count=4 Flags=one_sharing\n";
  ASSERT_TRUE(parse_gres_conf(*lines_of(lines), *parsed));
  EXPECT_EQ(parsed->config.without_effect,
            (std::vector<std::string>{"gres.conf.AutoDetect=rsmi", "gres.conf.Flags=explicit"}));
}

TEST(ConfParse, ReadsCgroupAndGresFiles) {
  auto parsed = parse(std::string(kSmallest) + "GresTypes=gpu\n");
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(parse_cgroup_conf(
      *lines_of("ConstrainCores=yes\nAllowedRAMSpace=95.5\nMaxPids=60\nMemorySwappiness=7\n"),
      *parsed));
  EXPECT_EQ(parsed->config.cgroup.memory_swappiness, 7U);
  EXPECT_EQ(parsed->config.cgroup.max_pids, 60U);
  ASSERT_TRUE(parse_mpi_conf(*lines_of("PMIxTimeout=20\nPMIxEnv=A=1;B=2\n"), *parsed));
  EXPECT_EQ(parsed->config.mpi.pmix_timeout_s, 20U);
  EXPECT_EQ(parsed->config.mpi.pmix_environment, "A=1;B=2");
  EXPECT_TRUE(parsed->config.cgroup.constrain_cores);
  EXPECT_DOUBLE_EQ(parsed->config.cgroup.allowed_ram_percent, 95.5);
  ASSERT_TRUE(parse_gres_conf(*lines_of("AutoDetect=off\nNodeName=n[1-2] Name=gpu Type=a100 "
                                        "File=/dev/nvidia[0-3] Cores=0-7\nName=fan Count=2K\n"),
                              *parsed));
  ASSERT_EQ(parsed->config.gres_lines.size(), 3U);
  const GresConfigLine& gpu = parsed->config.gres_lines[1];
  EXPECT_EQ(gpu.count, 4U);
  EXPECT_EQ(gpu.files.back(), "/dev/nvidia3");
  EXPECT_EQ(gpu.nodes.size(), 2U);
  EXPECT_EQ(parsed->config.gres_lines[2].count, 2048U);
  EXPECT_EQ(parsed->warnings.size(), 1U);
  EXPECT_EQ(parse_gres_conf(*lines_of("Name=gpu Count=3 File=/dev/a[0-1]\n"), *parsed).error().text,
            "/etc/slurm.conf:1: Count=3 does not match the 2 files");
}

TEST(ConfParse, ReadsTheFilesOfOneUnit) {
  auto parsed = parse(std::string(kSmallest) + "GresTypes=gpu\n");
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(parse_gres_conf(*lines_of("Name=gpu MultipleFiles=/dev/a[0-1]\n"), *parsed));
  EXPECT_EQ(parsed->config.gres_lines[0].multiple_files,
            (std::vector<std::string>{"/dev/a0", "/dev/a1"}));
  EXPECT_EQ(parsed->config.gres_lines[0].count, 1U);
  EXPECT_FALSE(
      parse_gres_conf(*lines_of("Name=gpu File=/dev/b MultipleFiles=/dev/a[0-1]\n"), *parsed));
}

TEST(ConfParse, ReadsResvOverRun) {
  EXPECT_EQ(config_of("").resv_over_run, 0U);
  EXPECT_EQ(config_of("ResvOverRun=5\n").resv_over_run, 5U);
  EXPECT_EQ(config_of("ResvOverRun=UNLIMITED\n").resv_over_run, kInfiniteMinutes);
}

TEST(ConfParse, ReadsTheFoldersOfJobs) {
  auto parsed = parse(std::string(kSmallest) + "JobContainerType=job_container/tmpfs\n");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->config.job_container_type, "job_container/tmpfs");
  ASSERT_TRUE(parse_container_conf(
      *lines_of(
          "AutoBasePath=true\nBasePath=/local/%n\nInitScript=/etc/init\nNodeName=n[1-2] BasePath=none Shared=true\n"
          "NodeName=n3 BasePath=/fast Dirs=/tmp,/var/tmp AutoBasePath=no InitScript=\n"),
      *parsed));
  const auto& lines = parsed->config.job_containers;
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].nodes.empty() && lines[0].auto_base_path && lines[1].auto_base_path);
  EXPECT_EQ(lines[0].base_path, "/local/%n");
  EXPECT_EQ(lines[1].nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(lines[1].init_script, "/etc/init");
  EXPECT_TRUE(lines[1].shared && !lines[0].shared && !lines[2].shared);
  EXPECT_EQ(lines[2].folders, (std::vector<std::string>{"/tmp", "/var/tmp"}));
  EXPECT_FALSE(lines[2].auto_base_path);
  EXPECT_FALSE(parse_container_conf(*lines_of("Base=/x\n"), *parsed));
}

TEST(ConfParse, ReadsTheHelpersOfFeatures) {
  const std::string nodes =
      "NodeName=n[1-2] CPUs=2 Feature=fast,nps1\nNodeName=n3 CPUs=2\nPartitionName=p Nodes=ALL\n";
  const std::string helpers =
      "AllowUserBoot=root,1001\nBootTime=60\nExecTime=5\nMutuallyExclusive=nps1,nps4\nMutuallyExclusive=a,b\n"
      "Feature=nps1,nps4 Helper=/usr/local/nps\nNodeName=n[2-3] Feature=mig Helper=/usr/local/mig Flags=rebootless\n";
  auto parsed = parse(kSmallest + ("NodeFeaturesPlugins=node_features/helpers\n" + nodes));
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(parse_helpers_conf(*lines_of(helpers), *parsed));
  const ClusterConfig& config = parsed->config;
  using Words = std::vector<std::string>;
  EXPECT_EQ(config.helpers.allow_user_boot, (Words{"root", "1001"}));
  EXPECT_EQ(config.helpers.exclusive, (Words{"nps1,nps4", "a,b"}));
  EXPECT_EQ(config.helpers.boot_time, std::chrono::seconds(60));
  EXPECT_EQ(config.helpers.exec_time, std::chrono::seconds(5));
  ASSERT_EQ(config.helpers.helpers.size(), 2U);
  EXPECT_TRUE(!config.helpers.helpers[0].rebootless && config.helpers.helpers[1].rebootless);
  // a node has what its helpers manage; without a RebootProgram it changes only what needs no
  // reboot
  EXPECT_EQ(config.nodes[0].features, (Words{"fast", "nps1", "nps4"}));
  EXPECT_EQ(config.nodes[1].features, (Words{"fast", "nps1", "nps4", "mig"}));
  EXPECT_EQ(config.nodes[0].changeable_features, Words());
  EXPECT_EQ(config.nodes[1].changeable_features, Words{"mig"});
  auto reboots =
      parse(kSmallest +
            ("NodeFeaturesPlugins=node_features/helpers\nRebootProgram=/sbin/reboot\n" + nodes));
  ASSERT_TRUE(reboots && parse_helpers_conf(*lines_of(helpers), *reboots));
  EXPECT_EQ(reboots->config.nodes[0].changeable_features, (Words{"nps1", "nps4"}));
  auto without = parse(kSmallest + nodes);
  ASSERT_TRUE(without && parse_helpers_conf(*lines_of(helpers), *without));
  EXPECT_TRUE(without->config.helpers.helpers.empty());
  EXPECT_EQ(without->warnings.size(), 1U);
  EXPECT_EQ(parse_helpers_conf(*lines_of("Feature=a\n"), *parsed).error().text,
            "/etc/slurm.conf:1: Helper= is wanted");
  EXPECT_FALSE(parse_helpers_conf(*lines_of("Feature=a Helper=/x Flags=warm\n"), *parsed));
}

TEST(ConfParse, HelpersPutNodesIntoNodeSets) {
  auto parsed = parse(
      kSmallest + std::string("NodeFeaturesPlugins=node_features/helpers\nNodeName=n[1-4] CPUs=2\n"
                              "NodeSet=split Feature=mig Nodes=n4\nNodeSet=fixed Nodes=n1\n"
                              "DownNodes=split State=DOWN\nDownNodes=fixed State=DRAIN\n"
                              "PartitionName=p Nodes=n1,split\nPartitionName=q Nodes=fixed\n"));
  ASSERT_TRUE(parsed);
  const ClusterConfig& config = parsed->config;
  using Words = std::vector<std::string>;
  EXPECT_EQ(config.partitions[0].nodes, (Words{"n1", "n4"}));
  ASSERT_TRUE(parse_helpers_conf(*lines_of("NodeName=n[2-3] Feature=mig Helper=/usr/local/mig\n"),
                                 *parsed));
  EXPECT_EQ(config.node_sets[0].nodes, (Words{"n2", "n3", "n4"}));
  EXPECT_EQ(config.node_sets[1].nodes, Words{"n1"});
  EXPECT_EQ(config.partitions[0].nodes, (Words{"n1", "n2", "n3", "n4"}));
  EXPECT_EQ(config.partitions[0].node_sets, Words{"split"});
  EXPECT_EQ(config.partitions[1].nodes, Words{"n1"});
  EXPECT_EQ(config.down_nodes[0].nodes, (Words{"n2", "n3", "n4"}));
  EXPECT_EQ(config.down_nodes[1].nodes, Words{"n1"});
}

TEST(ConfParse, WithoutAWordOnPrioritiesWhoCameFirstGoesFirst) {
  EXPECT_EQ(config_of("").priority_type, "priority/basic");
  EXPECT_EQ(config_of("PriorityWeightAge=0\n").priority_type, "priority/multifactor");
  EXPECT_EQ(config_of("PriorityType=priority/multifactor\n").priority_type, "priority/multifactor");
}

}  // namespace
}  // namespace sluice::tables
