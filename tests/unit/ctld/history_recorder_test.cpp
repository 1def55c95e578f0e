// What the accounting daemon is told of a job's life.
#include "ctld/accounting/recorder.hpp"

#include <algorithm>

#include "common/history/history_filter.hpp"
#include "common/wire/instances.hpp"
#include "ctld/accounting/history.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

class Recorder : public CoreTest {
 protected:
  Recorder() {
    configure([](ClusterConfig& c) {
      c.accounting_storage_type = "accounting_storage/slurmdbd";
      c.accounting_store_flags = {"job_comment", "job_script"};
    });
  }
  // As the engine does it.
  std::vector<HistoryRecord> record(const Command& command,
                                    const std::vector<journal::Blob>& blobs = {}) {
    auto decision = decide(state_, command, now_);
    EXPECT_TRUE(decision) << decision.error().text;
    for (const Event& event : decision->events) {
      recorder_.before(state_, event, now_);
      apply(state_, event);
      recorder_.after(state_, event, now_);
    }
    std::vector<HistoryRecord> out;
    for (const std::string& bytes : recorder_.take(state_, blobs))
      out.push_back(*wire::decode<HistoryRecord>(bytes));
    return out;
  }
  static std::vector<JobHistory> jobs(const std::vector<HistoryRecord>& records) {
    std::vector<JobHistory> out;
    for (const HistoryRecord& one : records)
      if (one.job != nullptr) out.push_back(*one.job);
    return out;
  }

  ctld::HistoryRecorder recorder_;
};

TEST_F(Recorder, ASubmissionIsTold) {
  SubmitJob submit;
  submit.who = kAnn;
  submit.job = batch_spec();
  submit.job.comment = "mine";
  const auto told = jobs(record(submit));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].state, JobState::kPending);
  EXPECT_EQ(told[0].uid, kAnn.uid);
  EXPECT_EQ(told[0].comment, "mine");
  EXPECT_EQ(told[0].submit, now_);
  EXPECT_EQ(told[0].start, kNoTime);
  EXPECT_GT(told[0].requested_cpus, 0U);
}

TEST_F(Recorder, ACancelledJobThatWaitedHasAnEndAndNoStart) {
  const JobId id = submit(batch_spec());
  const auto told = jobs(record(
      SignalJob{.who = kAnn, .target = std::to_string(id), .flags = protocol::kSignalCancel}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].state, JobState::kCancelled);
  EXPECT_EQ(told[0].ended_by, kAnn.uid);
  EXPECT_EQ(told[0].start, kNoTime);
  EXPECT_EQ(told[0].end, now_);
}

// Reason was None of nearly every job. The record of its end says None: the daemon keeps what that
// of the start said.
TEST_F(Recorder, TheReasonOfAJobThatStartsIsWhatItWaitedFor) {
  register_node("n1");
  const JobId id = submit(batch_spec());
  recorder_.ask([&](JobId job, bool starts) {
    return ctld::HistoryRecorder::Waited{.reason = job == id && starts ? JobReason::kBeginTime
                                                                       : JobReason::kNone};
  });
  StartJobs start;
  start.starts = {{.job = id, .partition = "debug", .allocation = free_cores("n1", 1)}};
  const auto told = jobs(record(start));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].state, JobState::kRunning);
  EXPECT_EQ(told[0].reason, "BeginTime");
}

TEST_F(Recorder, TheReasonOfAJobThatNeverRanIsWhatTheSchedulerSays) {
  const JobId id = submit(batch_spec());
  recorder_.ask([&](JobId job, bool starts) {
    return ctld::HistoryRecorder::Waited{
        .reason = job == id && !starts ? JobReason::kQOSGrpWallLimit : JobReason::kNone};
  });
  const SignalJob cancel{
      .who = kAnn, .target = std::to_string(id), .flags = protocol::kSignalCancel};
  EXPECT_EQ(jobs(record(cancel)).at(0).reason, "QOSGrpWallLimit");
}

// It was 0 of whatever never started.
TEST_F(Recorder, ThePriorityOfAJobThatNeverRanIsWhatTheSchedulerSays) {
  JobSpec array = batch_spec();
  array.array = "1-3";
  const JobId plain = submit(batch_spec()), tasks = submit(array), fixed = submit(batch_spec());
  const JobId unseen = submit(batch_spec());
  JobUpdate given;
  given.priority = 7;
  ASSERT_TRUE(run(UpdateJob{kRoot, std::to_string(fixed), given, {}}));
  recorder_.ask([&](JobId job, bool starts) {
    return ctld::HistoryRecorder::Waited{.priority = job == unseen || starts ? 0U : 4711U};
  });
  const auto priority = [&](const std::string& target) {
    return jobs(record(SignalJob{.who = kAnn, .target = target, .flags = protocol::kSignalCancel}))
        .at(0)
        .priority;
  };
  EXPECT_EQ(priority(std::to_string(plain)), 4711U);
  EXPECT_EQ(priority(std::to_string(tasks) + "_2"), 4711U);
  EXPECT_EQ(priority(std::to_string(tasks)), 4711U);
  EXPECT_EQ(priority(std::to_string(fixed)), 7U);
  EXPECT_EQ(priority(std::to_string(unseen)), 0U);
}

// It had the signal that ended its script.
TEST_F(Recorder, ARunThatIsQueuedAgainHasNoExitCode) {
  register_node("n1");
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(run(ChangeJob{
      .who = kRoot, .target = std::to_string(id), .action = protocol::JobAction::kRequeue}));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", SIGTERM));
  EXPECT_EQ(ctld::job_history(state_, job(id)).exit_status, 0);
}

// The bug: its record stayed as it was, COMPLETED.
TEST_F(Recorder, WhatIsRequeuedAfterItsEndIsToldAsRequeued) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 1 << 8, true));
  const auto told = jobs(record(ChangeJob{
      .who = kRoot, .target = std::to_string(id), .action = protocol::JobAction::kRequeue}));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_TRUE(history::was_requeued(told[0]));
  EXPECT_EQ(told[0].exit_status, 1 << 8);
  EXPECT_EQ(told[1].state, JobState::kPending);
}

// As in Slurm. The bug: they were NODE_FAIL, as their job.
TEST_F(Recorder, StepsOfANodeThatFailedAreCancelled) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  UpdateNode down{.who = kRoot};
  down.update.nodes = "n1";
  down.update.state = "DOWN";
  down.update.reason = "fan";
  StepState step = StepState::kRunning;
  for (const HistoryRecord& one : record(down))
    if (one.step != nullptr) step = one.step->state;
  EXPECT_EQ(step, StepState::kCancelled);
}

// Cyclic was told of the step of each srun that has no more tasks than nodes.
TEST_F(Recorder, TheStepOfASrunThatMadeItsJobIsInBlocks) {
  Job job;
  JobSpec spec;
  spec.submit_line = "srun true";
  job.spec = std::make_shared<const JobSpec>(spec);
  Step step;
  StepSpec asked;
  asked.submit_line = "srun true";
  step.spec = std::make_shared<const StepSpec>(asked);
  StepLayout one_node;
  one_node.nodes.resize(1);
  step.layout = std::make_shared<const StepLayout>(one_node);
  EXPECT_EQ(ctld::step_history(*state_.config, job, step).layout, "Block");
  asked.submit_line = "srun hostname";
  step.spec = std::make_shared<const StepSpec>(asked);
  EXPECT_EQ(ctld::step_history(*state_.config, job, step).layout, "Cyclic");
}

TEST_F(Recorder, NothingIsToldWhereThereIsNoDaemon) {
  configure([](ClusterConfig& c) { c.accounting_storage_type.clear(); });
  SubmitJob submit;
  submit.who = kAnn;
  submit.job = batch_spec();
  EXPECT_TRUE(record(submit).empty());
}

TEST_F(Recorder, NoJobsMeansNoJobs) {
  configure([](ClusterConfig& c) { c.accounting_storage_enforce = {"nojobs"}; });
  SubmitJob submit;
  submit.who = kAnn;
  submit.job = batch_spec();
  EXPECT_TRUE(jobs(record(submit)).empty());
}

TEST_F(Recorder, AScriptIsKeptWithItsJob) {
  SubmitJob submit;
  submit.who = kAnn;
  submit.job = batch_spec();
  submit.job.script_blob = "key";
  const auto told = record(submit, {{"key", "#!/bin/sh"}, {"other", "A=b"}});
  ASSERT_EQ(told.size(), 2U);
  ASSERT_NE(told[0].blob, nullptr);
  EXPECT_EQ(told[0].blob->bytes, "#!/bin/sh");
  EXPECT_EQ(told[1].job->script_blob, "key");
}

// Another database knows nothing of what is there.
TEST_F(Recorder, AnotherDatabaseIsToldOfAllThatIsThere) {
  const JobId waits = submit(batch_spec());
  const JobId runs = submit(batch_spec());
  ASSERT_TRUE(start_job(runs, "n1"));
  FollowAccounting follow;
  follow.records.version = 1;
  AssociationRecord& root = follow.records.associations.emplace_back();
  root.id = 1;
  root.account = "root";
  root.created = from_seconds(1000);
  const auto first = record(follow);
  const auto is_of_cluster = [](const HistoryRecord& one) { return one.cluster != nullptr; };
  EXPECT_EQ(std::ranges::count_if(first, is_of_cluster), 1);
  const auto told = jobs(first);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].id, waits);
  EXPECT_EQ(told[1].id, runs);
  EXPECT_EQ(told[1].state, JobState::kRunning);
  EXPECT_TRUE(std::ranges::any_of(first, [&](const HistoryRecord& one) {
    return one.step != nullptr && one.step->id.job == runs;
  }));
  ++follow.records.version;
  follow.records.associations[0].comment = "changed";
  EXPECT_TRUE(record(follow).empty()) << "it is the same database";
  ++follow.records.version;
  follow.records.associations[0].created = from_seconds(2000);
  EXPECT_EQ(jobs(record(follow)).size(), 2U);
}

// A command line of megabytes is written neither in full nor once for each task.
TEST_F(Recorder, LongCommandLinesAreCut) {
  JobSpec spec = batch_spec();
  spec.array = "0-999";
  spec.submit_line = std::string(900U << 10, 'x');
  const JobId id = submit(spec);
  std::vector<HistoryRecord> records = record(SignalJob{
      .who = kAnn, .target = std::to_string(id) + "_[0-989]", .flags = protocol::kSignalCancel});
  size_t bytes = 0;
  for (const HistoryRecord& one : records) bytes += wire::encode(one).size();
  EXPECT_LT(bytes, 1U << 20);
  const auto told = jobs(records);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0].array_tasks, "0-989");
  EXPECT_EQ(told[0].state, JobState::kCancelled);
}

}  // namespace
}  // namespace sluice::state
