// What scontrol shows of canned records is, letter for letter, what Slurm 26.05 printed of them.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "cli/format/statistics_text.hpp"
#include "cli/format/job_show.hpp"
#include "cli/format/node_show.hpp"
#include "common/format/partition_show.hpp"
#include "common/format/reservation_keys.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/node_query.hpp"
#include "cli/format/step_fields.hpp"
#include "unit/cli/canned_cluster.hpp"

namespace sluice {
namespace {

std::string golden(const std::string& name) {
  std::ifstream file("tests/golden/show/" + name + ".txt");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string shown(const protocol::JobRecord& record) {
  return show_job({&record, kNoTask, {}}, test::capture_context(), false, false);
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
  const std::string text = show_job({&record, kNoTask, {}}, test::capture_context(), true, false);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_NE(text.find("JobId=4 JobName=wrap UserId=root(0)"), std::string::npos);
  EXPECT_NE(text.find("Priority=0 "), std::string::npos);
  EXPECT_NE(text.find("Reason=JobHeldUser "), std::string::npos);
}

// The bug: of a job that runs nothing told of it, though it is held once it is queued again.
TEST(ShowJob, AHoldIsTheReasonOfAJobThatRuns) {
  auto record = test::running_task(16, 9, "2026-11-21T02:48:27");
  record.job.hold = HoldKind::kAdmin;
  for (const JobState state : {JobState::kRunning, JobState::kSuspended, JobState::kCancelled}) {
    record.job.state = state;
    EXPECT_NE(shown(record).find(" Reason=JobHeldAdmin "), std::string::npos);
  }
  record.job.hold = HoldKind::kUser;
  EXPECT_NE(shown(record).find(" Reason=JobHeldUser "), std::string::npos);
  record.job.reason = JobReason::kNonZeroExitCode;
  EXPECT_NE(shown(record).find(" Reason=NonZeroExitCode "), std::string::npos)
      << "why it ended says more";
}

// The bug: the time was not known until it had come.
TEST(ShowJob, AJobThatIsQueuedAgainAgesFromItsNextTime) {
  auto record = test::held_job();
  record.job.eligible = test::at("2026-11-21T02:50:25");
  EXPECT_NE(shown(record).find("AccrueTime=Unknown\n"), std::string::npos);
  record.job.restart_count = 1;
  EXPECT_NE(shown(record).find("AccrueTime=2026-11-21T02:50:25\n"), std::string::npos);
}

// The bug: of NumCPUs=4-8 only the least was told.
TEST(ShowJob, CpusMayBeARangeWhileTheJobWaits) {
  auto record = test::held_job();
  JobSpec spec = *record.job.spec;
  spec.min_cpus = 4;
  spec.max_cpus = 8;
  record.job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_NE(shown(record).find(" NumCPUs=4-8 NumTasks="), std::string::npos);
  record.job.state = JobState::kCancelled;
  EXPECT_NE(shown(record).find(" NumCPUs=4 NumTasks="), std::string::npos);
}

// The bug: a number below what the tasks want was taken and not shown.
TEST(ShowJob, CpusMayBeFewerThanTasks) {
  auto record = test::held_job();
  JobSpec spec = *record.job.spec;
  spec.num_tasks = 4;
  spec.min_cpus = 2;
  record.job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_NE(shown(record).find(" NumCPUs=2 NumTasks=4 "), std::string::npos);
}

TEST(ShowJob, DetailsSayWhereCpusAre) {
  auto record = test::finished_job();
  Allocation allocation = *record.job.allocation;
  allocation.nodes[0] = {0, Bitmap::first(6), 6, 600, {{"gpu", "a100", 1, Bitmap::first(1), {}}}};
  allocation.nodes[1] = {1, Bitmap::first(2), 2, 200, {}};
  record.job.allocation = std::make_shared<const Allocation>(allocation);
  const std::string text = show_job({&record, kNoTask, {}}, test::capture_context(), false, true);
  EXPECT_NE(text.find("\n     Nodes=node1 CPU_IDs=0-5 Mem=600 GRES=gpu:a100:1(IDX:0)\n"
                      "     Nodes=node2 CPU_IDs=0-1 Mem=200 GRES=\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n   JOB_GRES=gpu:a100:1\n"), std::string::npos);
  EXPECT_NE(text.find("\n   DerivedExitCode=0:0\n"), std::string::npos);
}

// The bugs: nodes shared a line whose cores have different numbers of threads, and an odd number of
// CPUs was shown as one of each core.
TEST(ShowJob, DetailsOfNodesOfOtherThreads) {
  auto record = test::finished_job();
  Allocation allocation = *record.job.allocation;
  allocation.nodes[0] = {0, Bitmap::first(2), 4, 200, {}};
  allocation.nodes[1] = {1, Bitmap::first(2), 2, 200, {}};
  record.job.allocation = std::make_shared<const Allocation>(allocation);
  const auto text = [&] {
    return show_job({&record, kNoTask, {}}, test::capture_context(), false, true);
  };
  EXPECT_NE(text().find("\n     Nodes=node1 CPU_IDs=0-3 Mem=200 GRES=\n"
                        "     Nodes=node2 CPU_IDs=0-1 Mem=200 GRES=\n"),
            std::string::npos)
      << text();
  allocation.nodes[0].cpus = 3;
  allocation.nodes[1] = {1, Bitmap::first(4), 4, 200, {}};
  record.job.allocation = std::make_shared<const Allocation>(allocation);
  EXPECT_NE(text().find("\n     Nodes=node[1-2] CPU_IDs=0-3 Mem=200 GRES=\n"), std::string::npos)
      << text();
}

TEST(ShowJob, ASignalIsNamedInTheReason) {
  auto record = test::held_job();
  record.job.state = JobState::kFailed;
  record.job.reason = JobReason::kRaisedSignal;
  record.job.exit_status = 9;
  EXPECT_NE(shown(record).find("Reason=RaisedSignal:9(Killed) "), std::string::npos);
}

TEST(ShowJob, WhatEachTaskHas) {
  auto record = test::finished_job();
  JobSpec spec = *record.job.spec;
  spec.tres_per_task = "gres/gpu:1";
  record.job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_NE(shown(record).find("\n   TresPerTask=cpu=2,gres/gpu:1\n"), std::string::npos);
  spec.cpus_per_task = 0;
  record.job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_NE(shown(record).find("\n   TresPerTask=gres/gpu:1\n"), std::string::npos);
}

TEST(ShowJob, TheNodeWhoseLossEndedIt) {
  auto record = test::finished_job();
  EXPECT_EQ(shown(record).find("FailedNode"), std::string::npos);
  record.job.failed_node = "node2";
  EXPECT_NE(shown(record).find("\n   FailedNode=node2\n"), std::string::npos);
}

TEST(ShowJob, FlagsOfGres) {
  auto record = test::finished_job();
  JobSpec spec = *record.job.spec;
  EXPECT_EQ(shown(record).find("GresEnforceBind"), std::string::npos);
  spec.gres_flags = "enforce-binding,allow-task-sharing,one-task-per-sharing";
  record.job.spec = std::make_shared<const JobSpec>(spec);
  for (const char* key : {"GresEnforceBind", "GresAllowTaskSharing", "GresOneTaskPerSharing"}) {
    EXPECT_NE(shown(record).find(std::string("\n   ") + key + "=Yes\n"), std::string::npos) << key;
  }
  spec.gres_flags = "disable-binding";
  record.job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_NE(shown(record).find("\n   GresEnforceBind=No\n"), std::string::npos);
}

TEST(ShowNode, AsCaptured) {
  EXPECT_EQ(show_node(test::node1(), test::capture_context(), false, false), golden("node-node1"));
  EXPECT_NE(show_node(test::node1(), test::capture_context(), false, true)
                .find("\n   GresUsed=gpu:a100:1(IDX:0)\n"),
            std::string::npos);
}

TEST(ShowNode, ReasonWithUserAndTime) {
  auto record = test::node1();
  record.node.reason = "testing it";
  record.node.reason_time = test::capture_time();
  EXPECT_NE(show_node(record, test::capture_context(), false, false)
                .find("\n   Reason=testing it [0@2026-11-21T02:49:28]\n"),
            std::string::npos);
}

TEST(ShowPartition, AsCaptured) {
  const protocol::PartitionRecord record = test::debug_partition();
  const std::vector<protocol::NodeRecord> nodes(4, test::node1());
  EXPECT_EQ(show_partition(record, partition_tres(record, nodes, test::capture_context()),
                           test::capture_context(), false),
            golden("partition-debug"));
}

TEST(ShowStep, BatchStepOfATask) {
  auto record = test::running_task(16, 9, "2026-11-21T02:48:27");
  const auto step = test::batch_step(16, "node1", "2026-11-21T02:48:27");
  EXPECT_EQ(show_step({&record, step.get()}, test::capture_context(), false),
            golden("step-2_9.batch"));
}

TEST(ShowStep, StepOfAnSrun) {
  const auto record = test::job_with_a_step();
  const auto step = test::srun_step();
  EXPECT_EQ(show_step({&record, step.get()}, test::capture_context(), false), golden("step-24.0"));
}

// The bug: it was always said to be in blocks.
TEST(ShowStep, OrderOfNoMoreTasksThanNodes) {
  auto record = test::job_with_a_step();
  Step step = *test::srun_step();
  const auto says = [&](std::string_view order) {
    const std::string text = show_step({&record, &step}, test::capture_context(), false);
    return text.find("Dist=" + std::string(order) + "\n") != std::string::npos;
  };
  EXPECT_TRUE(says("Block"));
  StepLayout layout = *step.layout;
  layout.num_tasks = 1;
  step.layout = std::make_shared<const StepLayout>(layout);
  EXPECT_TRUE(says("Cyclic"));
  JobSpec job = *record.job.spec;
  job.batch = false;  // salloc's
  record.job.spec = std::make_shared<const JobSpec>(job);
  EXPECT_TRUE(says("Cyclic"));
  StepSpec spec = *step.spec;
  spec.own_job = true;  // srun's own
  step.spec = std::make_shared<const StepSpec>(spec);
  EXPECT_TRUE(says("Block"));
  for (const auto& [asked, shown] : std::initializer_list<std::pair<const char*, const char*>>{
           {"block", "Block"},
           {"cyclic", "Cyclic"},
           {"Block:block", "BBlock"},
           {"block:cyclic", "BCyclic"},
           {"block:fcyclic", "BFCyclic"},
           {"cyclic:block", "CBlock"},
           {"cyclic:*", "CCyclic"},
           {"cyclic:fcyclic", "CFCyclic"},
           {"*:cyclic", "BCyclic"},
           {"plane=2", "Plane"},
           {"arbitrary", "arbitrary task distribution"},
           {"cyclic,NoPack", "Cyclic,NoPack"},
           {"block,pack", "Block,Pack"},
           {"block:cyclic:block", "BCyclicBlock"}}) {
    spec.distribution = asked;
    step.spec = std::make_shared<const StepSpec>(spec);
    EXPECT_TRUE(says(shown)) << asked;
  }
}

TEST(ShowReservation, AsCaptured) {
  EXPECT_EQ(show_reservation(test::maintenance(), false), golden("reservation-maint"));
}

TEST(ShowReservation, OfCoresAndLicenses) {
  protocol::ReservationRecord record = test::maintenance();
  record.reservation.name = "part";
  record.reservation.flags = kReservationSpecNodes;
  record.reservation.licenses = "foo:4,bar";
  record.reservation.nodes.set(4);
  record.node_list = "node[4-5]";
  record.cores = record.cpus = 4;
  Bitmap three = Bitmap::first(2);
  three.set(7);
  record.core_ids = {{"node4", three}, {"node5", Bitmap::first(1)}};
  EXPECT_EQ(show_reservation(record, false) + "\n" + show_reservation(record, true),
            golden("reservation-parts"));
}

TEST(Sdiag, AsCaptured) {
  // seconds since the epoch depend on where the test runs
  const std::regex seconds("\\([0-9]{10}\\)");
  const std::string text = cli::statistics_text(test::statistics(), cli::CallOrder::kCount);
  EXPECT_EQ(std::regex_replace(text, seconds, "(SECONDS)"), golden("sdiag"));
}

// What Slurm has no like of.
TEST(Sdiag, StagesAndOrdersThatWait) {
  protocol::QueryStatisticsReply counts = test::statistics();
  protocol::PassKind kind;
  kind.name = "full";
  kind.passes = 4;
  kind.last_us = 12;
  kind.max_us = 50;
  kind.total_us = 100;
  kind.planned = 7;
  kind.stages = {{"place", 3, 30, 60}};
  counts.passes = {kind};
  counts.messages_waiting = 2;
  counts.messages_sent = 5;
  counts.waiting_orders = {{"TerminateJob", "n1"}, {"TerminateJob", "n[2-3]"}};
  counts.is_planning = true;
  const std::string text = cli::statistics_text(counts, cli::CallOrder::kCount);
  const auto has = [&text](std::string_view what) { return text.find(what) != std::string::npos; };
  EXPECT_TRUE(
      has("Scheduling stages (microseconds)\n\tfull passes: 4, jobs planned: 7, plans kept: 0\n"
          "\t\tplace       last:3        max:30       ave:15       sum:60\n"
          "\t\twhole       last:12       max:50       ave:25       sum:100\n\n"))
      << text;
  EXPECT_TRUE(has("Agent queue size:     2\nAgent count:          5\n"));
  EXPECT_TRUE(has(
      "\nBackfilling stats (WARNING: data obtained in the middle of backfilling execution.)\n"));
  EXPECT_TRUE(
      has("\nPending RPC statistics\n"
          "\tREQUEST_TERMINATE_JOB                   ( 6011) count:2     \n\nPending RPCs\n"
          "\t 1: REQUEST_TERMINATE_JOB                n1\n"))
      << text;
  const Json made = cli::statistics_json(counts);
  EXPECT_EQ(made["scheduler_passes"][0]["stages"][0]["mean"], 15);
  EXPECT_EQ(made["pending_rpcs"][0]["count"], 2);
  EXPECT_EQ(made["bf_active"], true);
}

// The same counts in JSON. Slurm's mean of the table's size is another there than in the text; ours
// is the text's.
TEST(Sdiag, TheSameNumbersInJson) {
  const Json made = cli::statistics_json(test::statistics());
  const std::pair<const char*, uint64_t> captured[] = {
      {"schedule_cycle_max", 4335},
      {"schedule_cycle_last", 133},
      {"schedule_cycle_sum", 18830},
      {"schedule_cycle_total", 22},
      {"schedule_cycle_mean", 855},
      {"schedule_cycle_mean_depth", 2},
      {"schedule_cycle_per_minute", 2},
      {"schedule_cycle_depth", 55},
      {"schedule_queue_length", 2},
      {"bf_cycle_counter", 23},
      {"bf_cycle_mean", 296},
      {"bf_depth_mean", 2},
      {"bf_depth_mean_try", 2},
      {"bf_cycle_sum", 6821},
      {"bf_cycle_last", 506},
      {"bf_cycle_max", 506},
      {"bf_last_depth", 2},
      {"bf_last_depth_try", 2},
      {"bf_depth_sum", 47},
      {"bf_depth_try_sum", 47},
      {"bf_queue_len", 2},
      {"bf_queue_len_mean", 2},
      {"bf_queue_len_sum", 47},
      {"bf_table_size", 5},
      {"bf_table_size_sum", 92},
      {"bf_table_size_mean", 4},
      {"bf_backfilled_jobs", 2},
      {"bf_last_backfilled_jobs", 2},
      {"jobs_started", 18},
      {"jobs_completed", 14},
      {"jobs_canceled", 2},
      {"jobs_failed", 0},
      {"jobs_pending", 11},
      {"jobs_running", 4},
  };
  for (const auto& [key, value] : captured) EXPECT_EQ(made[key], value) << key;
  EXPECT_EQ(made["schedule_exit"]["end_job_queue"], 22);
  EXPECT_EQ(made["bf_exit"]["end_job_queue"], 23);
  const Json& call = made["rpcs_by_message_type"][0];
  EXPECT_EQ(call["message_type"], "REQUEST_NODE_INFO");
  EXPECT_EQ(call["average_time"], json_number(146));
}

}  // namespace
}  // namespace sluice
