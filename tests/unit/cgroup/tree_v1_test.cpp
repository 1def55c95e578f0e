#include <gtest/gtest.h>

#include "common/cgroup/tree.hpp"
#include "unit/cgroup/fake_mount.hpp"

namespace sluice::cgroup {
namespace {

using testing::FakeMount;

constexpr const char* kStep = "uid_7/job_5/step_batch";

TEST(TreeV1, AGroupInEachHierarchy) {
  FakeMount mount;
  mount.put("freezer/cgroup.procs", "");
  mount.put("memory/cgroup.procs", "");
  const auto tree = Tree::open(mount.setup(1, {"freezer", "memory"}));
  ASSERT_TRUE(tree->make(kStep));
  EXPECT_TRUE(mount.has("freezer/slurm_n1/uid_7/job_5/step_batch"));
  EXPECT_TRUE(mount.has("memory/slurm_n1/uid_7/job_5/step_batch"));
  EXPECT_EQ(tree->entries(kStep).size(), 2U);
  EXPECT_EQ(tree->kernel_name(kStep), "/slurm_n1/uid_7/job_5/step_batch");
  EXPECT_FALSE(Tree::open(mount.setup(1, {"cpuset"}))->make(kStep)) << "no such hierarchy";
}

TEST(TreeV1, AStepDaemonEntersForItsMemoryAlone) {
  FakeMount mount;
  const std::string daemons = "memory/slurm_n1/" + daemons_group(7, 5);
  mount.put("freezer/cgroup.procs", "");
  mount.put(daemons + "/cgroup.procs", "");
  EXPECT_TRUE(Tree::open(mount.setup(1, {"freezer"}))->enter(daemons_group(7, 5)))
      << "nobody looks at memory";
  EXPECT_EQ(mount.get(daemons + "/cgroup.procs"), "");
  ASSERT_TRUE(Tree::open(mount.setup(1, {"freezer", "memory"}))->enter(daemons_group(7, 5)));
  EXPECT_EQ(mount.get(daemons + "/cgroup.procs"), "0");
  EXPECT_FALSE(mount.has("freezer/slurm_n1"));
  EXPECT_FALSE(Tree::open(mount.setup(1, {"freezer", "memory"}))->enter("daemons"))
      << "there is no such file";
  EXPECT_TRUE(mount.has("memory/slurm_n1/daemons"));
}

TEST(TreeV1, WhatIsLeftIsFoundAgain) {
  FakeMount mount;
  const auto tree = Tree::open(mount.setup(1, {"freezer", "memory"}));
  mount.put("freezer/cgroup.procs", "");
  mount.put("memory/cgroup.procs", "");
  const std::string held = "memory/slurm_n1/" + daemons_group(7, 5) + "/cgroup.procs";
  ASSERT_TRUE(tree->make(kStep));
  mount.put(held, "");
  EXPECT_FALSE(tree->remove("uid_7/job_5"));
  EXPECT_EQ(tree->children("uid_7"), std::vector<std::string>{"job_5"});
  mount.take_away(held);
  EXPECT_TRUE(tree->remove("uid_7/job_5"));
  EXPECT_TRUE(tree->children("uid_7").empty());
}

TEST(TreeV1, WhoIsThawedIsThawedWithAllGroupsBelow) {
  FakeMount mount;
  const std::string job = "freezer/slurm_n1/uid_7/job_5/freezer.state";
  const std::string step = "freezer/slurm_n1/uid_7/job_5/step_batch/freezer.state";
  const std::string task = "freezer/slurm_n1/uid_7/job_5/step_batch/task_0/freezer.state";
  for (const std::string& file : {job, step, task}) mount.put(file, "THAWED");
  const auto tree = Tree::open(mount.setup(1, {"freezer"}));
  tree->freeze(kStep, true);
  EXPECT_EQ(mount.get(step), "FROZEN");
  EXPECT_EQ(mount.get(task), "THAWED") << "the kernel freezes it with its group";
  mount.put(task, "FROZEN");
  tree->freeze("uid_7/job_5", false);
  for (const std::string& file : {job, step, task}) EXPECT_EQ(mount.get(file), "THAWED") << file;
}

TEST(TreeV1, ACpusetBeginsWithWhatTheOneAboveHas) {
  FakeMount mount;
  mount.put("cpuset/cpuset.cpus", "0-3\n");
  mount.put("cpuset/cpuset.mems", "0\n");
  std::string path = "cpuset/slurm_n1";
  for (const char* level : {"", "/uid_7", "/job_5"}) {
    path += level;
    mount.put(path + "/cpuset.cpus", "\n");
    mount.put(path + "/cpuset.mems", "\n");
  }
  const auto tree = Tree::open(mount.setup(1, {"cpuset"}));
  ASSERT_TRUE(tree->make("uid_7/job_5"));
  EXPECT_EQ(mount.get(path + "/cpuset.cpus"), "0-3");
  EXPECT_EQ(mount.get(path + "/cpuset.mems"), "0");
  ASSERT_TRUE(tree->set_cpus("uid_7/job_5", Bitmap::first(2)));
  EXPECT_EQ(mount.get(path + "/cpuset.cpus"), "0-1");
  ASSERT_TRUE(tree->make("uid_7/job_5"));  // what is set stays
  EXPECT_EQ(mount.get(path + "/cpuset.cpus"), "0-1");
}

TEST(TreeV1, Memory) {
  FakeMount mount;
  const std::string at = std::string("memory/slurm_n1/") + kStep;
  mount.put(at + "/memory.limit_in_bytes", "");
  mount.put(at + "/memory.memsw.limit_in_bytes", "");
  mount.put(at + "/memory.swappiness", "60\n");
  const auto tree = Tree::open(mount.setup(1, {"freezer", "memory"}));
  ASSERT_TRUE(tree->set_memory(
      kStep, {.ram_bytes = 1000, .limits_swap = true, .swap_bytes = 24, .swappiness = 0}));
  EXPECT_EQ(mount.get(at + "/memory.limit_in_bytes"), "1000");
  EXPECT_EQ(mount.get(at + "/memory.memsw.limit_in_bytes"), "1024");  // both together
  EXPECT_EQ(mount.get(at + "/memory.swappiness"), "0");
  mount.take_away(at + "/memory.memsw.limit_in_bytes");
  EXPECT_TRUE(tree->set_memory(kStep, {.ram_bytes = 500, .limits_swap = true}))
      << "a kernel without swap accounting";
}

TEST(TreeV1, Pids) {
  FakeMount mount;
  const std::string at = "pids/slurm_n1/uid_7/job_5";
  mount.put(at + "/pids.max", "max\n");
  const auto tree = Tree::open(mount.setup(1, {"freezer", "pids"}));
  ASSERT_TRUE(tree->set_pids("uid_7/job_5", 60));
  EXPECT_EQ(mount.get(at + "/pids.max"), "60");
  ASSERT_TRUE(tree->set_pids("uid_7/job_5", 0)) << "no limit: nothing is written";
  EXPECT_EQ(mount.get(at + "/pids.max"), "60");
  EXPECT_TRUE(Tree::open(mount.setup(1, {"freezer"}))->set_pids("uid_7/job_6", 60))
      << "not constrained";
  // where the kernel counts them depends on its age
  mount.put(at + "/step_0/task_0/pids.events", "max 2\n");
  mount.put(at + "/step_0/task_1/pids.events", "max 3\n");
  EXPECT_EQ(tree->fork_refusals("uid_7/job_5"), 5U);
  mount.put(at + "/pids.events", "max 7\n");
  EXPECT_EQ(tree->fork_refusals("uid_7/job_5"), 7U);
}

TEST(TreeV1, OomKillsOfTheTasksAddUp) {
  FakeMount mount;
  const std::string at = std::string("memory/slurm_n1/") + kStep;
  mount.put(at + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  mount.put(at + "/task_0/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  mount.put(at + "/task_1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  const auto tree = Tree::open(mount.setup(1, {"freezer", "memory"}));
  EXPECT_EQ(tree->oom_kills(kStep), 3U);
  EXPECT_EQ(tree->oom_kills(std::string(kStep) + "/task_1"), 1U);
  EXPECT_EQ(Tree::open(mount.setup(1, {"freezer"}))->oom_kills(kStep), 0U);
}

TEST(TreeV1, Usage) {
  FakeMount mount;
  mount.put(std::string("cpuacct/slurm_n1/") + kStep + "/cpuacct.usage_user", "1500000000\n");
  mount.put(std::string("cpuacct/slurm_n1/") + kStep + "/cpuacct.usage_sys", "250000000\n");
  mount.put(std::string("cpuacct/slurm_n1/") + kStep + "/cpuacct.usage", "3500000000\n");
  mount.put(std::string("memory/slurm_n1/") + kStep + "/memory.stat",
            "rss 1024\ntotal_cache 9\ntotal_rss 2048000\n");
  const GroupUsage usage =
      Tree::open(mount.setup(1, {"freezer", "memory", "cpuacct"}))->usage(kStep);
  EXPECT_EQ(usage.user_cpu, std::chrono::milliseconds(3000)) << "of which ticks saw a half";
  EXPECT_EQ(usage.system_cpu, std::chrono::milliseconds(500));
  EXPECT_EQ(usage.rss_kib, 2000U);
}

}  // namespace
}  // namespace sluice::cgroup
