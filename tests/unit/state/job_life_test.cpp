// Jobs from submission to purge.
#include "support/core_fixture.hpp"

#include <csignal>

#include "ctld/state/decide/ending.hpp"
#include "common/model/job_update.hpp"
#include "ctld/state/rules/step/launch_message.hpp"

namespace sluice::state {
namespace {

using protocol::JobAction;

TEST_F(CoreTest, BatchJobRunsAndEndsInOneFrameWhenItsNodeIsClean) {
  const JobId id = submit(batch_spec());
  EXPECT_EQ(job(id).eligible, now_);
  ASSERT_TRUE(start_job(id, "n1", 2));
  EXPECT_EQ(effects<LaunchStep>().size(), 1u);
  EXPECT_EQ(state_.nodes.at(0).used_cpus, 2u);
  EXPECT_EQ(shown_base(state_.nodes.at(0)), NodeBaseState::kMixed);
  now_ += std::chrono::seconds(5);
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  EXPECT_EQ(job(id).state, JobState::kCompleted);
  EXPECT_TRUE(is_finished(job(id)));
  EXPECT_EQ(job(id).end, now_);
  EXPECT_EQ(state_.nodes.at(0).used_cpus, 0u);
  EXPECT_EQ(effects<JobRecordEnded>().size(), 1u);
  EXPECT_TRUE(effects<TerminateJob>().empty());
  now_ += std::chrono::seconds(301);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_FALSE(state_.jobs.contains(id));
}

// The bug: a job was dated, and charged, by when its end became known: hours later where controller
// and agent were down.
TEST_F(CoreTest, AJobEndsWhenItsProcessesDid) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1", 2));
  const Time start = job(id).start;
  protocol::StepEnded report;
  report.key = {{id, kBatchStep}, 0};
  report.nodes = "n1";
  report.node_clean = true;
  report.happened = now_ + std::chrono::seconds(60);
  now_ += std::chrono::hours(5);
  ASSERT_TRUE(run(StartEpoch{"cluster", 2}));
  ASSERT_TRUE(run(EndSteps{{report}}));
  EXPECT_EQ(job(id).end, start + std::chrono::seconds(60));
  now_ += std::chrono::seconds(299);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(state_.jobs.contains(id)) << "who waits for it is to see its end";
  now_ += std::chrono::seconds(2);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_FALSE(state_.jobs.contains(id));
}

TEST_F(CoreTest, NoJobEndsBeforeItsStartOrLaterThanNow) {
  for (const Duration off : {Duration(std::chrono::hours(-1)), Duration(std::chrono::hours(1))}) {
    const JobId id = submit(batch_spec());
    ASSERT_TRUE(start_job(id, "n1", 2));
    now_ += std::chrono::seconds(10);
    protocol::StepEnded report;
    report.key = {{id, kBatchStep}, 0};
    report.nodes = "n1";
    report.node_clean = true;
    report.happened = now_ + off;
    ASSERT_TRUE(run(EndSteps{{report}}));
    EXPECT_EQ(job(id).end, off < Duration(0) ? job(id).start : now_);
  }
}

// --batch
TEST_F(CoreTest, TheScriptsNodeIsChosenByFeature) {
  configure([](ClusterConfig& config) {
    config.nodes[1].features = {"fast", "login"};
    config.nodes[2].features = {"fast", "disk"};
  });
  const auto host = [&](const char* wish, const char* nodes) {
    JobSpec spec = batch_spec();
    spec.constraint = "fast|login|disk";
    spec.batch_features = wish;
    const JobId id = submit(spec);
    EXPECT_TRUE(start_job(id, nodes));
    return id == kNoJob ? "refused" : find_step(job(id), kBatchStep)->layout->node_list;
  };
  EXPECT_EQ(host("login", "n[1-3]"), "n2");
  EXPECT_EQ(host("disk|login", "n[1-3]"), "n2");
  EXPECT_EQ(host("disk&fast", "n[1-3]"), "n3");
  EXPECT_EQ(host("disk", "n[1-2]"), "n1") << "none has it: the first";
  JobSpec spec = batch_spec();
  spec.batch_features = "login";
  const auto refused = run(SubmitJob{kAnn, spec, {"users"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "Job --batch option is invalid or not a subset of --constraints");
}

// TaskPluginParam=OOMKillStep: the script's own sruns are told of it.
TEST_F(CoreTest, TheScriptIsToldOfTheSitesOomKillStep) {
  const auto told = [&](Toggle said) {
    JobSpec spec = batch_spec();
    spec.oom_kill_step = said;
    const JobId id = submit(spec);
    EXPECT_TRUE(start_job(id, "n1"));
    return make_step_launch(state_, {{id, kBatchStep}, 0})->job_spec->oom_kill_step;
  };
  EXPECT_EQ(told(Toggle::kDefault), Toggle::kDefault);
  configure([](ClusterConfig& config) { config.task_plugin_param = {"OOMKillStep"}; });
  EXPECT_EQ(told(Toggle::kDefault), Toggle::kYes);
  EXPECT_EQ(told(Toggle::kNo), Toggle::kNo);
}

// MaxMemPerCPU gives each task more CPUs. The bug: the script was told of those it had asked for.
TEST_F(CoreTest, TheScriptIsToldOfCpusForItsMemory) {
  configure([](ClusterConfig& config) { config.partitions[0].max_mem_per_cpu_mib = 50; });
  const auto told = [&](uint32_t cpus_per_task) {
    JobSpec spec = batch_spec();
    spec.cpus_per_task = cpus_per_task;
    spec.memory_kind = MemoryKind::kPerCpu;
    spec.memory_mib = 70;
    const JobId id = submit(spec);
    EXPECT_TRUE(start_job(id, "n1"));
    const auto launch = make_step_launch(state_, {{id, kBatchStep}, 0});
    EXPECT_EQ(launch->job_spec->memory_mib, 35U);
    return launch->job_spec->cpus_per_task;
  };
  EXPECT_EQ(told(1), 2U);
  EXPECT_EQ(told(0), 0U) << "it was not given";
}

// The bug: srun and salloc said nothing of a node that was lost.
TEST_F(CoreTest, WhoWatchesAJobIsToldOfNodesThatItLoses) {
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId ends = submit(spec);
  spec.kill_on_node_fail = false;
  const JobId goes_on = submit(spec);
  ASSERT_TRUE(start_job(ends, "n[1-2]"));
  ASSERT_TRUE(start_job(goes_on, "n[1-2]"));
  ASSERT_TRUE(run(node_update("n2", "DOWN", "test")));
  std::map<JobId, std::string> told;
  for (const JobChanged& changed : effects<JobChanged>()) told[changed.job] += changed.message;
  EXPECT_EQ(told[ends], "error: Node failure on n2");
  EXPECT_EQ(told[goes_on], "error: Node failure on n2");
  EXPECT_EQ(job(goes_on).state, JobState::kRunning);
}

// A node that fails ends the job when it runs the script, whichever it is.
TEST_F(CoreTest, AJobDoesNotOutliveTheNodeOfItsScript) {
  configure([](ClusterConfig& config) { config.nodes[1].features = {"fast", "login"}; });
  JobSpec spec = batch_spec();
  spec.constraint = "fast|login";
  spec.batch_features = "login";
  spec.kill_on_node_fail = false;
  spec.requeue = Toggle::kNo;
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n[1-3]"));
  ASSERT_TRUE(run(node_update("n1", "DOWN", "test")));
  EXPECT_EQ(job(id).state, JobState::kRunning);
  ASSERT_TRUE(run(node_update("n2", "DOWN", "test")));
  EXPECT_EQ(job(id).state, JobState::kNodeFail);
}

TEST_F(CoreTest, OtherNodesAreCleanedAfterTheScriptEnded) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n[1-3]", 4));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 3 << 8, true));
  EXPECT_EQ(job(id).state, JobState::kFailed);
  EXPECT_EQ(job(id).reason, JobReason::kNonZeroExitCode);
  EXPECT_NE(job(id).flags & kJobCompleting, 0u);
  ASSERT_EQ(effects<TerminateJob>().size(), 1u);
  EXPECT_EQ(effects<TerminateJob>()[0].nodes.count(), 2u);
  ASSERT_TRUE(cleaned(id, "n2"));
  ASSERT_TRUE(cleaned(id, "n2"));  // a repeated report changes nothing
  EXPECT_NE(job(id).flags & kJobCompleting, 0u);
  ASSERT_TRUE(cleaned(id, "n3"));
  EXPECT_TRUE(is_finished(job(id)));
}

TEST_F(CoreTest, CancelByOwnerAndNobodyElse) {
  const JobId waiting = submit(batch_spec());
  const std::string text = std::to_string(waiting);
  EXPECT_EQ(error_of(SignalJob{kBob, text, 0, protocol::kSignalCancel}), ErrorCode::kAccessDenied);
  EXPECT_EQ(error_of(SignalJob{kAnn, text, 0, protocol::kSignalCancel}), ErrorCode::kOk);
  EXPECT_EQ(job(waiting).state, JobState::kCancelled);
  EXPECT_EQ(job(waiting).cancelled_by, 1001u);
  EXPECT_EQ(error_of(SignalJob{kAnn, text, 0, protocol::kSignalCancel}), ErrorCode::kAlreadyDone);
  EXPECT_EQ(error_of(SignalJob{kAnn, "99", 0, protocol::kSignalCancel}), ErrorCode::kInvalidJobId);

  const JobId running = submit(batch_spec());
  ASSERT_TRUE(start_job(running, "n1"));
  ASSERT_TRUE(run(SignalJob{kRoot, std::to_string(running), 0, protocol::kSignalCancel}));
  EXPECT_EQ(job(running).state, JobState::kCancelled);
  EXPECT_EQ(effects<TerminateJob>().size(), 1u);
  ASSERT_TRUE(end_step(running, kBatchStep, "n1", 15, true));
  EXPECT_TRUE(is_finished(job(running)));
  EXPECT_EQ(job(running).state, JobState::kCancelled);
}

TEST_F(CoreTest, AWaitingJobIsNothingButItsScript) {
  const JobId waiting = submit(batch_spec());
  const std::string text = std::to_string(waiting);
  EXPECT_EQ(error_of(SignalJob{kAnn, text, 10, protocol::kSignalBatchOnly}),
            ErrorCode::kJobPending);
  EXPECT_EQ(error_of(SignalJob{kAnn, text, 9, protocol::kSignalBatchOnly}), ErrorCode::kOk);
  EXPECT_EQ(job(waiting).state, JobState::kCancelled);
}

TEST_F(CoreTest, TimeLimit) {
  JobSpec spec = batch_spec();
  spec.time_limit = 1;
  spec.signal = 10;
  spec.signal_seconds = 30;
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n1"));
  now_ += std::chrono::seconds(31);
  ASSERT_TRUE(run(Tick{}));
  ASSERT_EQ(effects<SignalSteps>().size(), 2u);
  EXPECT_EQ(effects<SignalSteps>()[0].request.signal, 10u);
  EXPECT_EQ(effects<SignalSteps>()[1].request.signal, 18u)
      << "CONT: what is stopped hears of it, too";
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(effects<SignalSteps>().empty());
  now_ += std::chrono::seconds(30);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kTimeout);
  ASSERT_EQ(effects<TerminateJob>().size(), 1u);
  EXPECT_TRUE(effects<TerminateJob>()[0].timed_out);
}

TEST_F(CoreTest, ArrayTasksGetRecordsAsTheyStart) {
  JobSpec spec = batch_spec();
  spec.array = "0-3%2";
  const JobId array = submit(spec);
  EXPECT_EQ(state_.job_count, 4u);
  ASSERT_TRUE(start_job(array, "n1", 1, 0));
  ASSERT_TRUE(start_job(array, "n1", 1, 1));
  EXPECT_FALSE(start_job(array, "n1", 1, 2)) << "two may run at once";
  EXPECT_EQ(job(array).array->pending.to_text(), "2-3");
  const JobId first = find_array_task(state_, array, 0)->id;
  EXPECT_NE(first, array);
  ASSERT_TRUE(end_step(first, kBatchStep, "n1", 0, true));
  ASSERT_TRUE(start_job(array, "n2", 1, 2));
  ASSERT_TRUE(end_step(find_array_task(state_, array, 1)->id, kBatchStep, "n1", 0, true));
  ASSERT_TRUE(start_job(array, "n2", 1, 3));
  EXPECT_EQ(find_array_task(state_, array, 3)->id, array) << "the last task has the array's id";
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(array), 0, protocol::kSignalCancel}));
  EXPECT_EQ(find_array_task(state_, array, 2)->state, JobState::kCancelled);
  EXPECT_EQ(find_array_task(state_, array, 3)->state, JobState::kCancelled);
}

TEST_F(CoreTest, TasksOfAPendingArrayAreCancelledAndHeldAlone) {
  JobSpec spec = batch_spec();
  spec.array = "1-6";
  const JobId array = submit(spec);
  const std::string id = std::to_string(array);
  ASSERT_TRUE(run(SignalJob{kAnn, id + "_[2-3]", 0, protocol::kSignalCancel}));
  EXPECT_EQ(job(array).array->pending.to_text(), "1,4-6");
  ASSERT_TRUE(run(ChangeJob{kAnn, id + "_4", JobAction::kHold, false}));
  const FoundJob held = find_array_task(state_, array, 4);
  EXPECT_EQ(held->hold, HoldKind::kUser);
  EXPECT_NE(held->id, array);
  EXPECT_EQ(job(array).hold, HoldKind::kNone);
  EXPECT_EQ(error_of(SignalJob{kAnn, id + "_9", 0, protocol::kSignalCancel}),
            ErrorCode::kInvalidJobId);
  ASSERT_TRUE(run(SignalJob{kAnn, id, 0, protocol::kSignalCancel}));
  EXPECT_EQ(job(array).state, JobState::kCancelled);
  EXPECT_EQ(job(array).array->pending.to_text(), "1,5-6");
}

TEST_F(CoreTest, HoldAndRelease) {
  const JobId id = submit(batch_spec());
  const std::string text = std::to_string(id);
  ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kHold, false}));
  EXPECT_EQ(job(id).reason, JobReason::kJobHeldAdmin);
  EXPECT_EQ(job(id).eligible, kNoTime);
  EXPECT_FALSE(start_job(id, "n1"));
  EXPECT_EQ(error_of(ChangeJob{kAnn, text, JobAction::kRelease, false}), ErrorCode::kAccessDenied);
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kUserHold, false}));
  EXPECT_EQ(job(id).hold, HoldKind::kAdmin);
  ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kUserHold, false}));
  EXPECT_EQ(job(id).reason, JobReason::kJobHeldUser) << "the administrator leaves it to the owner";
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kRelease, false}));
  EXPECT_EQ(job(id).eligible, now_);
  EXPECT_TRUE(start_job(id, "n1"));
}

TEST_F(CoreTest, AnAdministratorsHoldOutlastsCancelAndRequeue) {
  const JobId id = submit(batch_spec());
  const std::string text = std::to_string(id);
  ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kHold, false}));
  ASSERT_TRUE(run(SignalJob{kAnn, text, 0, protocol::kSignalCancel}));
  ASSERT_TRUE(is_finished(job(id)));
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kRequeue, false}));
  EXPECT_EQ(job(id).hold, HoldKind::kAdmin);
  EXPECT_EQ(job(id).reason, JobReason::kJobHeldAdmin);
  EXPECT_EQ(error_of(ChangeJob{kAnn, text, JobAction::kRelease, false}), ErrorCode::kAccessDenied);
}

TEST_F(CoreTest, RequeueOfARunningJob) {
  const JobId id = submit(batch_spec());
  const std::string text = std::to_string(id);
  EXPECT_EQ(error_of(ChangeJob{kAnn, text, JobAction::kRequeue, false}), ErrorCode::kJobPending);
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kRequeue, false}));
  EXPECT_NE(job(id).flags & kJobCompleting, 0u);
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 15, true));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(job(id).restart_count, 1u);
  EXPECT_EQ(job(id).reason, JobReason::kBeginTime);
  EXPECT_FALSE(start_job(id, "n1")) << "not at once";
  now_ += std::chrono::seconds(119);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_FALSE(start_job(id, "n1")) << "not before credentials of the first run expire";
  now_ += std::chrono::seconds(1);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(start_job(id, "n2"));
  ASSERT_TRUE(end_step(id, kBatchStep, "n2", 0, true));
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kRequeueHold, false}));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(job(id).hold, HoldKind::kUser);
  EXPECT_EQ(job(id).state_description, "job requeued in held state");
}

TEST_F(CoreTest, ARequeueIsCancelledWhileTheJobCompletes) {
  const JobId id = submit(batch_spec());
  const std::string text = std::to_string(id);
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kRequeue, false}));
  ASSERT_TRUE(run(SignalJob{kAnn, text, 0, protocol::kSignalCancel}));
  ASSERT_TRUE(run(SignalJob{kAnn, text, 0, protocol::kSignalCancel}))
      << "again: nothing more to do";
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 15, true));
  EXPECT_TRUE(is_finished(job(id)));
  EXPECT_EQ(job(id).state, JobState::kCancelled);
  EXPECT_EQ(job(id).cancelled_by, 1001u);
}

// The bug: the release was taken and forgotten, so that the job was held once its nodes were clean.
TEST_F(CoreTest, AJobToBeRequeuedIsReleasedAndHeldWhileItCompletes) {
  const JobId id = submit(batch_spec());
  const std::string text = std::to_string(id);
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kRequeueHold, true}));
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kRelease, false}));
  EXPECT_EQ(error_of(ChangeJob{kBob, text, JobAction::kRelease, false}), ErrorCode::kAccessDenied);
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 15, true));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(job(id).hold, HoldKind::kNone);
  EXPECT_EQ(job(id).reason, JobReason::kBeginTime);
  EXPECT_EQ(job(id).state_description, "");
  EXPECT_EQ(job(id).flags, 0u);

  now_ += std::chrono::seconds(120);
  ASSERT_TRUE(run(Tick{}));
  ASSERT_TRUE(start_job(id, "n2"));
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kRequeue, false}));
  ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kHold, false}));
  EXPECT_EQ(error_of(ChangeJob{kAnn, text, JobAction::kRelease, false}), ErrorCode::kAccessDenied);
  ASSERT_TRUE(end_step(id, kBatchStep, "n2", 15, true));
  EXPECT_EQ(job(id).hold, HoldKind::kAdmin);
  EXPECT_EQ(job(id).reason, JobReason::kJobHeldAdmin);
}

TEST_F(CoreTest, RequeueDelayIsConfigured) {
  EXPECT_EQ(requeue_delay({}), std::chrono::seconds(120));
  ClusterConfig config;
  config.auth_info = "socket=/run/x,cred_expire=30";
  EXPECT_EQ(requeue_delay(config), std::chrono::seconds(30));
  config.scheduler_parameters = {"defer", "requeue_delay=5"};
  EXPECT_EQ(requeue_delay(config), std::chrono::seconds(5));
}

// A cancelled job is just that, whatever it was before.
TEST_F(CoreTest, CancelledInSpecialExit) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), JobAction::kRequeueHold, true}));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 15, true));
  EXPECT_NE(job(id).flags & kJobSpecialExit, 0u);
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(id), 0, protocol::kSignalCancel}));
  EXPECT_EQ(job(id).state, JobState::kCancelled);
  EXPECT_EQ(job(id).flags, 0u);
}

TEST_F(CoreTest, ClientsThatAreGone) {
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId waits = submit(spec);
  ASSERT_TRUE(run(ClientGone{waits}));
  EXPECT_EQ(job(waits).state, JobState::kCancelled);
  const JobId runs = submit(spec);
  ASSERT_TRUE(start_job(runs, "n1"));
  auto config = std::make_shared<ClusterConfig>(*config_);
  config->inactive_limit = std::chrono::seconds(10);
  ASSERT_TRUE(run(ReplaceConfig{config}));
  ASSERT_TRUE(run(ClientGone{runs}));
  EXPECT_EQ(job(runs).state, JobState::kTimeout);
  EXPECT_EQ(job(runs).reason, JobReason::kInactiveLimit);
  const JobId of_root = submit(spec);
  ASSERT_TRUE(start_job(of_root, "n2"));
  config = std::make_shared<ClusterConfig>(*config);
  config->partitions.front().root_only = true;
  ASSERT_TRUE(run(ReplaceConfig{config}));
  ASSERT_TRUE(run(ClientGone{of_root}));
  EXPECT_EQ(job(of_root).state, JobState::kRunning)
      << "the limit is ignored in partitions of root's alone";
}

// After a restart the clients of jobs that run are waited for; other jobs have none.
TEST_F(CoreTest, ClientsAreExpectedAgain) {
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId alone = submit(spec);  // salloc --no-shell
  spec.attended = true;
  const JobId attended = submit(spec);
  const JobId waits = submit(spec);
  ASSERT_TRUE(start_job(alone, "n1"));
  ASSERT_TRUE(start_job(attended, "n2"));
  effects_ = resume(state_);
  std::vector<JobId> looked_at;
  for (const JobChanged& changed : effects<JobChanged>()) looked_at.push_back(changed.job);
  EXPECT_EQ(looked_at, std::vector{attended});
  EXPECT_EQ(job(waits).state, JobState::kPending);
}

TEST_F(CoreTest, AStepDaemonThatDiedIsLikeALostNode) {
  JobSpec spec = batch_spec();
  const auto die = [&](JobId id) {
    protocol::StepEnded report;
    report.key = {{id, kBatchStep}, 0};
    report.nodes = "n1";
    report.exit_status = SIGKILL;
    report.failure = "its step daemon died";
    report.node_clean = true;
    ASSERT_TRUE(run(EndSteps{{report}}));
  };
  const JobId again = submit(spec);
  ASSERT_TRUE(start_job(again, "n1"));
  die(again);
  EXPECT_EQ(job(again).state, JobState::kPending);
  EXPECT_EQ(job(again).hold, HoldKind::kNone) << "it was launched well";
  EXPECT_EQ(job(again).restart_count, 1U);
  EXPECT_EQ(job(again).exit_status, SIGKILL) << "kept until it runs again";
  spec.requeue = Toggle::kNo;
  const JobId once = submit(spec);
  ASSERT_TRUE(start_job(once, "n1"));
  die(once);
  EXPECT_EQ(job(once).state, JobState::kNodeFail);
  EXPECT_EQ(job(once).reason, JobReason::kNodeDown);
  EXPECT_EQ(job(once).failed_node, "n1");
  EXPECT_EQ(job(once).state_description, "its step daemon died");
}

TEST_F(CoreTest, OutOfMemory) {
  const JobId batch = submit(batch_spec());
  ASSERT_TRUE(start_job(batch, "n1"));
  protocol::StepEnded report;
  report.key = {{batch, kBatchStep}, 0};
  report.nodes = "n1";
  report.exit_status = protocol::kOutOfMemoryStatus;
  report.out_of_memory = true;
  ASSERT_TRUE(run(EndSteps{{report}}));
  EXPECT_EQ(job(batch).state, JobState::kOutOfMemory);
  EXPECT_EQ(job(batch).reason, JobReason::kOutOfMemory);
  EXPECT_EQ(job(batch).exit_status, 125);
  EXPECT_TRUE(job(batch).state_description.empty());
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId srun = submit(spec);
  ASSERT_TRUE(start_job(srun, "n1"));
  ASSERT_TRUE(run(EndAllocation{kAnn, srun, protocol::kOutOfMemoryStatus}));
  EXPECT_EQ(job(srun).state, JobState::kOutOfMemory);
  EXPECT_EQ(job(srun).exit_status, 125);
}

TEST_F(CoreTest, AllocationsEndWithTheirCommand) {
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId id = submit(spec);
  EXPECT_EQ(error_of(EndAllocation{kBob, id, 0}), ErrorCode::kAccessDenied);
  ASSERT_TRUE(start_job(id, "n1"));
  EXPECT_TRUE(effects<LaunchStep>().empty());
  ASSERT_TRUE(run(EndAllocation{kAnn, id, 1 << 8}));
  EXPECT_EQ(job(id).state, JobState::kFailed);
  EXPECT_EQ(error_of(EndAllocation{kAnn, id, 0}), ErrorCode::kAlreadyDone);
  ASSERT_TRUE(cleaned(id, "n1"));
  EXPECT_TRUE(is_finished(job(id)));
  EXPECT_EQ(job(id).exit_status, 1 << 8);
}

TEST_F(CoreTest, UpdateOfJobs) {
  const JobId id = submit(batch_spec());
  const auto update = [&](Identity who, const std::function<void(JobUpdate&)>& change) {
    JobUpdate u;
    change(u);
    return error_of(UpdateJob{who, std::to_string(id), u});
  };
  EXPECT_EQ(update(kBob, [](JobUpdate& u) { u.comment = "x"; }), ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.priority = 5; }), ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.time_limit = 5; }), ErrorCode::kOk);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.min_nodes = 99; }), ErrorCode::kTooManyNodes);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.partitions = "x"; }), ErrorCode::kInvalidPartition);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.dependency = "x"; }), ErrorCode::kInvalidDependency);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.priority = 0; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).hold, HoldKind::kUser);
  EXPECT_EQ(update(kRoot, [](JobUpdate& u) { u.priority = 7; }), ErrorCode::kJobHeld);
  EXPECT_EQ(job(id).hold, HoldKind::kUser) << "a priority releases nothing";
  EXPECT_EQ(update(kRoot, [](JobUpdate& u) { u.hold = false, u.priority = 7; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).hold, HoldKind::kNone);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.partitions = ""; }), ErrorCode::kInvalidPartition);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.time_min = 6; }), ErrorCode::kInvalidTimeMin);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.time_min = 4; }), ErrorCode::kOk);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.time_limit = 3; }), ErrorCode::kInvalidTimeMin);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.reservation = "r"; }),
            ErrorCode::kInvalidReservation);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.licenses = "foo"; }), ErrorCode::kInvalidLicense);
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.gres = "gpu:1"; }), ErrorCode::kInvalidGres);
  ASSERT_TRUE(start_job(id, "n1"));
  EXPECT_EQ(job(id).end, now_ + std::chrono::minutes(5));
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.time_limit = 9; }), ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kRoot, [](JobUpdate& u) { u.time_limit = 9; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).end, now_ + std::chrono::minutes(9));
  EXPECT_EQ(update(kAnn, [](JobUpdate& u) { u.min_nodes = 2; }), ErrorCode::kNotSupported);
}

// The bug: the user's release of a job that was not held took back a priority that was lowered.
TEST_F(CoreTest, OnlyOperatorsGiveUpASetPriorityByARelease) {
  const JobId id = submit(batch_spec());
  JobUpdate lower;
  lower.priority = 7;
  ASSERT_TRUE(run(UpdateJob{kRoot, std::to_string(id), lower}));
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), JobAction::kRelease, false}));
  EXPECT_EQ(job(id).spec->priority, 7U);
  ASSERT_TRUE(run(ChangeJob{kRoot, std::to_string(id), JobAction::kRelease, false}));
  EXPECT_EQ(job(id).spec->priority, UINT32_MAX);
}

// It worked out where the script runs when it was applied: another version might see another node.
TEST_F(CoreTest, TheEventOfAStartSaysWhereTheScriptRuns) {
  const JobId id = submit(batch_spec());
  const auto decision =
      decide(state_, StartJobs{{{id, kNoTask, "debug", free_cores("n[2-3]", 2)}}}, now_);
  ASSERT_TRUE(decision);
  JobStarted started;
  for (const Event& event : decision->events) {
    if (const auto* one = std::get_if<JobStarted>(&event)) started = *one;
  }
  ASSERT_EQ(started.starts.size(), 1u);
  ASSERT_NE(started.starts[0].batch, nullptr);
  EXPECT_EQ(started.starts[0].batch->name, "n2");
  auto other = std::make_shared<StepNode>(*started.starts[0].batch);
  other->node = 2;
  other->name = "n3";
  ClusterState before = state_;
  started.starts[0].batch = other;
  apply(state_, started);
  EXPECT_EQ(find_step(job(id), kBatchStep)->layout->node_list, "n3")
      << "what the event says, and nothing else";
  started.starts[0].batch = nullptr;  // as earlier versions wrote it
  apply(before, started);
  EXPECT_EQ(find_step(before.jobs.at(id), kBatchStep)->layout->node_list, "n2");
}

TEST_F(CoreTest, WithNoKillANodeThatIsSetDownLeavesTheJob) {
  JobSpec spec = batch_spec();
  spec.kill_on_node_fail = false;
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n[1-3]", 2));
  ASSERT_TRUE(run(node_update("n2", "DOWN", "test")));
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(job(id).allocation->node_list, "n[1,3]");
  EXPECT_EQ(job(id).allocation->cpus, 4u);
  EXPECT_TRUE(find_node(state_, "n2")->jobs.empty());
}

TEST_F(CoreTest, ARequeuedJobWhoseLicensesAreNoMoreIsHeld) {
  configure([](ClusterConfig& config) { config.licenses = "solver:3"; });
  JobSpec spec = batch_spec();
  spec.licenses = "solver:3";
  spec.requeue = Toggle::kYes;
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n1"));
  configure([](ClusterConfig& config) { config.licenses = "solver:2"; });
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), protocol::JobAction::kRequeue}));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 15, true));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(job(id).hold, HoldKind::kUser);
  EXPECT_EQ(job(id).reason, JobReason::kLicenses);
}

}  // namespace
}  // namespace sluice::state
