// What scontrol shows of canned records is, letter for letter, what Slurm 26.05 printed of them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "common/tables/job_show.hpp"
#include "common/tables/node_show.hpp"
#include "common/tables/partition_show.hpp"
#include "common/tables/step_fields.hpp"
#include "unit/cli/canned_jobs.hpp"

namespace sluice {
namespace {

std::string golden(const std::string& name) {
  std::ifstream file("tests/golden/show/" + name + ".txt");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

RenderContext context() {
  RenderContext made;
  made.now = test::capture_time();
  made.cluster = "demo";
  made.default_mem_per_cpu_mib = 64;
  made.accounting_tres = {"cpu", "mem", "gres/gpu", "gres/gpumem"};
  return made;
}

std::string shown(const protocol::JobRecord& record) {
  return show_job({&record, kNoTask, {}}, context(), false, false);
}

// The capture's scheduler column says which pass looked last, which is not kept.
std::string by_main(std::string text) {
  for (const std::string other : {"Scheduler=Backfill:*", "Scheduler=Backfill"}) {
    const size_t at = text.find(other);
    if (at != std::string::npos) text.replace(at, other.size(), "Scheduler=Main");
  }
  return text;
}

TEST(ShowJob, FinishedOnTwoNodes) { EXPECT_EQ(shown(test::finished_job()), golden("job-1")); }
TEST(ShowJob, RunningTaskOfAnArray) {
  EXPECT_EQ(shown(test::running_task(16, 9, "2026-11-21T02:48:27")), golden("job-16"));
}
TEST(ShowJob, WaitingTasksOfAnArray) { EXPECT_EQ(shown(test::waiting_tasks()), golden("job-2")); }
TEST(ShowJob, WaitingWithAForecast) {
  EXPECT_EQ(shown(test::waiting_job()), by_main(golden("job-23")));
}

TEST(ShowJob, OneLineHasNoLineBreak) {
  const auto record = test::held_job();
  const std::string text = show_job({&record, kNoTask, {}}, context(), true, false);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_NE(text.find("JobId=4 JobName=wrap UserId=root(0)"), std::string::npos);
  EXPECT_NE(text.find("Priority=0 "), std::string::npos);
  EXPECT_NE(text.find("Reason=JobHeldUser "), std::string::npos);
}

TEST(ShowJob, DetailsSayWhereCpusAre) {
  auto record = test::finished_job();
  Allocation allocation = *record.job.allocation;
  allocation.nodes[0] = {0, Bitmap::first(6), 6, 600, {{"gpu", "a100", 1, Bitmap::first(1), {}}}};
  allocation.nodes[1] = {1, Bitmap::first(2), 2, 200, {}};
  record.job.allocation = std::make_shared<const Allocation>(allocation);
  const std::string text = show_job({&record, kNoTask, {}}, context(), false, true);
  EXPECT_NE(text.find("\n     Nodes=node1 CPU_IDs=0-5 Mem=600 GRES=gpu:a100:1(IDX:0)\n"
                      "     Nodes=node2 CPU_IDs=0-1 Mem=200 GRES=\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n   JOB_GRES=gpu:a100:1\n"), std::string::npos);
  EXPECT_NE(text.find("\n   DerivedExitCode=0:0\n"), std::string::npos);
}

TEST(ShowJob, ASignalIsNamedInTheReason) {
  auto record = test::held_job();
  record.job.state = JobState::kFailed;
  record.job.reason = JobReason::kRaisedSignal;
  record.job.exit_status = 9;
  EXPECT_NE(shown(record).find("Reason=RaisedSignal:9(Killed) "), std::string::npos);
}

protocol::NodeRecord node1() {
  NodeConfig config;
  config.hostname = "vm";
  config.address = "127.0.0.1";
  config.port = 19900;
  config.cpus = 8;
  config.sockets = 2;
  config.cores_per_socket = 4;
  config.real_memory_mib = 4096;
  config.features = {"fast", "big"};
  config.gres = "gpu:a100:2";
  NodeHardware hardware;
  hardware.architecture = "x86_64";
  hardware.devices = {{.name = "gpu", .type = "a100", .count = 2, .files = {"/dev/nvidia0", "/dev/nvidia1"}}};
  hardware.version = "26.05.3";
  hardware.operating_system = "Linux 6.18.44-fc-v595 #1 SMP PREEMPT_DYNAMIC @0";
  hardware.boot_time = test::at("2026-11-21T01:07:53");
  hardware.agent_start = test::at("2026-11-21T02:37:59");
  protocol::NodeRecord record;
  record.node.name = "node1";
  record.node.config = std::make_shared<const NodeConfig>(config);
  record.node.hardware = std::make_shared<const NodeHardware>(hardware);
  record.node.last_busy = test::at("2026-11-21T02:37:59");
  record.soft.load = 0.19;
  record.soft.free_memory_mib = 23247;
  record.used_cpus = 8;
  record.used_memory_mib = 656;
  record.used_gres = {{"gpu", "a100", 1, Bitmap::first(1), {}}};
  record.shown_base = NodeBaseState::kAllocated;
  record.partitions = {"debug"};
  return record;
}

TEST(ShowNode, AsCaptured) {
  EXPECT_EQ(show_node(node1(), context(), false, false), golden("node-node1"));
  EXPECT_NE(show_node(node1(), context(), false, true).find("\n   GresUsed=gpu:a100:1(IDX:0)\n"), std::string::npos);
}

TEST(ShowNode, ReasonWithUserAndTime) {
  auto record = node1();
  record.node.reason = "testing it";
  record.node.reason_time = test::capture_time();
  EXPECT_NE(show_node(record, context(), false, false)
                .find("\n   Reason=testing it [0@2026-11-21T02:49:28]\n"),
            std::string::npos);
}

TEST(ShowPartition, AsCaptured) {
  protocol::PartitionRecord record;
  record.config.name = "debug";
  record.config.is_default = true;
  record.config.default_time = 30;
  record.config.max_time = 1440;
  record.config.node_sets = {"ALL"};
  record.node_list = "node[1-4]";
  record.total_cpus = 32;
  record.total_nodes = 4;
  const std::vector<protocol::NodeRecord> nodes(4, node1());
  EXPECT_EQ(show_partition(record, partition_tres(record, nodes, context()), context(), false),
            golden("partition-debug"));
}

TEST(ShowStep, BatchStepOfATask) {
  auto record = test::running_task(16, 9, "2026-11-21T02:48:27");
  Step step;
  step.id = {16, kBatchStep};
  step.state = StepState::kRunning;
  step.start = test::at("2026-11-21T02:48:27");
  StepLayout layout;
  layout.nodes.resize(1);
  layout.num_tasks = 1;
  layout.node_list = "node1";
  step.layout = std::make_shared<const StepLayout>(layout);
  EXPECT_EQ(show_step({&record, &step}, context(), false), golden("step-2_9.batch"));
}

}  // namespace
}  // namespace sluice
