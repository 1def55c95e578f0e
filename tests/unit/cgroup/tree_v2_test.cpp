#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cgroup/tree.hpp"
#include "unit/cgroup/fake_mount.hpp"

namespace sluice::cgroup {
namespace {

using testing::FakeMount;

constexpr const char* kStep = "uid_7/job_5/step_0";

TEST(TreeV2, MakesEachLevelWithItsControllers) {
  FakeMount mount;
  for (const char* level : {"", "slurm_n1/", "slurm_n1/uid_7/", "slurm_n1/uid_7/job_5/",
                            "slurm_n1/uid_7/job_5/step_0/"}) {
    mount.put(std::string(level) + "cgroup.subtree_control", "");
  }
  const auto tree = Tree::open(mount.setup(2, {"cpuset", "memory"}));
  ASSERT_TRUE(tree->make(std::string(kStep) + "/task_3"));
  EXPECT_TRUE(mount.has("slurm_n1/uid_7/job_5/step_0/task_3"));
  EXPECT_EQ(mount.get("cgroup.subtree_control"), "+cpuset +memory");
  EXPECT_EQ(mount.get("slurm_n1/uid_7/job_5/step_0/cgroup.subtree_control"), "+cpuset +memory");
  EXPECT_TRUE(tree->make(std::string(kStep) + "/task_3"));  // again: nothing to do
  EXPECT_EQ(
      tree->entries("uid_7/job_5/step_0/task_3"),
      std::vector<std::string>{mount.path() + "/slurm_n1/uid_7/job_5/step_0/task_3/cgroup.procs"});
  EXPECT_EQ(tree->children("uid_7/job_5"), std::vector<std::string>{"step_0"});
}

TEST(TreeV2, AControllerThatIsNotPassedOnIsAnError) {
  FakeMount mount;  // without cgroup.subtree_control
  EXPECT_FALSE(Tree::open(mount.setup(2, {"memory"}))->make(kStep));
  EXPECT_TRUE(Tree::open(mount.setup(2, {}))->make(kStep));
}

TEST(TreeV2, Limits) {
  FakeMount mount;
  const std::string at = std::string("slurm_n1/") + kStep;
  mount.put(at + "/cpuset.cpus", "");
  mount.put(at + "/memory.max", "max\n");
  mount.put(at + "/memory.swap.max", "max\n");
  const auto tree = Tree::open(mount.setup(2, {"cpuset", "memory"}));
  Bitmap cpus;
  for (const size_t cpu : {0, 1, 2, 5}) cpus.set(cpu);
  ASSERT_TRUE(tree->set_cpus(kStep, cpus));
  EXPECT_EQ(mount.get(at + "/cpuset.cpus"), "0-2,5");
  ASSERT_TRUE(tree->set_memory(kStep, {.ram_bytes = 1000}));
  EXPECT_EQ(mount.get(at + "/memory.max"), "1000");
  EXPECT_EQ(mount.get(at + "/memory.swap.max"), "max\n");
  ASSERT_TRUE(tree->set_memory(kStep, {.ram_bytes = 2000, .limits_swap = true, .swap_bytes = 50}));
  EXPECT_EQ(mount.get(at + "/memory.max"), "2000");
  EXPECT_EQ(mount.get(at + "/memory.swap.max"), "50");
  ASSERT_TRUE(tree->set_memory(kStep, {}));  // no limit is none
  EXPECT_EQ(mount.get(at + "/memory.max"), "2000");
  const auto bare = Tree::open(mount.setup(2, {}));
  ASSERT_TRUE(bare->set_memory(kStep, {.ram_bytes = 3000}));
  ASSERT_TRUE(bare->set_cpus(kStep, Bitmap::first(1)));
  EXPECT_EQ(mount.get(at + "/memory.max"), "2000");
  EXPECT_EQ(mount.get(at + "/cpuset.cpus"), "0-2,5");
}

TEST(TreeV2, Pids) {
  FakeMount mount;
  mount.put("slurm_n1/uid_7/job_5/pids.max", "max\n");
  mount.put("slurm_n1/uid_7/job_5/pids.events", "max 7\n");
  mount.put("slurm_n1/uid_7/job_5/step_0/pids.events", "max 0\n");
  const auto tree = Tree::open(mount.setup(2, {"pids"}));
  ASSERT_TRUE(tree->set_pids("uid_7/job_5", 60));
  EXPECT_EQ(mount.get("slurm_n1/uid_7/job_5/pids.max"), "60");
  EXPECT_EQ(tree->fork_refusals("uid_7/job_5"), 7U);
  EXPECT_EQ(Tree::open(mount.setup(2, {"memory"}))->fork_refusals("uid_7/job_5"), 0U);
}

TEST(TreeV2, UsageAndOom) {
  FakeMount mount;
  const std::string at = std::string("slurm_n1/") + kStep;
  mount.put(at + "/cpu.stat", "usage_usec 3500000\nuser_usec 2500000\nsystem_usec 1000000\n");
  mount.put(at + "/memory.stat", "anon_thp 7\nanon 4096000\nfile 99999999\n");
  mount.put(at + "/memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n");
  const auto tree = Tree::open(mount.setup(2, {"memory", "cpu"}));
  const GroupUsage usage = tree->usage(kStep);
  EXPECT_EQ(usage.user_cpu, std::chrono::microseconds(2500000));
  EXPECT_EQ(usage.system_cpu, std::chrono::seconds(1));
  EXPECT_EQ(usage.rss_kib, 4000U);
  EXPECT_EQ(tree->oom_kills(kStep), 2U);
  EXPECT_EQ(tree->oom_kills("uid_7/job_6"), 0U);
}

TEST(TreeV2, KillsAndRemoves) {
  FakeMount mount;
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const std::string task = std::string("slurm_n1/") + kStep + "/task_0";
  mount.put(task + "/cgroup.procs",
            std::to_string(child) + "\n" + std::to_string(::getpid()) + "\n");
  mount.put(std::string("slurm_n1/") + kStep + "/cgroup.procs", "");
  const auto tree = Tree::open(mount.setup(2, {}));
  EXPECT_EQ(tree->processes(kStep), std::vector<pid_t>{child});
  tree->kill(kStep);  // there is no cgroup.kill: one by one, and never this process
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_FALSE(tree->remove(kStep));
  mount.put(std::string("slurm_n1/") + kStep + "/cgroup.kill", "");
  tree->kill(kStep);
  EXPECT_EQ(mount.get(std::string("slurm_n1/") + kStep + "/cgroup.kill"), "1");
  mount.take_away(task + "/cgroup.procs");
  for (const char* file : {"/cgroup.procs", "/cgroup.kill"})
    mount.take_away(std::string("slurm_n1/") + kStep + file);
  EXPECT_TRUE(tree->remove("uid_7/job_5"));
  EXPECT_FALSE(mount.has("slurm_n1/uid_7/job_5"));
  EXPECT_TRUE(tree->remove("uid_7/job_5"));
}

TEST(TreeV2, StepDaemonsAreInTheirJobAndNotKilledWithIt) {
  FakeMount mount;
  const std::string job = "slurm_n1/uid_7/job_5";
  for (const char* level : {"", "slurm_n1/", "slurm_n1/uid_7/", "slurm_n1/uid_7/job_5/"}) {
    mount.put(std::string(level) + "cgroup.subtree_control", "");
  }
  mount.put(job + "/daemons/cgroup.procs", "");
  const auto tree = Tree::open(mount.setup(2, {"memory"}));
  ASSERT_TRUE(tree->enter(daemons_group(7, 5)));
  EXPECT_EQ(mount.get(job + "/daemons/cgroup.procs"), "0");
  for (const char* group : {"", "/daemons", "/step_0", "/scripts"})
    mount.put(job + group + "/cgroup.kill", "");
  tree->kill("uid_7/job_5");
  EXPECT_EQ(mount.get(job + "/step_0/cgroup.kill"), "1");
  EXPECT_EQ(mount.get(job + "/scripts/cgroup.kill"), "1");
  EXPECT_EQ(mount.get(job + "/daemons/cgroup.kill"), "");
  EXPECT_EQ(mount.get(job + "/cgroup.kill"), "");
  EXPECT_TRUE(Tree::open(mount.setup(2, {"cpuset"}))->enter("daemons")) << "nobody looks at memory";
  EXPECT_FALSE(mount.has("slurm_n1/daemons"));
}

}  // namespace
}  // namespace sluice::cgroup
