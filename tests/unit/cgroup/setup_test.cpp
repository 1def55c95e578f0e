#include "common/cgroup/setup.hpp"

#include <gtest/gtest.h>

#include "common/cgroup/oom_log.hpp"
#include "unit/cgroup/fake_mount.hpp"

namespace sluice::cgroup {
namespace {

using testing::FakeMount;

constexpr uint64_t kMib = 1U << 20;

ClusterConfig config_at(const FakeMount& mount) {
  ClusterConfig config;
  config.proctrack_type = "proctrack/cgroup";
  config.task_plugin = {"task/affinity", "task/cgroup"};
  config.cgroup.mountpoint = mount.path();
  config.cgroup.constrain_ram_space = true;
  return config;
}

TEST(CgroupSetup, IsWanted) {
  ClusterConfig config;
  config.proctrack_type = "proctrack/linuxproc";
  EXPECT_FALSE(is_wanted(config));
  config.task_plugin = {"task/cgroup"};
  EXPECT_TRUE(is_wanted(config));
  config.task_plugin.clear();
  config.job_acct_gather_type = "jobacct_gather/cgroup";
  EXPECT_TRUE(is_wanted(config));
  config.cgroup.plugin = "disabled";
  EXPECT_FALSE(is_wanted(config));
}

TEST(CgroupSetup, FindsTheVersion) {
  FakeMount mount;
  std::string missing;
  EXPECT_FALSE(prepare(config_at(mount), "slurm_n1", missing)) << "nothing is mounted";
  mount.put("freezer/cgroup.procs", "");
  mount.put("memory/cgroup.procs", "");
  auto setup = prepare(config_at(mount), "slurm_n1", missing);
  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->version, 1U);
  EXPECT_EQ(setup->controllers, (std::vector<std::string>{"freezer", "memory"}));
  EXPECT_EQ(missing, "");
  EXPECT_FALSE(mount.has("freezer/slurm_n1/try"));

  mount.put("cgroup.controllers", "cpuset memory\n");
  // no cgroup.subtree_control: memory does not act
  setup = prepare(config_at(mount), "slurm_n1", missing);
  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->version, 2U);
  EXPECT_TRUE(setup->controllers.empty());
  EXPECT_EQ(missing, "memory");
}

TEST(CgroupSetup, EnableControllersIsAboutAllOfThem) {
  for (const bool all : {true, false}) {
    FakeMount mount;
    mount.put("cgroup.controllers", "cpuset cpu io memory\n");
    mount.put("cgroup.subtree_control", "");
    mount.put("slurm_n1/cgroup.subtree_control", "");
    ClusterConfig config = config_at(mount);
    config.cgroup.constrain_ram_space = false;  // nothing of them is needed
    config.cgroup.enable_controllers = all;
    std::string missing;
    ASSERT_TRUE(prepare(config, "slurm_n1", missing));
    EXPECT_EQ(missing, "");
    const char* expected = all ? "+cpuset +cpu +io +memory" : "";
    EXPECT_EQ(mount.get("cgroup.subtree_control"), expected);
    EXPECT_EQ(mount.get("slurm_n1/cgroup.subtree_control"), expected);
  }
}

TEST(CgroupSetup, TakesWhatThereIs) {
  FakeMount mount;
  mount.put("freezer/cgroup.procs", "");
  ClusterConfig config = config_at(mount);
  config.cgroup.constrain_cores = true;
  config.job_acct_gather_type = "jobacct_gather/cgroup";
  std::string missing;
  const auto setup = prepare(config, "slurm_n1", missing);
  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->controllers, std::vector<std::string>{"freezer"});
  EXPECT_TRUE(setup->gathers);
  EXPECT_EQ(missing, "cpuset memory cpuacct");
  config.cgroup.max_pids = 60;
  missing.clear();
  ASSERT_TRUE(prepare(config, "slurm_n1", missing));
  EXPECT_EQ(missing, "cpuset memory pids cpuacct");
  config.task_plugin.clear();  // cgroup.conf constrains nothing without the plugin
  config.job_acct_gather_type.clear();
  missing.clear();
  ASSERT_TRUE(prepare(config, "slurm_n1", missing));
  EXPECT_EQ(missing, "");
}

TEST(CgroupSetup, RootsDiffer) {
  EXPECT_EQ(root_name("n1", "/var/spool/a").substr(0, 9), "slurm_n1.");
  EXPECT_NE(root_name("n1", "/var/spool/a"), root_name("n1", "/var/spool/b"));
}

TEST(CgroupSetup, MemoryLimits) {
  CgroupConfig config;
  EXPECT_EQ(memory_limit(config, 100, 8000).ram_bytes, 0U) << "nothing is constrained";
  config.constrain_ram_space = true;
  EXPECT_EQ(memory_limit(config, 100, 8000).ram_bytes, 100 * kMib);
  EXPECT_FALSE(memory_limit(config, 100, 8000).limits_swap);
  EXPECT_EQ(memory_limit(config, 10, 8000).ram_bytes, 30 * kMib) << "MinRAMSpace";
  EXPECT_EQ(memory_limit(config, 0, 8000).ram_bytes, 8000 * kMib) << "all of the node's";
  EXPECT_EQ(memory_limit(config, 90000, 8000).ram_bytes, 8000 * kMib);
  config.allowed_ram_percent = 110;
  EXPECT_EQ(memory_limit(config, 100, 8000).ram_bytes, 110 * kMib);
  config.max_ram_percent = 50;
  EXPECT_EQ(memory_limit(config, 7000, 8000).ram_bytes, 4000 * kMib);
  config.constrain_swap_space = true;
  config.allowed_swap_percent = 20;
  const auto limit = memory_limit(config, 100, 8000);
  EXPECT_TRUE(limit.limits_swap);
  EXPECT_EQ(limit.swap_bytes, 20 * kMib);
  config.max_swap_percent = 0.1;
  EXPECT_EQ(memory_limit(config, 1000, 8000).swap_bytes, 8 * kMib);
  EXPECT_EQ(memory_limit(config, 100, 0).ram_bytes, 0U) << "a host whose memory is not known";
}

TEST(CgroupSetup, MemorySwappiness) {
  CgroupConfig config;
  EXPECT_FALSE(memory_limit(config, 100, 8000).swappiness) << "the kernel's own";
  config.memory_swappiness = 0;
  EXPECT_EQ(memory_limit(config, 100, 8000).swappiness, 0U);
  config.memory_swappiness = 30;
  EXPECT_EQ(memory_limit(config, 100, 0).swappiness, 30U);
}

TEST(OomLog, NamesTheKilled) {
  const std::string log =
      "6,1,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=task_0,mems_allowed=0,"
      "oom_memcg=/slurm_n1/uid_0/job_5,task_memcg=/slurm_n1/uid_0/job_5/step_0/task_1,task=py,pid=3 x,pid=4711,uid=0\n"
      "6,2,2,-;something else\n"
      "6,3,3,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/a,"
      "task_memcg=/slurm_n1/uid_0/job_55/step_0/task_0,task=other,pid=12,uid=0\n"
      "6,4,4,-;oom-kill:constraint=CONSTRAINT_NONE,cut off";
  const auto victims = oom_victims(log, "/slurm_n1/uid_0/job_5");
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(victims[0].pid, 4711);
  EXPECT_EQ(victims[0].name, "py,pid=3 x");
  EXPECT_EQ(victims[0].group, "/slurm_n1/uid_0/job_5/step_0/task_1");
  EXPECT_EQ(oom_victims(log, "/slurm_n1/uid_0/job_55/step_0").size(), 1U);
  EXPECT_TRUE(oom_victims("", "/slurm_n1").empty());
}

}  // namespace
}  // namespace sluice::cgroup
