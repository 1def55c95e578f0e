// Every kind of event and what the log says of it.
#include "ctld/logs/event_log.hpp"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ctld/logs/task_lines.hpp"
#include "unit/sched/world.hpp"

namespace sluice::ctld {
namespace {

using log::Level;
using log::Line;
using namespace state;  // NOLINT(google-build-using-namespace): the names of all events

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest() {
    world.up();
    job = world.submit(sched::World::spec(2, 10));
    NodeHardware found;
    found.address = "10.0.0.1";
    found.cpus = 4;
    found.real_memory_mib = 1000;
    found.version = "25.11.0";
    hardware = std::make_shared<const NodeHardware>(found);
    auto given = std::make_shared<Allocation>();
    given->node_list = "n1";
    given->cpus = 2;
    allocation = given;
    Step one;
    one.id = {job, kBatchStep};
    auto layout = std::make_shared<StepLayout>();
    layout->num_tasks = 1;
    layout->node_list = "n1";
    one.layout = layout;
    step = std::make_shared<const Step>(one);
  }
  std::vector<Line> lines(const Event& event, uint32_t by = UINT32_MAX,
                          Level most = Level::kInfo) const {
    return log_lines({world.state, world.state, by, most}, event);
  }
  static NodeStateChanged node_state(NodeBaseState base, NodeFlags flags, const char* reason = "") {
    return {.node = 0, .base = base, .flags = flags, .reason = reason};
  }

  sched::World world{2, 4};
  JobId job = kNoJob;
  std::shared_ptr<const NodeHardware> hardware;
  std::shared_ptr<const Allocation> allocation;
  std::shared_ptr<const Step> step;
};

struct Row {
  Event event;
  std::vector<Line> at_info;
  uint32_t by = UINT32_MAX;
};

Line info(std::string text) { return {Level::kInfo, std::move(text)}; }
Line error(std::string text) { return {Level::kError, std::move(text)}; }

TEST_F(EventLogTest, OfEveryKind) {
  const Job& record = world.state.jobs.at(job);
  auto config = std::make_shared<ClusterConfig>(world.config);
  auto partition = std::make_shared<PartitionConfig>();
  partition->name = "debug";
  partition->nodes_text = "ALL";
  NodeConfig fresh;
  fresh.name = "x1";
  Reservation reserved;
  reserved.id = 7;
  reserved.name = "repair";
  JobStarted started{.record = job, .partition = "debug"};
  started.starts.push_back({kNoTask, job, allocation});
  const std::vector<Line> none;
  const Row rows[] = {
      {EpochStarted{"abc", 3}, {info("Running as primary controller of cluster abc, epoch 3")}},
      {ConfigReplaced{config}, {info("read_slurm_conf: 2 nodes, 1 partitions")}},
      {StateForgotten{}, {error("all jobs and changed states are forgotten (slurmctld -c)")}},
      {JobSubmitted{record},
       {info(
           "_slurm_rpc_submit_batch_job: JobId=1 InitPrio=4294901759 usec=0 uid=1001 Partition=debug")},
       1001},
      {JobUpdated{.job = job}, {info("_slurm_rpc_update_job: complete JobId=1 uid=0")}, 0},
      {JobHeld{.job = job, .reason = JobReason::kJobHeldUser},
       {info("sched: _hold_job_rec: hold on JobId=1 by uid 0 Reason=JobHeldUser")},
       0},
      {JobReleased{.job = job},
       {info("sched: _release_job_rec: release hold on JobId=1 by uid 1001")},
       1001},
      {JobBecameEligible{.job = job}, none},
      {JobDependencyChanged{job, "", JobReason::kDependencyNeverSatisfied},
       {info("JobId=1 waits for no other job Reason=DependencyNeverSatisfied")}},
      {ArrayTasksSplit{job, {{2, 9}}}, none},
      {ArrayTasksCancelled{
           .array_job = job, .tasks = IndexSet::parse("2-4").value(), .cancelled_by = 1001},
       {info("_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=1_[2-4] uid 1001")}},
      {started, {info("sched: Allocate JobId=1 NodeList=n1 #CPUs=2 Partition=debug")}},
      {JobPrepared{.job = job}, none},
      {JobSuspended{.job = job}, {info("_slurm_rpc_suspend(suspend) for JobId=1 by uid 0")}, 0},
      {JobResumed{.job = job}, {info("_slurm_rpc_suspend(resume) for JobId=1 by uid 0")}, 0},
      {JobPreempted{.job = job, .preemptor = 5}, {info("JobId=1 is to make room for JobId=5")}},
      {JobShrunk{.job = job, .allocation = allocation, .nodes = Bitmap::first(1)},
       {info("JobId=1 keeps NodeList=n1, gives back n1 by uid 0")},
       0},
      {JobSignaled{.job = job, .step = 3, .signal = 10},
       {info("job_signal: request of signal 10 to JobId=1 StepId=1.3 by uid 1001")},
       1001},
      {JobLimitNear{job, 80}, none},
      {JobCompleting{.job = job, .exit_status = 0x300},
       {info("_job_complete: JobId=1 WEXITSTATUS 3")}},
      {JobNodesReleased{.job = job}, none},
      {JobEnded{.job = job, .state = JobState::kCancelled, .cancelled_by = 1001},
       {info("_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=1 uid 1001"),
        info("_job_complete: JobId=1 done CANCELLED")}},
      {JobRequeued{.job = job, .restart_count = 2}, {info("Requeued JobId=1, restart 2")}},
      {JobRequeueCancelled{job, 1001},
       {info("_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=1 uid 1001: it is not requeued")}},
      {JobTerminateResent{.job = job}, {info("Resending TERMINATE_JOB request JobId=1")}},
      {JobsPurged{{job}}, none},
      {ArrayTasksFolded{}, none},
      {UserGroupsFound{}, none},
      {AccountingChanged{.version = 3}, none},
      {UsageDecayed{.factor = 0},
       {info("accounting: usage is forgotten (PriorityUsageResetPeriod)")}},
      {UsageReset{{3}, {}, {"ann\nphysics\n"}, {"high"}},
       {info("accounting: usage of 2 associations and 1 QOS is forgotten")}},
      {StepCreated{step},
       {info("_slurm_rpc_job_step_create: JobId=1 StepId=1.batch NodeList=n1 Tasks=1")}},
      {StepNodesEnded{.id = {job, 0}}, none},
      {StepEnded{.id = {job, kBatchStep}, .state = StepState::kFailed, .exit_status = 9},
       {info("JobId=1 StepId=1.batch FAILED WTERMSIG 9")}},
      {StepEndOrdered{.id = {job, 0}, .by = 1001},
       {info("_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=1 StepId=1.0 uid 1001")}},
      {StepUpdated{.id = {job, 0}},
       {info("_slurm_rpc_update_step: complete JobId=1 StepId=1.0 by uid 0")},
       0},
      {NodeRegistered{.node = 0, .hardware = hardware},
       {info("Node n1 registered: CPUs=4 RealMemory=1000 Version=25.11.0 address 10.0.0.1")}},
      {node_state(NodeBaseState::kIdle, kNodeDrain, "fan"),
       {info("update_node: node n1 reason set to: fan"),
        info("update_node: node n1 state set to IDLE+DRAIN by uid 0")},
       0},
      {NodeUpdated{.node = 1}, {info("update_node: node n2 changed by uid 0")}, 0},
      {PartitionChanged{partition},
       {info("update_part: partition debug State=UP Nodes=ALL by uid 0: Default=NO")},
       0},
      {PartitionDeleted{"debug"}, {info("delete_partition: partition debug by uid 0")}, 0},
      {NodesCreated{{fresh}}, {info("create_nodes: node x1 by uid 0")}, 0},
      {NodesDeleted{{"x1"}}, {info("delete_nodes: node x1 by uid 0")}, 0},
      {TriggerSet{{.id = 4, .uid = 1001, .program = "/bin/true"}},
       {info("trigger 4 set by uid 1001: /bin/true")},
       1001},
      {TriggersCleared{{4}}, {info("trigger 4 cleared by uid 1001")}, 1001},
      {TriggerFired{}, none},
      {CrontabReplaced{{.uid = 1001}}, {info("crontab of uid 1001: 0 jobs by uid 1001")}, 1001},
      {ReservationChanged{reserved},
       {info(
           "sched: Created reservation=repair users=(null) nodes= start=Unknown end=Unknown by uid 0")},
       0},
      {ReservationDeleted{7}, {info("sched: Deleted reservation number 7 by uid 0")}, 0},
      {ReservationTurned{7, true, "repair"}, {info("sched: reservation repair begins")}, 0},
  };
  std::set<size_t> kinds;
  for (const Row& row : rows) {
    kinds.insert(row.event.index());
    std::vector<Line> said = lines(row.event, row.by);
    EXPECT_EQ(said.size(), row.at_info.size()) << name_of(row.event);
    for (size_t i = 0; i < std::min(said.size(), row.at_info.size()); ++i) {
      EXPECT_EQ(said[i].text, row.at_info[i].text) << name_of(row.event);
      EXPECT_EQ(said[i].level, row.at_info[i].level) << name_of(row.event);
    }
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<AnyEvent>) << "an event has no row";
}

// The bug: one request of a user wrote 90,000 times the same into the log.
TEST_F(EventLogTest, LinesOfOneTextAreOneLine) {
  EXPECT_EQ(lines_once({info("a"), error("b"), info("a"), info("c"), info("a")}),
            (std::vector{info("a (3 times)"), error("b"), info("c")}));
  EXPECT_EQ(lines_once({info("b"), info("a")}), (std::vector{info("b"), info("a")}));
  EXPECT_TRUE(lines_once({}).empty());
  EXPECT_EQ(lines_once(std::vector(90'000, info("a"))), std::vector{info("a (90000 times)")});
}

// The bug: a request of some bytes about 28,000 tasks of an array wrote 2.6 MB of log.
TEST_F(EventLogTest, ManyTasksOfAnArrayAreOneLine) {
  const auto updated = [](const std::string& id) {
    return info("update: complete JobId=" + id + " uid=7");
  };
  std::vector<Line> lines;
  for (int task = 1; task <= 100; ++task)
    lines.push_back(updated(fmt::format("6_{}({})", task, task + 6)));
  EXPECT_EQ(tasks_in_one_line(lines), lines) << "a hundred are told each";
  lines.push_back(updated("6_200(206)"));
  lines.push_back(updated("8_1(9)"));
  lines.push_back(updated("6"));
  EXPECT_EQ(tasks_in_one_line(lines),
            (std::vector{updated("6_[1-100,200]"), updated("8_1(9)"), updated("6")}));
  for (int task = 1001; task < 2000; task += 2)
    lines.push_back(updated(fmt::format("6_{}({})", task, task + 6)));
  const std::vector<Line> folded = tasks_in_one_line(lines);
  ASSERT_EQ(folded.size(), 3U);
  EXPECT_LT(folded[0].text.size(), 300U);
  EXPECT_TRUE(folded[0].text.ends_with(",...] uid=7")) << folded[0].text;
}

TEST_F(EventLogTest, EndsSayWhyAndByWhom) {
  const auto texts = [&](const JobCompleting& event) {
    std::string all;
    for (const Line& line : lines(event)) all += line.text + "\n";
    return all;
  };
  EXPECT_EQ(
      texts({.job = job, .state = JobState::kCancelled, .exit_status = 15, .cancelled_by = 1001}),
      "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=1 uid 1001\n_job_complete: JobId=1 WTERMSIG 15 CANCELLED\n");
  EXPECT_EQ(
      texts({.job = job, .state = JobState::kTimeout, .reason = JobReason::kTimeLimit}),
      "Time limit exhausted for JobId=1\n_job_complete: JobId=1 WEXITSTATUS 0 TIMEOUT Reason=TimeLimit\n");
  EXPECT_EQ(
      texts({.job = job, .state = JobState::kNodeFail, .flags = kJobRequeued, .failed_node = "n1"}),
      "Killing JobId=1 on failed node n1\n_job_complete: JobId=1 WEXITSTATUS 0 NODE_FAIL\nRequeuing JobId=1\n");
  EXPECT_EQ(
      texts({.job = job,
             .state = JobState::kNodeFail,
             .description = "its step daemon died",
             .failed_node = "n1"}),
      "Killing JobId=1 on node n1: its step daemon died\n_job_complete: JobId=1 WEXITSTATUS 0 NODE_FAIL (its step daemon died)\n");
}

TEST_F(EventLogTest, NodesThatAreLostAndComeBack) {
  EXPECT_EQ(lines(node_state(NodeBaseState::kIdle, kNodeNoRespond)),
            std::vector{error("Nodes n1 not responding")});
  EXPECT_EQ(lines(node_state(NodeBaseState::kDown, kNodeNoRespond, "Not responding")),
            std::vector{error("node n1 state set to DOWN+NOT_RESPONDING Reason=Not responding")});
  EXPECT_EQ(lines(node_state(NodeBaseState::kIdle, kNodeDrain | kNodeInvalidReg, "Low CPUs")),
            std::vector{error("node n1 state set to IDLE+DRAIN+INVALID_REG Reason=Low CPUs")});
  const ClusterState before = world.state;
  state::apply(world.state, node_state(NodeBaseState::kIdle, kNodeNoRespond));
  EXPECT_EQ(lines(node_state(NodeBaseState::kIdle, 0)),
            std::vector{info("Node n1 now responding")});
}

// The bug: a planned reboot was an error, and one that failed was none.
TEST_F(EventLogTest, RebootsThatFailAreErrors) {
  const auto issued =
      node_state(NodeBaseState::kDown, kNodeDrain | kNodeRebootIssued, "kernel : reboot issued");
  EXPECT_EQ(lines(issued), std::vector{info("node n1 state set to DOWN+DRAIN+REBOOT_ISSUED "
                                            "Reason=kernel : reboot issued")});
  state::apply(world.state, issued);
  EXPECT_EQ(lines(node_state(NodeBaseState::kDown, kNodeNoRespond, "reboot timed out")),
            std::vector{error("node n1 state set to DOWN+NOT_RESPONDING Reason=reboot timed out")});
  EXPECT_EQ(lines(node_state(NodeBaseState::kDown, 0, "kernel : reboot complete")),
            std::vector{info("node n1 state set to DOWN Reason=kernel : reboot complete")});
}

TEST_F(EventLogTest, TasksOfArraysHaveBothNames) {
  JobSpec array = sched::World::spec(1, 10);
  array.array = "1-3";
  const JobId id = world.submit(array);
  EXPECT_EQ(job_id_text(world.state, id), std::to_string(id));
  state::apply(world.state, ArrayTasksSplit{id, {{2, id + 10}}});
  EXPECT_EQ(job_id_text(world.state, id + 10),
            std::to_string(id) + "_2(" + std::to_string(id + 10) + ")");
  EXPECT_EQ(job_id_text(world.state, 4711), "4711");
}

TEST_F(EventLogTest, DebugSaysMore) {
  EXPECT_EQ(lines(JobBecameEligible{.job = job}, UINT32_MAX, Level::kDebug),
            (std::vector<Line>{{Level::kDebug, "JobId=1 is eligible"}}));
}

}  // namespace
}  // namespace sluice::ctld
