#include "common/environment/output_env.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/syntax/told_cpus.hpp"
#include "support/cpu_time.hpp"
#include "unit/anns_job.hpp"

namespace sluice {
namespace {

// The job of the captures: sbatch -N2 -n4 -c2 --mem-per-cpu=100 -t 20 -L matlab:2
protocol::StepLaunch captured_job() {
  JobSpec spec;
  spec.name = "demo";
  spec.user_name = "root";
  spec.num_tasks = 4;
  spec.cpus_per_task = 2;
  spec.memory_kind = MemoryKind::kPerCpu;
  spec.memory_mib = 100;
  spec.licenses = "matlab:2";
  spec.work_dir = "/srv/demo";
  spec.submit_host = "vm";
  protocol::StepLaunch launch;
  launch.key.id = {1, kBatchStep};
  launch.cluster_name = "demo";
  launch.job_spec = std::make_shared<const JobSpec>(spec);
  Allocation allocation;
  allocation.node_list = "node[1-2]";
  launch.allocation = std::make_shared<const Allocation>(allocation);
  launch.allocation_cpus = {6, 2};
  launch.layout.nodes = {{.name = "node1", .tasks = {0}, .cpus = 6}};
  launch.partition = "debug";
  launch.account = "physics";
  launch.qos = "normal";
  launch.group_name = "root";
  launch.job_start = from_seconds(1795228702);
  launch.job_end = from_seconds(1795229902);
  return launch;
}

TEST(OutputEnv, BatchScript) {
  Environment env;
  set_batch_variables(captured_job(), {"node1", 0, "/srv/demo/slurm.conf"}, env);
  const std::pair<const char*, const char*> wanted[] = {{"SLURMD_NODENAME", "node1"},
                                                        {"SLURM_CLUSTER_NAME", "demo"},
                                                        {"SLURM_CONF", "/srv/demo/slurm.conf"},
                                                        {"SLURM_CPUS_ON_NODE", "6"},
                                                        {"SLURM_CPUS_PER_TASK", "2"},
                                                        {"SLURM_GTIDS", "0"},
                                                        {"SLURM_JOBID", "1"},
                                                        {"SLURM_JOB_ACCOUNT", "physics"},
                                                        {"SLURM_JOB_CPUS_PER_NODE", "6,2"},
                                                        {"SLURM_JOB_END_TIME", "1795229902"},
                                                        {"SLURM_JOB_EXCLUSIVE", "NO"},
                                                        {"SLURM_JOB_LICENSES", "matlab:2"},
                                                        {"SLURM_JOB_NAME", "demo"},
                                                        {"SLURM_JOB_NODELIST", "node[1-2]"},
                                                        {"SLURM_JOB_NUM_NODES", "2"},
                                                        {"SLURM_JOB_QOS", "normal"},
                                                        {"SLURM_JOB_START_TIME", "1795228702"},
                                                        {"SLURM_JOB_USER", "root"},
                                                        {"SLURM_MEM_PER_CPU", "100"},
                                                        {"SLURM_NNODES", "2"},
                                                        {"SLURM_NODEID", "0"},
                                                        {"SLURM_NODELIST", "node[1-2]"},
                                                        {"SLURM_NPROCS", "4"},
                                                        {"SLURM_NTASKS", "4"},
                                                        {"SLURM_STEP_ID", "-5"},
                                                        {"SLURM_SUBMIT_DIR", "/srv/demo"},
                                                        {"SLURM_SUBMIT_HOST", "vm"},
                                                        {"SLURM_TASKS_PER_NODE", "3,1"},
                                                        {"SLURM_TOPOLOGY_ADDR", "node1"},
                                                        {"SLURM_TRES_PER_TASK", "cpu=2"}};
  for (const auto& [name, value] : wanted) EXPECT_EQ(env.get(name), value) << name;
  EXPECT_FALSE(env.has("SLURM_RESTART_COUNT"));
  EXPECT_FALSE(env.has("SLURM_ARRAY_JOB_ID"));
}

TEST(OutputEnv, GpusOfTasks) {
  JobSpec spec;
  spec.tres_per_task = "license/foo:1,gres/gpu:a100:2";
  JobFacts job;
  job.spec = std::make_shared<const JobSpec>(spec);
  Environment env;
  set_allocation_variables(job, env);
  EXPECT_EQ(env.get("SLURM_GPUS_PER_TASK"), "a100:2");
}

// --batch puts the script on a node that is not the job's first.
TEST(OutputEnv, ScriptOnAnotherNodeThanTheFirst) {
  protocol::StepLaunch launch = captured_job();
  GresShare first, second;
  first.name = second.name = "gpu";
  first.units.set(0);
  second.units.set(3);
  Allocation allocation = *launch.allocation;
  allocation.nodes = {{.node = 0, .cpus = 6, .gres = {first}},
                      {.node = 1, .cpus = 2, .gres = {second}}};
  launch.allocation = std::make_shared<const Allocation>(allocation);
  launch.layout.nodes = {{.node = 1, .name = "node2", .tasks = {0}, .cpus = 2, .gres = {second}}};
  Environment env;
  set_batch_variables(launch, {"node2", 0, ""}, env);
  EXPECT_EQ(env.get("SLURM_CPUS_ON_NODE"), "2");
  EXPECT_EQ(env.get("SLURM_JOB_GPUS"), "3");
  launch.layout.nodes[0].gres.clear();
  set_batch_variables(launch, {"node2", 0, ""}, env);
  EXPECT_FALSE(env.has("SLURM_JOB_GPUS"));
}

TEST(OutputEnv, OptionsThatSrunsSeeAgain) {
  protocol::StepLaunch launch = captured_job();
  JobSpec spec = *launch.job_spec;
  spec.memory_kind = MemoryKind::kPerGpu;
  spec.memory_mib = 300;
  spec.cpus_per_gpu = "3";
  spec.tres_per_socket = "gres/gpu:a100:2";
  spec.tres_bind = "gres/gpu:single:2";
  spec.ntasks_per_core = 1;
  spec.ntasks_per_socket = 4;
  spec.dependency = "afterok:7";
  spec.profile = "task";
  spec.acctg_frequency = "task=15";
  spec.cpu_freq = "Low-High:OnDemand";
  spec.tres_freq = "gpu:high,memory=low";
  launch.job_spec = std::make_shared<const JobSpec>(spec);
  Environment env;
  set_batch_variables(launch, {"node1", 0, ""}, env);
  const std::pair<const char*, const char*> wanted[] = {{"SLURM_MEM_PER_GPU", "300"},
                                                        {"SLURM_CPUS_PER_GPU", "3"},
                                                        {"SLURM_GPUS_PER_SOCKET", "a100:2"},
                                                        {"SLURM_TRES_BIND", "gres/gpu:single:2"},
                                                        {"SLURM_GPU_BIND", "single:2"},
                                                        {"SLURM_NTASKS_PER_CORE", "1"},
                                                        {"SLURM_NTASKS_PER_SOCKET", "4"},
                                                        {"SLURM_JOB_DEPENDENCY", "afterok:7"},
                                                        {"SLURM_PROFILE", "task"},
                                                        {"SLURM_CPU_FREQ_REQ", "Low-High:OnDemand"},
                                                        {"SLURM_GPU_FREQ", "high,memory=low"},
                                                        {"SLURM_ACCTG_FREQ", "task=15"}};
  for (const auto& [name, value] : wanted) {
    EXPECT_EQ(env.get(name), value) << name;
    Environment without;
    set_batch_variables(captured_job(), {"node1", 0, ""}, without);
    EXPECT_FALSE(without.has(name)) << name;
  }
  EXPECT_FALSE(env.has("SLURM_MEM_PER_CPU"));
}

TEST(OutputEnv, AllMemoryIsNotTold) {
  protocol::StepLaunch launch = captured_job();
  for (const MemoryKind kind : {MemoryKind::kPerNode, MemoryKind::kPerCpu}) {
    JobSpec spec = *launch.job_spec;
    spec.memory_kind = kind;
    spec.memory_mib = 0;
    launch.job_spec = std::make_shared<const JobSpec>(spec);
    Environment env;
    set_batch_variables(launch, {"node1", 0, ""}, env);
    EXPECT_FALSE(env.has("SLURM_MEM_PER_NODE"));
    EXPECT_FALSE(env.has("SLURM_MEM_PER_CPU"));
  }
}

// The sruns of a script see what it was submitted with.
TEST(OutputEnv, OomKillStep) {
  protocol::StepLaunch launch = captured_job();
  for (const auto& [said, shown] :
       {std::pair(Toggle::kDefault, "0"), {Toggle::kNo, "0"}, {Toggle::kYes, "1"}}) {
    JobSpec spec = *launch.job_spec;
    spec.oom_kill_step = said;
    launch.job_spec = std::make_shared<const JobSpec>(spec);
    Environment env = Environment::from_block(std::string("SLURM_OOM_KILL_STEP=7\0", 22));
    set_batch_variables(launch, {"node1", 0, ""}, env);
    EXPECT_EQ(env.get("SLURM_OOM_KILL_STEP"), shown);
  }
}

TEST(OutputEnv, OptionsThatWereNotGivenAreNotSet) {
  protocol::StepLaunch launch = captured_job();
  JobSpec spec;
  spec.min_nodes = 2;
  launch.job_spec = std::make_shared<const JobSpec>(spec);
  launch.allocation_cpus = {1, 1};
  launch.qos.clear();
  Environment env;
  set_batch_variables(launch, {"node1", 0, ""}, env);
  for (const char* name :
       {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_CPU", "SLURM_JOB_QOS",
        "SLURM_CONF", "SLURM_OVERCOMMIT"}) {
    EXPECT_FALSE(env.has(name)) << name;
  }
  EXPECT_EQ(env.get("SLURM_TASKS_PER_NODE"), "1(x2)");
}

// Prolog and Epilog of nodes.
TEST(OutputEnv, ScriptsOfTheSite) {
  JobSpec spec = testing::anns_spec();
  spec.std_in = "in.txt";
  spec.std_err = "err.txt";
  spec.sharing = Sharing::kOversubscribe;
  JobFacts job;
  job.job = 7;
  job.restart = 2;
  job.spec = std::make_shared<const JobSpec>(spec);
  job.node_list = "node1";
  job.cpus = {1};
  job.cluster = "demo";
  job.exit_status = 3 << 8 | 9;
  job.derived_exit_status = 5 << 8;
  Environment env;
  set_script_variables(job, {"node1", 0, "/etc/slurm.conf"}, "prolog_slurmd", env);
  const std::pair<const char*, const char*> wanted[] = {{"SLURM_CLUSTER_NAME", "demo"},
                                                        {"SLURMD_NODENAME", "node1"},
                                                        {"SLURM_CONF", "/etc/slurm.conf"},
                                                        {"SLURM_JOB_USER", "ann"},
                                                        {"SLURM_JOB_OVERSUBSCRIBE", "YES"},
                                                        {"SLURM_JOB_STDIN", "in.txt"},
                                                        {"SLURM_JOB_STDERR", "err.txt"},
                                                        {"SLURM_JOB_NTASKS", "4"},
                                                        {"SLURM_UID", "1001"},
                                                        {"SLURM_NODELIST", "node1"},
                                                        {"SLURM_SCRIPT_CONTEXT", "prolog_slurmd"}};
  for (const auto& [name, value] : wanted) EXPECT_EQ(env.get(name), value) << name;
  for (const auto& [name, value] : testing::kAnnsVariables) EXPECT_EQ(env.get(name), value) << name;
  EXPECT_FALSE(env.has("SLURM_JOB_EXIT_CODE"));
  set_script_variables(job, {"node1", 0, {}}, "epilog_slurmd", env);
  EXPECT_EQ(env.get("SLURM_JOB_EXIT_CODE"), "777");
  EXPECT_EQ(env.get("SLURM_JOB_EXIT_CODE2"), "3:9");
  EXPECT_EQ(env.get("SLURM_JOB_DERIVED_EC"), "1280");
}

TEST(OutputEnv, TaskOfAStep) {
  protocol::StepLaunch launch = captured_job();
  launch.key.id.step = 0;
  StepSpec step;
  step.cpus_per_task = 2;
  step.io = {"127.0.0.1", 35207, "key"};
  launch.step = std::make_shared<const StepSpec>(step);
  launch.layout.num_tasks = 4;
  launch.layout.node_list = "node[1-2]";
  launch.layout.nodes = {{0, "node1", {0, 1, 2}, 6, "0-5", 0}, {1, "node2", {3}, 2, "0-1", 0}};
  Environment env =
      Environment::from_block(std::string("SLURM_JOB_ID=1\0SLURM_JOB_NAME=inner\0A=b\0", 39));
  set_step_variables(launch, {"node2", 1, ""}, env);
  set_task_variables(launch.layout.nodes[1], 0, env);
  const std::pair<const char*, const char*> wanted[] = {{"A", "b"},
                                                        {"SLURM_JOB_NAME", "inner"},
                                                        {"SLURM_NODEID", "1"},
                                                        {"SLURM_GTIDS", "3"},
                                                        {"SLURM_PROCID", "3"},
                                                        {"SLURM_LOCALID", "0"},
                                                        {"SLURM_CPUS_ON_NODE", "2"},
                                                        {"SLURM_STEP_TASKS_PER_NODE", "3,1"},
                                                        {"SLURM_STEP_NUM_TASKS", "4"},
                                                        {"SLURM_DISTRIBUTION", "block"},
                                                        {"SLURM_UMASK", "0022"},
                                                        {"SLURM_STEPID", "0"},
                                                        {"SLURM_SRUN_COMM_PORT", "35207"},
                                                        {"SLURM_JOB_GROUP", "root"}};
  for (const auto& [name, value] : wanted) EXPECT_EQ(env.get(name), value) << name;
}

// In a job srun names what it chose by itself; one that made the job for its step names nothing.
TEST(OutputEnv, DistributionOfAStepThatNamesNone) {
  protocol::StepLaunch launch = captured_job();
  launch.key.id.step = 0;
  launch.step = std::make_shared<const StepSpec>();
  launch.layout.nodes = {{0, "node1", {0}, 1, "0", 0}, {1, "node2", {1}, 1, "0", 0}};
  launch.layout.num_tasks = 2;
  const auto told = [&](std::string_view block) {
    Environment env = Environment::from_block(block);
    set_step_variables(launch, {"node1", 0, ""}, env);
    return std::string(env.get("SLURM_DISTRIBUTION"));
  };
  EXPECT_EQ(told("SLURM_JOB_ID=1"), "cyclic") << "as many tasks as nodes";
  EXPECT_EQ(told(""), "");
  launch.layout.nodes[1].tasks = {1, 2};
  launch.layout.num_tasks = 3;
  EXPECT_EQ(told("SLURM_JOB_ID=1"), "block");
  StepSpec step;
  for (const auto& [given, shown] :
       {std::pair("plane=2", "plane"), std::pair("*", "block"),
        std::pair("Block:*", "block:cyclic"), std::pair("cyclic:*:*", "cyclic:cyclic:cyclic"),
        std::pair("*:block:*", "block:block:block"), std::pair("cyclic,NoPack", "cyclic,nopack")}) {
    step.distribution = given;
    launch.step = std::make_shared<const StepSpec>(step);
    EXPECT_EQ(told(""), shown) << given;
  }
}

TEST(OutputEnv, LimitsThatWereSentAlong) {
  // by number: CPU, FSIZE, DATA, STACK, CORE
  Environment env;
  set_limit_variables({UINT64_MAX, UINT64_MAX, 1, 0, 5, 5, 8192, UINT64_MAX, 0, 4}, env);
  EXPECT_EQ(env.get("SLURM_RLIMIT_CPU"), "18446744073709551615");
  EXPECT_FALSE(env.has("SLURM_RLIMIT_FSIZE")) << "not sent";
  EXPECT_EQ(env.get("SLURM_RLIMIT_DATA"), "5");
  EXPECT_EQ(env.get("SLURM_RLIMIT_STACK"), "8192") << "the soft one";
  EXPECT_EQ(env.get("SLURM_RLIMIT_CORE"), "0");
  EXPECT_EQ(env.entries().size(), 4U);
  Environment none;
  set_limit_variables({}, none);
  EXPECT_TRUE(none.entries().empty());
}

HetComponent component(JobId job, std::vector<std::string> nodes, const std::string& list,
                       std::vector<uint32_t> cpus) {
  JobSpec spec;
  spec.name = "demo";
  spec.num_tasks = 3;
  spec.memory_kind = MemoryKind::kPerNode;
  spec.memory_mib = 50;
  return {job,    std::make_shared<const JobSpec>(spec), list, std::move(nodes), std::move(cpus),
          "debug"};
}

TEST(OutputEnv, ScriptOfAHeterogeneousJob) {
  protocol::StepLaunch launch = captured_job();
  launch.het_leader = 1;
  launch.components = {component(1, {"node1", "node2"}, "node[1-2]", {6, 2}),
                       component(2, {"node3"}, "node3", {4})};
  Environment env;
  set_batch_variables(launch, {"node1", 0, ""}, env);
  for (const char* kind : {"HET", "PACK"}) {
    const auto of = [&](const std::string& name, const char* group) {
      return std::string(env.get(name + "_" + kind + "_GROUP_" + group));
    };
    EXPECT_EQ(env.get(std::string("SLURM_") + kind + "_SIZE"), "2");
    EXPECT_EQ(of("SLURM_JOB_ID", "0"), "1");
    EXPECT_EQ(of("SLURM_JOB_ID", "1"), "2");
    EXPECT_EQ(of("SLURM_JOB_NODELIST", "0"), "node[1-2]");
    EXPECT_EQ(of("SLURM_JOB_NODELIST", "1"), "node3");
    EXPECT_EQ(of("SLURM_TASKS_PER_NODE", "1"), "3");
    EXPECT_EQ(of("SLURM_MEM_PER_NODE", "1"), "50");
    EXPECT_EQ(of("SLURM_CLUSTER_NAME", "1"), "");
  }
  EXPECT_EQ(env.get("SLURM_JOB_NODELIST"), "node[1-2]");
}

TEST(OutputEnv, TaskOfAStepInTwoComponents) {
  protocol::StepLaunch launch = captured_job();
  launch.key.id = {2, 5};
  launch.het_leader = 1;
  launch.step = std::make_shared<const StepSpec>();
  launch.components = {component(1, {"node3"}, "node3", {4}),
                       component(2, {"node1", "node3"}, "node[1,3]", {6, 2})};
  HetStepLayout world;
  world.id = {1, 5};
  world.layout.num_tasks = 4;
  world.layout.nodes = {{2, "node3", {0}, 1, "0", 0},
                        {0, "node1", {1, 2}, 2, "0-1", 0},
                        {2, "node3", {3}, 1, "1", 0}};
  launch.layout.nodes.assign(world.layout.nodes.begin() + 1, world.layout.nodes.end());
  launch.layout.num_tasks = 3;
  launch.world = std::make_shared<const HetStepLayout>(world);
  launch.first_node = 1;
  Environment env;
  set_step_variables(launch, {"node3", 1, ""}, env);
  const std::pair<const char*, const char*> wanted[] = {{"SLURM_JOB_ID", "1"},
                                                        {"SLURM_STEP_ID", "5"},
                                                        {"SLURM_NODEID", "2"},
                                                        {"SLURM_NTASKS", "4"},
                                                        {"SLURM_NNODES", "2"},
                                                        {"SLURM_STEP_NODELIST", "node[1,3]"},
                                                        {"SLURM_JOB_NODELIST", "node[1,3]"},
                                                        {"SLURM_JOB_CPUS_PER_NODE", "6(x2)"},
                                                        {"SLURM_TASKS_PER_NODE", "2(x2)"},
                                                        {"SLURM_STEP_NUM_TASKS", "4"},
                                                        {"SLURM_GTIDS", "3"}};
  for (const auto& [name, value] : wanted) EXPECT_EQ(env.get(name), value) << name;
}

// The bug: both threads of each core were told, and a launcher began twice as many tasks.
TEST(OutputEnv, ThreadsThatAreNotUsedAreNotTold) {
  JobSpec spec;
  const NodeAllocation both{.node = 0, .cores = Bitmap::first(3), .cpus = 6};
  EXPECT_EQ(told_cpus(spec, both), 6U);
  spec.threads_per_core = 1;
  EXPECT_EQ(told_cpus(spec, both), 3U);
  EXPECT_EQ(told_cpus(spec, {.node = 0, .cores = Bitmap::first(3), .cpus = 2}), 2U);
  protocol::StepLaunch launch = captured_job();
  launch.job_spec = std::make_shared<const JobSpec>(spec);
  launch.allocation = std::make_shared<const Allocation>(Allocation{{both}, "node1", 6, false});
  launch.allocation_cpus = {told_cpus(spec, both)};
  Environment env;
  set_batch_variables(launch, {"node1", 0, ""}, env);
  EXPECT_EQ(env.get("SLURM_JOB_CPUS_PER_NODE"), "3");
  EXPECT_EQ(env.get("SLURM_TASKS_PER_NODE"), "3");
  EXPECT_EQ(env.get("SLURM_CPUS_ON_NODE"), "3");
}

TEST(OutputEnv, TasksAreDealtToNodesWithRoom) {
  JobSpec spec;
  spec.num_tasks = 4;
  EXPECT_EQ(tasks_per_node(spec, {64, 64}), (std::vector<uint32_t>{2, 2}));
  spec.cpus_per_task = 2;
  EXPECT_EQ(tasks_per_node(spec, {6, 2}), (std::vector<uint32_t>{3, 1}));
  spec.num_tasks = 7;
  EXPECT_EQ(tasks_per_node(spec, {6, 2}), (std::vector<uint32_t>{5, 2}));
  spec.num_tasks = 3;
  spec.ntasks_per_node = 2;
  EXPECT_EQ(tasks_per_node(spec, {4, 4}), (std::vector<uint32_t>{2, 2}))
      << "as many as were said for each";
  spec = {};
  EXPECT_EQ(tasks_per_node(spec, {64, 64}), (std::vector<uint32_t>{64, 64}));
}

TEST(Environment, SetUnsetAndBlock) {
  Environment env = Environment::from_block(std::string_view("A=1\0B=2\0A=3\0=x\0C\0", 18));
  EXPECT_EQ(env.get("A"), "3");
  env.unset("B");
  env.set_default("A", "4");
  env.set("D", "");
  EXPECT_EQ(env.entries(), (std::vector<std::string>{"A=3", "D="}));
  EXPECT_EQ(env.to_block(), std::string("A=3\0D=\0", 7));
}

// The bug: names in descending order took the square of their number, before the step daemon heard
// any order.
TEST(Environment, ManyNamesAreSortedOnce) {
  std::string block;
  for (uint32_t i = 400'000; i > 0; --i) block += fmt::format("{:06}=", i) + '\0';
  const auto before = cpu_time();
  const Environment env = Environment::from_block(block);
  EXPECT_LT(cpu_time() - before, std::chrono::seconds(5));
  EXPECT_TRUE(env.has("000001") && env.has("400000"));
  EXPECT_EQ(env.to_block(), block);
}

}  // namespace
}  // namespace sluice
