// Batch jobs that could not be launched: queued again and held, or over where that is forbidden or
// no help.
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

using protocol::JobAction;

class FailedLaunchTest : public CoreTest {
 protected:
  JobId running(Toggle requeue = Toggle::kDefault) {
    JobSpec spec = batch_spec();
    spec.requeue = requeue;
    const JobId id = submit(spec);
    EXPECT_TRUE(start_job(id, "n1"));
    return id;
  }
  // The script's step ends without having begun.
  void fail(JobId id, const std::string& why, bool users_error = false) {
    protocol::StepEnded report;
    report.key = {{id, kBatchStep}, job(id).restart_count};
    report.nodes = "n1";
    report.exit_status = protocol::kLaunchFailedStatus;
    report.failure = why;
    report.users_error = users_error;
    report.node_clean = true;
    ASSERT_TRUE(run(EndSteps{{report}}));
  }
  void fail_prolog(JobId id, const std::string& nodes) {
    ASSERT_TRUE(run(PrologDone{id, job(id).restart_count, nodes, 1 << 8}));
    ASSERT_TRUE(end_step(id, kBatchStep, "n1", 9, true));
  }
  void expect_failed(JobId id, JobReason reason, std::string_view description) {
    EXPECT_TRUE(is_finished(job(id)));
    EXPECT_EQ(job(id).state, JobState::kFailed);
    EXPECT_EQ(job(id).reason, reason);
    EXPECT_EQ(job(id).state_description, description);
    EXPECT_EQ(job(id).exit_status, protocol::kLaunchFailedStatus);
    EXPECT_EQ(job(id).restart_count, 0U);
  }
};

// The bug: it was queued again and held, --no-requeue or not.
TEST_F(FailedLaunchTest, AJobThatMayRunOnlyOnceIsOver) {
  const JobId once = running(Toggle::kNo);
  fail(once, "cannot make /var/spool/job00001: Read-only file system");
  expect_failed(once, JobReason::kJobLaunchFailure,
                "cannot make /var/spool/job00001: Read-only file system");
  configure([](ClusterConfig& config) { config.job_requeue = false; });
  const JobId by_default = running();
  fail(by_default, "no");
  expect_failed(by_default, JobReason::kJobLaunchFailure, "no");
  const JobId again = running(Toggle::kYes);
  fail(again, "no");
  EXPECT_EQ(job(again).state, JobState::kPending);
  EXPECT_EQ(job(again).state_description, "launch failed requeued held");
}

// The bug: of a state that was put back it was charged for all the time since it had begun.
TEST_F(FailedLaunchTest, AJobThatRanOnTheNodeBefore) {
  const JobId id = running(Toggle::kNo);
  const Time start = job(id).start;
  now_ += std::chrono::hours(5);
  fail(id, protocol::kUsedJobId);
  expect_failed(id, JobReason::kJobLaunchFailure, protocol::kUsedJobId);
  EXPECT_EQ(job(id).end, start);
}

// The bug: a job whose output file could not be opened was queued again and held, and its user was
// not told why.
TEST_F(FailedLaunchTest, WhatTheUserAskedForFailsTheJobWithItsReason) {
  const std::string why = "Could not open stdout file /x/y: No such file or directory";
  for (const Toggle requeue : {Toggle::kDefault, Toggle::kYes, Toggle::kNo}) {
    const JobId id = running(requeue);
    fail(id, why, true);
    expect_failed(id, JobReason::kJobLaunchFailure, why);
  }
  EXPECT_EQ(state_.nodes.at(0).flags & kNodeDrain, 0U);
}

TEST_F(FailedLaunchTest, AFailedPrologEndsAJobThatMayRunOnlyOnce) {
  const JobId again = running();
  const JobId once = running(Toggle::kNo);
  fail_prolog(again, "n1");
  EXPECT_EQ(job(again).state_description, "launch failed requeued held");
  EXPECT_EQ(job(again).hold, HoldKind::kUser);
  EXPECT_NE(state_.nodes.at(0).flags & kNodeDrain, 0U);
  fail_prolog(once, "n1");
  expect_failed(once, JobReason::kProlog, "");
}

TEST_F(FailedLaunchTest, NoHoldOnPrologFailQueuesOnlyWhatMayBe) {
  configure([](ClusterConfig& config) { config.scheduler_parameters = {"nohold_on_prolog_fail"}; });
  const JobId again = running();
  const JobId once = running(Toggle::kNo);
  fail_prolog(again, "n1");
  EXPECT_EQ(job(again).state, JobState::kPending);
  EXPECT_EQ(job(again).hold, HoldKind::kNone);
  fail_prolog(once, "n1");
  expect_failed(once, JobReason::kProlog, "");
}

// The controller's own prolog: no node is to blame, a job that is not queued again is cancelled.
TEST_F(FailedLaunchTest, AFailedPrologSlurmctldCancelsAJobThatMayRunOnlyOnce) {
  const JobId again = running();
  const JobId once = running(Toggle::kNo);
  fail_prolog(again, "");
  EXPECT_EQ(job(again).state, JobState::kPending);
  EXPECT_EQ(job(again).hold, HoldKind::kNone);
  fail_prolog(once, "");
  EXPECT_TRUE(is_finished(job(once)));
  EXPECT_EQ(job(once).state, JobState::kCancelled);
  EXPECT_EQ(job(once).reason, JobReason::kProlog);
  EXPECT_EQ(state_.nodes.at(0).flags & kNodeDrain, 0U);
}

TEST_F(FailedLaunchTest, AfterMaxBatchRequeueTheReasonSaysSo) {
  configure([](ClusterConfig& config) { config.max_batch_requeue = 2; });
  const JobId id = running();
  fail(id, "no");
  EXPECT_EQ(job(id).reason, JobReason::kJobHeldUser);
  EXPECT_EQ(job(id).state_description, "launch failed requeued held");
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), JobAction::kRelease, false}));
  now_ += std::chrono::seconds(120);
  ASSERT_TRUE(run(Tick{}));
  ASSERT_TRUE(start_job(id, "n1"));
  fail(id, "no");
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(job(id).hold, HoldKind::kUser);
  EXPECT_EQ(job(id).reason, JobReason::kJobHoldMaxRequeue);
  EXPECT_TRUE(job(id).state_description.empty());
}

// The bug: --no-requeue kept jobs from that. In Slurm it is about nodes that fail; the exit code is
// the job's own word.
TEST_F(FailedLaunchTest, RequeueExitIsForAllBatchJobs) {
  configure(
      [](ClusterConfig& config) { config.requeue_exit = "6", config.requeue_exit_hold = "7"; });
  for (const int32_t code : {6, 7}) {
    for (const Toggle requeue : {Toggle::kDefault, Toggle::kNo}) {
      const JobId id = running(requeue);
      ASSERT_TRUE(end_step(id, kBatchStep, "n1", code << 8, true));
      EXPECT_EQ(job(id).state, JobState::kPending);
      EXPECT_EQ(job(id).hold, code == 7 ? HoldKind::kUser : HoldKind::kNone);
      EXPECT_EQ(job(id).restart_count, 1U);
      EXPECT_EQ(job(id).exit_status, code << 8);
    }
  }
  const JobId other = running(Toggle::kNo);
  ASSERT_TRUE(end_step(other, kBatchStep, "n1", 5 << 8, true));
  EXPECT_TRUE(is_finished(job(other)));
}

// The bug: where one frame ended a run and queued the job again, nobody knew of the run: mails told
// of thousands of days, EpilogSlurmctld was left out.
TEST_F(FailedLaunchTest, ARunThatIsOverAndQueuedAgainAtOnceIsTold) {
  configure([](ClusterConfig& config) {
    config.requeue_exit = "6", config.epilog_slurmctld = {"/bin/true"};
  });
  JobSpec spec = batch_spec();
  spec.mail_type = "REQUEUE";
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n1"));
  const Time start = now_;
  now_ += std::chrono::seconds(5);
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 6 << 8, true));
  EXPECT_EQ(job(id).state, JobState::kPending);
  ASSERT_EQ(effects<RunControllerEpilog>().size(), 1U);
  const Job run_before = *effects<RunControllerEpilog>()[0].job;
  EXPECT_EQ(run_before.restart_count, 0U);
  EXPECT_EQ(run_before.start, start);
  ASSERT_NE(run_before.allocation, nullptr);
  EXPECT_EQ(run_before.allocation->node_list, "n1");
  EXPECT_EQ(effects<JobRecordEnded>().size(), 1U);
  ASSERT_EQ(effects<SendMail>().size(), 1U);
  EXPECT_EQ(effects<SendMail>()[0].kind, MailKind::kRequeue);
  EXPECT_EQ(effects<SendMail>()[0].job->start, start);
}

TEST_F(CoreTest, FailedLaunchIsRequeuedAndHeld) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  protocol::StepEnded report;
  report.key = {{id, kBatchStep}, 0};
  report.nodes = "n1";
  report.failure = "no such folder";
  report.drain_node = true;
  report.node_clean = true;
  ASSERT_TRUE(run(EndSteps{{report}}));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(job(id).hold, HoldKind::kUser);
  EXPECT_EQ(job(id).state_description, "launch failed requeued held");
  EXPECT_NE(state_.nodes.at(0).flags & kNodeDrain, 0u);
}

// It counted as completed: jobs that wait for its success began.
TEST_F(CoreTest, AnSrunThatCouldLaunchNothingHasFailed) {
  constexpr int32_t kInvalidCredential = 4201, kCpuBind = 4032;
  JobSpec spec = batch_spec();
  spec.batch = false;
  for (const auto& [number, signal] :
       {std::pair(kInvalidCredential, 105), std::pair(kCpuBind, 64)}) {
    const JobId srun = submit(spec);
    ASSERT_TRUE(start_job(srun, "n1"));
    ASSERT_TRUE(run(EndAllocation{kAnn, srun, number}));
    EXPECT_EQ(job(srun).state, JobState::kFailed);
    EXPECT_EQ(job(srun).reason, JobReason::kJobLaunchFailure);
    EXPECT_EQ(job(srun).exit_status, signal);
    EXPECT_TRUE(job(srun).state_description.empty());
    ASSERT_TRUE(cleaned(srun, "n1"));
  }
}

}  // namespace
}  // namespace sluice::state
