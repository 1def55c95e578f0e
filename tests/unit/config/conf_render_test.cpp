// `scontrol show config` against a recorded one, and what a reconfigure may change.
#include "common/config/conf_render.hpp"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "common/config/conf_diff.hpp"
#include "unit/config/conf_support.hpp"

namespace sluice::tables {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

const ConfigReport kReport{.as_of = "2026-11-21T02:49:28",
                           .boot_time = "2026-11-21T02:37:58",
                           .next_job_id = 25,
                           .ping_lines = {"Slurmctld(primary) at vm is UP"}};

TEST(ConfRender, PrintsWhatSlurmPrints) {
  auto parsed = parse(file_text("tests/golden/config/slurm.conf"));
  ASSERT_TRUE(parsed) << parsed.error().text;
  parsed->config.config_path = "/srv/demo/slurm.conf";
  parsed->config.without_effect.clear();  // the marks are Sluice's own
  EXPECT_EQ(render_config(parsed->config, kReport),
            file_text("tests/golden/config/show-config.txt"));
}

TEST(ConfRender, MarksWhatHasNoEffect) {
  auto parsed = parse(
      std::string(kSmallest) +
      "AcctGatherNodeFreq=30\nPrivateData=jobs,users\nSchedulerParameters=defer,requeue_delay=3\n");
  ASSERT_TRUE(parsed) << parsed.error().text;
  const std::string text = render_config(parsed->config, kReport);
  for (const char* line : {"\nAcctGatherNodeFreq      = 30 sec  # no effect\n",
                           "\nPrivateData             = jobs,users  # no effect: users\n",
                           "\nKillWait                = 30 sec\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(ConfRender, PrintsValuesInTheirOwnWays) {
  auto parsed =
      parse(std::string(kSmallest) +
            "SlurmdTimeout=INFINITE\nOverTimeLimit=UNLIMITED\nPreemptMode=SUSPEND,GANG\n"
            "PreemptType=preempt/qos\n"
            "PrologEpilogTimeout=70\nSuspendTime=300\nDefCpuPerGPU=3\nProlog=/a\nProlog=/b\n"
            "SrunPortRange=60001-60010\nPrologFlags=Contain\nDebugFlags=backfill,AGENT\n"
            "MaxMemPerCPU=512\nSlurmctldDebug=6\nJobCompPass=secret\n");
  ASSERT_TRUE(parsed) << parsed.error().text;
  ASSERT_TRUE(parse_cgroup_conf(*lines_of("ConstrainCores=yes AllowedRAMSpace=95.5\n"), *parsed));
  parsed->config.without_effect.clear();
  const std::string text = render_config(parsed->config, kReport);
  for (const char* line :
       {"\nSlurmdTimeout           = 65535 sec\n", "\nOverTimeLimit           = UNLIMITED\n",
        "\nPreemptMode             = GANG,SUSPEND\n", "\nPrologEpilogTimeout     = 70\n",
        "\nSuspendTime             = 300 sec\n", "\nJobDefaults             = DefCpuPerGPU=3\n",
        "\nProlog[0]               = /a\nProlog[1]               = /b\n",
        "\nSrunPortRange           = 60001-60010\n", "\nPrologFlags             = Alloc,Contain\n",
        "\nDebugFlags              = Agent,Backfill\n", "\nMaxMemPerCPU            = 512\n",
        "\nSlurmctldDebug          = debug2\n", "\nSlurmctldHost[0]        = vm\n",
        "\nAllowedRAMSpace         = 95.5%\n", "\nMinRAMSpace             = 30 MB\n",
        "\nConstrainCores          = yes\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(text.find("secret"), std::string::npos);
  EXPECT_EQ(text.find("MaxMemPerNode"), std::string::npos);
}

TEST(ConfDiff, NamesWhatChangedAndWhatWaits) {
  const ClusterConfig before = config_of(
      "KillWait=30\nSlurmctldPort=7000\nNodeName=a Weight=1\nNodeName=b\nPartitionName=p "
      "Nodes=a\n");
  ClusterConfig after = config_of(
      "KillWait=60\nSlurmctldPort=7001\nStateSaveLocation=/other\nDisableRootJobs=no\n"
      "NodeName=a Weight=2\nNodeName=c\nPartitionName=p Nodes=a\nPartitionName=q\n");
  const ConfigChanges changes = config_changes(before, after);
  EXPECT_EQ(changes.keys,
            (std::vector<std::string>{"KillWait", "SlurmctldPort", "StateSaveLocation"}));
  EXPECT_EQ(changes.need_restart, (std::vector<std::string>{"SlurmctldPort", "StateSaveLocation"}));
  EXPECT_EQ(changes.nodes_added, std::vector<std::string>{"c"});
  EXPECT_EQ(changes.nodes_removed, std::vector<std::string>{"b"});
  EXPECT_EQ(changes.nodes_changed, std::vector<std::string>{"a"});
  EXPECT_EQ(changes.partitions_added, std::vector<std::string>{"q"});
  EXPECT_TRUE(changes.partitions_changed.empty());

  keep_until_restart(before, after);
  EXPECT_EQ(after.slurmctld_port, 7000U);
  EXPECT_EQ(after.state_save_location, before.state_save_location);
  EXPECT_EQ(after.kill_wait, std::chrono::seconds(60));
  EXPECT_TRUE(config_changes(before, after).need_restart.empty());
}

}  // namespace
}  // namespace sluice::tables
