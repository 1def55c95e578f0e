// Job arrays: many starts in one event, ended tasks in a compact form, tasks that wait for tasks,
// and what is said of them.
#include <malloc.h>

#include "support/core_fixture.hpp"

#include "common/names/errors.hpp"
#include "common/model/job_update.hpp"
#include "ctld/state/core/invariants.hpp"
#include "ctld/state/decide/job/job_ids.hpp"
#include "ctld/state/core/fold.hpp"

namespace sluice::state {
namespace {

using protocol::JobAction;

class ArrayTest : public CoreTest {
 protected:
  JobId submit_array(const std::string& tasks, const std::string& dependency = {}) {
    JobSpec spec = batch_spec();
    spec.array = tasks;
    spec.dependency = dependency;
    spec.script_blob = "script";
    return submit(std::move(spec));
  }
  // Starts so many of the array's next tasks in one plan, at most eight a node.
  Events start_tasks(JobId array, uint32_t count) {
    StartJobs command;
    IndexSet left = job(array).array->pending;
    for (uint32_t i = 0; i < count; ++i) {
      auto allocation = std::make_shared<Allocation>();
      NodeAllocation part{.node = i / 8, .cpus = 1, .memory_mib = 10};
      part.cores.set(i % 8);
      allocation->cpus = 1;
      allocation->node_list = state_.nodes.at(i / 8).name;
      allocation->nodes.push_back(std::move(part));
      command.starts.push_back({array, *left.pop_first(), "debug", std::move(allocation)});
    }
    auto decision = decide(state_, command, now_);
    EXPECT_TRUE(decision);
    EXPECT_TRUE(run(command));
    return decision->events;
  }
  void end_task(JobId array, uint32_t task, int32_t status = 0) {
    const FoundJob job = find_array_task(state_, array, task);
    ASSERT_TRUE(job);
    ASSERT_TRUE(end_step(job->id, kBatchStep, job->allocation->node_list, status, true));
  }
  void end_all(JobId array, uint32_t first, uint32_t last) {
    EndSteps command;
    for (uint32_t task = first; task <= last; ++task) {
      const FoundJob job = find_array_task(state_, array, task);
      protocol::StepEnded report;
      report.key = {{job->id, kBatchStep}, 0};
      report.nodes = job->allocation->node_list;
      report.node_clean = true;
      command.ended.push_back(report);
    }
    ASSERT_TRUE(run(command));
  }
  void tick(int seconds = 1) {
    now_ += std::chrono::seconds(seconds);
    ASSERT_TRUE(run(Tick{}));
  }
  std::vector<std::string> said(const Command& command) {
    const auto reply = run(command);
    if (!reply) return {error_text(reply.error())};
    return std::get<protocol::CountReply>(*reply).errors;
  }
  static std::string id_of(JobId id) { return std::to_string(id); }
};

TEST_F(ArrayTest, OneEventStartsManyTasks) {
  const JobId array = submit_array("0-999");
  const Events events = start_tasks(array, 32);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<JobStarted>(events[0]).starts.size(), 32U);
  EXPECT_LT(wire::encode(EventFrame{events}).size(), 32U * 60U);
  EXPECT_EQ(job(array).array->pending.to_text(), "32-999");
}

TEST_F(ArrayTest, AHundredThousandTasksCostWhatOneJobCosts) {
  configure([](ClusterConfig& config) {
    config.max_array_size = 100'001;
    config.max_job_count = 100'000'000;
  });
  constexpr size_t kTimes = 16;
  names_.reserve(1000);
  const auto cost_of = [&](const std::string& tasks) {
    submit_array(tasks);  // tables grow in steps: no first one
    const size_t image = wire::encode(make_image(state_)).size();
    const auto before = static_cast<int64_t>(mallinfo2().uordblks);
    for (size_t i = 0; i < kTimes; ++i) submit_array(tasks);
    const auto after = static_cast<int64_t>(mallinfo2().uordblks);
    return std::pair(after - before, wire::encode(make_image(state_)).size() - image);
  };
  const auto [job_bytes, job_image] = cost_of("");
  const auto [array_bytes, array_image] = cost_of("0-100000");
  // under a sanitizer both are 0
  EXPECT_LE(array_bytes, job_bytes + static_cast<int64_t>(kTimes) * 1024) << "in memory";
  EXPECT_LE(array_image, job_image + kTimes * 128U) << "in a checkpoint";
  EXPECT_EQ(state_.jobs.size(), 2 * (kTimes + 1));
  EXPECT_EQ(state_.job_count, (kTimes + 1) * 100'002U);
  const JobId array = submit_array("0-100000");
  EXPECT_EQ(job(array).array->pending.ranges().size(), 1U);
  start_tasks(array, 2);
  EXPECT_EQ(state_.jobs.size(), 2 * (kTimes + 1) + 3)
      << "those that started have records of their own";
  EXPECT_EQ(job(array).array->pending.to_text(), "2-100000");
}

TEST_F(ArrayTest, EndedTasksGiveUpTheirRecords) {
  const JobId array = submit_array("0-9");
  start_tasks(array, 4);
  now_ += std::chrono::seconds(7);
  end_all(array, 0, 1);
  end_task(array, 2, 3 << 8);
  const FoundJob before = find_array_task(state_, array, 2);
  ASSERT_FALSE(before.is_folded());
  const Job full = *before;
  tick();
  EXPECT_EQ(names_.back(), "ArrayTasksFolded");
  EXPECT_EQ(state_.folded.size(), 3U);
  const FoundJob after = find_array_task(state_, array, 2);
  ASSERT_TRUE(after.is_folded());
  EXPECT_EQ(wire::encode(*after), wire::encode(full)) << "nothing of it is lost";
  EXPECT_FALSE(state_.jobs.contains(full.id));
  EXPECT_EQ(find_job(state_, full.id)->state, JobState::kFailed);
  EXPECT_EQ(state_.job_count, 10U);
  EXPECT_EQ(live_blobs(state_).size(), state_.jobs.size() + 2U)
      << "the script is still needed: two models";
  // neither a checkpoint nor a repeated report changes it
  const ClusterState restored =
      from_image(*wire::decode<StateImage>(wire::encode(make_image(state_))));
  EXPECT_EQ(differences(state_, restored), std::vector<std::string>{});
  EXPECT_EQ(check_state(restored), std::vector<std::string>{});
  protocol::StepEnded again;
  again.key = {{full.id, kBatchStep}, 0};
  again.nodes = "n1";
  ASSERT_TRUE(run(EndSteps{{again}}));
  EXPECT_NE(free_job_id(state_, full.id), full.id) << "the number is taken";
  tick(400);
  EXPECT_EQ(state_.folded.size(), 1U);
  EXPECT_EQ(find_array_task(state_, array, 1).get(), nullptr);
  EXPECT_TRUE(find_array_task(state_, array, 2)) << "it failed";
  EXPECT_EQ(job(array).array->pending.to_text(), "4-9");
}

TEST_F(ArrayTest, AThousandEndedTasksCostLittle) {
  const JobId array = submit_array("0-999");
  for (uint32_t first = 0; first < 960; first += 32) {
    start_tasks(array, 32);
    now_ += std::chrono::seconds(1);
    end_all(array, first, first + 31);
  }
  const size_t before = wire::encode(make_image(state_)).size();
  tick();
  ASSERT_EQ(state_.folded.size(), 960U);
  const size_t after = wire::encode(make_image(state_)).size();
  EXPECT_LT(after, before / 5);
  const StateImage image = make_image(state_);
  ASSERT_EQ(image.folded.size(), 1U) << "they differ in nothing but what each has of its own";
  EXPECT_LE(image.folded[0].allocations.size(), 32U);
  EXPECT_LT(wire::encode(image.folded[0]).size(), 960U * 30U) << "bytes";
  tick(400);
  EXPECT_EQ(names_.back(), "JobsPurged");
  EXPECT_TRUE(state_.folded.empty());
}

// The bug: with the record of a failed task went the failure of an array that ran on.
TEST_F(ArrayTest, HowATaskEndedIsKnownUntilItsArrayIsOver) {
  const JobId array = submit_array("0-2");
  const JobId then = submit_array("0-1", "afternotok:" + id_of(array));
  start_tasks(array, 3);
  end_task(array, 0, 1 << 8);
  end_task(array, 1);
  tick();
  ASSERT_TRUE(find_array_task(state_, array, 1).is_folded());
  tick(400);
  EXPECT_TRUE(find_array_task(state_, array, 0));
  EXPECT_FALSE(find_array_task(state_, array, 1)) << "nobody asks for it";
  end_task(array, 2);
  tick();
  EXPECT_TRUE(job(then).dependency.empty());
  JobSpec spec = batch_spec();
  spec.dependency = "afterok:" + id_of(array);
  tick(200);
  EXPECT_EQ(job(submit(spec)).reason, JobReason::kDependencyNeverSatisfied);
  tick(200);
  EXPECT_FALSE(find_array_task(state_, array, 0));
}

TEST_F(ArrayTest, AFoldedTaskIsRequeued) {
  const JobId array = submit_array("0-3");
  start_tasks(array, 2);
  end_all(array, 0, 1);
  tick();
  ASSERT_EQ(state_.folded.size(), 2U);
  ASSERT_TRUE(run(ChangeJob{kAnn, id_of(array) + "_1", JobAction::kRequeue, false}));
  EXPECT_EQ(state_.folded.size(), 1U);
  const FoundJob task = find_array_task(state_, array, 1);
  EXPECT_EQ(task->state, JobState::kPending);
  EXPECT_EQ(task->restart_count, 1U);
  EXPECT_EQ(said(ChangeJob{kAnn, id_of(array) + "_0", JobAction::kHold, false}),
            std::vector<std::string>{"Job has already finished"});
  ASSERT_TRUE(run(SignalJob{kAnn, id_of(array), 0, protocol::kSignalCancel}));
  EXPECT_EQ(find_array_task(state_, array, 1)->state, JobState::kCancelled);
}

TEST_F(ArrayTest, OutcomesAreGatheredByTask) {
  const JobId array = submit_array("0-5");
  start_tasks(array, 3);
  end_all(array, 0, 0);
  tick();
  const std::string id = id_of(array);
  EXPECT_EQ(said(ChangeJob{kAnn, id, JobAction::kHold, false}),
            (std::vector<std::string>{id + "_0: Job has already finished", id + "_1-5: No error"}));
  EXPECT_EQ(said(ChangeJob{kAnn, id, JobAction::kRelease, false}).size(), 2U);
  EXPECT_EQ(
      said(ChangeJob{kRoot, id, JobAction::kSuspend, false}),
      (std::vector<std::string>{id + "_0: Job/step already completing or completed",
                                id + "_1-2: No error", id + "_3-5: Job is pending execution"}));
  EXPECT_EQ(said(ChangeJob{kAnn, id + "_[3-4]", JobAction::kRequeue, false}),
            std::vector<std::string>{id + "_3-4: Job is pending execution"});
  EXPECT_EQ(said(ChangeJob{kAnn, id + "_[1-2,5]", JobAction::kUserHold, false}),
            std::vector<std::string>{});
  EXPECT_EQ(said(ChangeJob{kAnn, id + "_[8-9]", JobAction::kUserHold, false}),
            std::vector<std::string>{"Invalid job id specified"});
}

// The bug: nothing was said of tasks that are not there, where another one was.
TEST_F(ArrayTest, TasksThatAreNotThereAreNamed) {
  const JobId array = submit_array("0-5");
  start_tasks(array, 3);
  end_all(array, 0, 0);
  tick();
  const std::string id = id_of(array);
  EXPECT_EQ(said(ChangeJob{kAnn, id + "_[4,8-9]", JobAction::kUserHold, false}),
            (std::vector<std::string>{id + "_4: No error", id + "_8-9: Invalid job id specified"}));
  EXPECT_EQ(said(ChangeJob{kAnn, id + "_[0,3,7]", JobAction::kRelease, false}),
            (std::vector<std::string>{id + "_0: Job has already finished", id + "_3: No error",
                                      id + "_7: Invalid job id specified"}));
  JobUpdate update;
  update.comment = "x";
  EXPECT_EQ(
      said(UpdateJob{kAnn, id + "_[1,3-5,6]", update}),
      (std::vector<std::string>{id + "_1,3-5: No error", id + "_6: Invalid job id specified"}));
  EXPECT_EQ(said(ChangeJob{kAnn, id + "_[1-5]", JobAction::kUserHold, false}),
            std::vector<std::string>{});
  EXPECT_EQ(said(ChangeJob{kAnn, id + "_*", JobAction::kRelease, false}).size(), 2U)
      << "what is over, and what is not";
  EXPECT_EQ(said(SignalJob{kAnn, id + "_[1,9]", 0, protocol::kSignalCancel}),
            std::vector<std::string>{})
      << "scancel says nothing";
}

TEST_F(ArrayTest, TheLimitOfRunningTasksIsTheArrays) {
  const JobId array = submit_array("0-9%2");
  start_tasks(array, 2);
  EXPECT_FALSE(start_job(array, "n2", 1, 2));
  JobUpdate update;
  update.array_max_running = 4;
  ASSERT_TRUE(run(UpdateJob{kAnn, id_of(array) + "_1", update}));
  EXPECT_FALSE(start_job(array, "n2", 1, 2)) << "that of a task alone changes nothing";
  ASSERT_TRUE(run(UpdateJob{kAnn, id_of(array), update}));
  EXPECT_TRUE(start_job(array, "n2", 1, 2));
  EXPECT_TRUE(start_job(array, "n2", 1, 3));
  EXPECT_FALSE(start_job(array, "n2", 1, 4));
  ASSERT_TRUE(run(ChangeJob{kAnn, id_of(array) + "_7", JobAction::kHold, false}));
  EXPECT_EQ(find_array_task(state_, array, 7)->array->max_running, 4U);
}

TEST_F(ArrayTest, WaitingForAnArrayAndForItsTasks) {
  const JobId array = submit_array("0-3");
  const std::string id = id_of(array);
  JobSpec spec = batch_spec();
  spec.dependency = "afterok:" + id;
  const JobId all = submit(spec);
  EXPECT_EQ(job(all).dependency, "afterok:" + id + "_*(unfulfilled)");
  spec.dependency = "afterok:" + id + "_[1,3],afterany:" + id + "_2";
  const JobId some = submit(spec);
  EXPECT_EQ(job(some).dependency, "afterok:" + id + "_1(unfulfilled),afterok:" + id +
                                      "_3(unfulfilled),afterany:" + id + "_2(unfulfilled)");
  start_tasks(array, 4);
  end_all(array, 1, 3);
  tick();  // they are folded
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(job(some).dependency.empty());
  EXPECT_FALSE(job(all).dependency.empty());
  end_task(array, 0, 1 << 8);
  tick();
  EXPECT_EQ(job(all).reason, JobReason::kDependencyNeverSatisfied);
  EXPECT_EQ(job(all).dependency, "afterok:" + id + "_*(failed)");
}

TEST_F(ArrayTest, TasksWaitForTheTaskOfTheSameNumber) {
  const JobId first = submit_array("0-3");
  const JobId then = submit_array("0-4", "aftercorr:" + id_of(first));
  JobSpec spec = batch_spec();
  spec.dependency = "aftercorr:" + id_of(first);
  const JobId single = submit(spec);
  EXPECT_EQ(job(then).dependency, "aftercorr:" + id_of(first) + "_*(unfulfilled)");
  start_tasks(first, 4);
  end_task(first, 1);
  tick();
  EXPECT_EQ(job(then).array->pending.to_text(), "0,2-4");
  EXPECT_TRUE(find_array_task(state_, then, 1)->dependency.empty());
  EXPECT_NE(find_array_task(state_, then, 1)->accrue, kNoTime);
  EXPECT_TRUE(start_job(find_array_task(state_, then, 1)->id, "n4"));
  EXPECT_FALSE(start_job(then, "n4", 1, 0));
  end_task(first, 2, 1 << 8);
  tick();
  EXPECT_EQ(find_array_task(state_, then, 2)->reason, JobReason::kDependencyNeverSatisfied);
  end_task(first, 0);
  end_task(first, 3);
  tick();
  for (const uint32_t task : {0U, 3U})
    EXPECT_TRUE(find_array_task(state_, then, task)->dependency.empty()) << task;
  EXPECT_EQ(find_array_task(state_, then, 4)->reason, JobReason::kDependencyNeverSatisfied)
      << "it has no partner and the array failed";
  EXPECT_EQ(job(single).reason, JobReason::kDependencyNeverSatisfied);
}

// The bug: each waiting one got a record, to be told that it waits.
TEST_F(ArrayTest, ASignalToRunningAndWaitingTasksMakesNoRecords) {
  const JobId array = submit_array("1-9");
  start_tasks(array, 2);
  const size_t records = state_.jobs.size();
  names_.clear();
  EXPECT_EQ(said(SignalJob{kAnn, id_of(array) + "_[1-5]", 10, 0}),
            (std::vector<std::string>{id_of(array) + "_1-2: No error",
                                      id_of(array) + "_3-5: Job is pending execution"}));
  EXPECT_EQ(names_, (std::vector<std::string>{"JobSignaled", "JobSignaled"}));
  EXPECT_EQ(state_.jobs.size(), records);
}

// The bug: tasks that were cancelled before they had records were forgotten, and what waits for all
// of the array ran.
TEST_F(ArrayTest, TasksCancelledWithoutRecordsAreKnownToThoseThatWait) {
  const JobId array = submit_array("1-3");
  const std::string id = id_of(array);
  const auto wait_with = [&](const std::string& dependency, Toggle kill = Toggle::kDefault) {
    JobSpec spec = batch_spec();
    spec.dependency = dependency;
    spec.kill_on_invalid_dependency = kill;
    return submit(spec);
  };
  const JobId good = wait_with("afterok:" + id), bad = wait_with("afternotok:" + id),
              any = wait_with("afterany:" + id);
  const JobId killed = wait_with("afterok:" + id, Toggle::kYes),
              alone = wait_with("afterok:" + id + "_3");
  const JobId pairs = submit_array("1-4", "aftercorr:" + id);
  start_tasks(array, 1);
  end_task(array, 1);
  ASSERT_TRUE(run(SignalJob{kAnn, id + "_3", 0, protocol::kSignalCancel}));
  EXPECT_EQ(names_.back(), "ArrayTasksCancelled");
  EXPECT_EQ(job(array).array->cancelled.to_text(), "3");
  tick();
  EXPECT_TRUE(job(alone).dependency.empty()) << "it waits for nothing that is there";
  EXPECT_EQ(job(good).dependency, "afterok:" + id + "_*(unfulfilled)")
      << "others of the array wait";
  EXPECT_EQ(job(killed).state, JobState::kPending);
  EXPECT_EQ(job(pairs).array->pending.to_text(), "2-4");
  const ClusterState restored =
      from_image(*wire::decode<StateImage>(wire::encode(make_image(state_))));
  EXPECT_EQ(differences(state_, restored), std::vector<std::string>{});
  EXPECT_EQ(restored.jobs.at(array).array->cancelled.to_text(), "3");
  start_tasks(array, 1);
  end_task(array, 2);
  tick();
  EXPECT_EQ(job(good).reason, JobReason::kDependencyNeverSatisfied);
  EXPECT_EQ(job(good).dependency, "afterok:" + id + "_*(failed)");
  EXPECT_EQ(job(killed).state, JobState::kCancelled);
  for (const JobId met : {bad, any}) EXPECT_TRUE(job(met).dependency.empty()) << met;
  for (const uint32_t task : {1U, 2U})
    EXPECT_TRUE(find_array_task(state_, pairs, task)->dependency.empty()) << task;
  for (const uint32_t task : {3U, 4U}) {
    EXPECT_EQ(find_array_task(state_, pairs, task)->reason, JobReason::kDependencyNeverSatisfied)
        << task;
  }
  tick(400);
  tick();
  EXPECT_FALSE(state_.arrays.contains(array));
  EXPECT_EQ(job(good).reason, JobReason::kDependencyNeverSatisfied);
}

// The bug: it failed with the array's first task that did; in Slurm nothing is decided before all
// of the array is over.
TEST_F(ArrayTest, WhetherAnArrayIsGoodIsKnownAtItsEnd) {
  const JobId array = submit_array("0-2");
  const std::string id = id_of(array);
  const auto wait_with = [&](const std::string& dependency) {
    JobSpec spec = batch_spec();
    spec.dependency = dependency;
    return submit(spec);
  };
  const JobId good = wait_with("afterok:" + id), bad = wait_with("afternotok:" + id),
              any = wait_with("afterany:" + id);
  const JobId first = wait_with("afterok:" + id + "_0"),
              either = wait_with("afterok:" + id + "?afternotok:" + id);
  start_tasks(array, 3);
  end_task(array, 0, 1 << 8);
  tick();
  EXPECT_EQ(job(first).reason, JobReason::kDependencyNeverSatisfied) << "the task itself is over";
  for (const JobId waits : {good, bad, any, either})
    EXPECT_EQ(job(waits).reason, JobReason::kDependency) << waits;
  EXPECT_EQ(job(good).dependency, "afterok:" + id + "_*(unfulfilled)");
  EXPECT_EQ(job(either).dependency,
            "afterok:" + id + "_*(unfulfilled)?afternotok:" + id + "_*(unfulfilled)");
  end_all(array, 1, 2);
  tick();
  EXPECT_EQ(job(good).reason, JobReason::kDependencyNeverSatisfied);
  EXPECT_EQ(job(good).dependency, "afterok:" + id + "_*(failed)");
  for (const JobId met : {bad, any, either}) EXPECT_TRUE(job(met).dependency.empty()) << met;
}

// The bug: FAIL was about the task that ended last, and nothing was said of another one that had
// failed.
TEST_F(ArrayTest, OneMailTellsThatAnyTaskFailed) {
  for (const auto& [type, status, kind] :
       {std::tuple("FAIL", 1 << 8, MailKind::kFail),
        std::tuple("END,FAIL", 1 << 8, MailKind::kFail), std::tuple("END", 1 << 8, MailKind::kEnd),
        std::tuple("END,FAIL", 0, MailKind::kEnd), std::tuple("FAIL", 0, MailKind::kBegin)}) {
    JobSpec spec = batch_spec();
    spec.array = "1-2";
    spec.mail_type = type;
    const JobId array = submit(std::move(spec));
    start_tasks(array, 2);
    end_task(array, 1, status);
    EXPECT_TRUE(effects<SendMail>().empty()) << type;
    tick();
    end_task(array, 2);
    const auto mails = effects<SendMail>();
    ASSERT_EQ(mails.size(), kind == MailKind::kBegin ? 0U : 1U) << type;
    if (mails.empty()) continue;
    EXPECT_EQ(mails[0].kind, kind) << type;
    EXPECT_TRUE(mails[0].whole_array);
    EXPECT_EQ(mails[0].outcome,
              status == 0 ? "COMPLETED, ExitCode [0-0]" : "Mixed, ExitCode [0-1]");
  }
}

// The bug: where the one that was told of last had ended before another one, no mail was sent.
TEST_F(ArrayTest, TheMailOfItsEndComesWhateverTheClocksSay) {
  JobSpec spec = batch_spec();
  spec.array = "1-2";
  spec.mail_type = "END";
  const JobId array = submit(std::move(spec));
  start_tasks(array, 2);
  now_ += std::chrono::seconds(10);
  end_task(array, 1);
  now_ -= std::chrono::seconds(5);
  end_task(array, 2);
  EXPECT_EQ(effects<SendMail>().size(), 1U);
}

// The bug: they waited until the other array was purged, and ran then.
TEST_F(ArrayTest, NoTaskRunsWhosePartnerWasCancelledWithItsArray) {
  const JobId first = submit_array("1-3");
  const JobId then = submit_array("1-4", "aftercorr:" + id_of(first));
  ASSERT_TRUE(run(SignalJob{kAnn, id_of(first), 0, protocol::kSignalCancel}));
  tick();
  EXPECT_EQ(job(then).reason, JobReason::kDependencyNeverSatisfied);
  EXPECT_EQ(job(then).dependency, "aftercorr:" + id_of(first) + "_*(failed)");
  EXPECT_EQ(job(then).array->pending.to_text(), "1-4") << "they have one fate and stay one record";
}

TEST_F(ArrayTest, MinutesAfterAnArrayCountFromItsLastStart) {
  const JobId array = submit_array("0-1");
  const std::string id = id_of(array);
  ASSERT_TRUE(run(ChangeJob{kAnn, id + "_0", JobAction::kHold, false}));
  start_tasks(array, 1);  // task 1
  const Time begin = now_;
  end_task(array, 1);
  now_ += std::chrono::seconds(40);
  ASSERT_TRUE(run(ChangeJob{kAnn, id + "_0", JobAction::kRelease, false}));
  ASSERT_TRUE(start_job(find_array_task(state_, array, 0)->id, "n1"));
  end_task(array, 0);
  tick();
  ASSERT_TRUE(find_array_task(state_, array, 0).is_folded());
  const auto wait_with = [&](const std::string& dependency) {
    JobSpec spec = batch_spec();
    spec.dependency = dependency;
    return submit(spec);
  };
  EXPECT_TRUE(job(wait_with("after:" + id)).dependency.empty());
  const JobId all = wait_with("after:" + id + "+1"), early = wait_with("after:" + id + "_1+1"),
              late = wait_with("after:" + id + "_0+1");
  EXPECT_EQ(job(all).dependency, "after:" + id + "_*+1(unfulfilled)");
  state_ = from_image(*wire::decode<StateImage>(wire::encode(make_image(state_))));
  now_ = begin + std::chrono::seconds(60);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(job(early).dependency.empty());
  for (const JobId waits : {all, late}) EXPECT_FALSE(job(waits).dependency.empty()) << waits;
  now_ = begin + std::chrono::seconds(100);
  ASSERT_TRUE(run(Tick{}));
  for (const JobId met : {all, late}) EXPECT_TRUE(job(met).dependency.empty()) << met;
}

// Slurm splits off ten at a time (correspond_after_task_cnt).
TEST_F(ArrayTest, AllTasksWhoseTurnHasComeAreSplitOffAtOnce) {
  const JobId first = submit_array("0-23");
  const JobId then = submit_array("0-29", "aftercorr:" + id_of(first));
  start_tasks(first, 24);
  end_all(first, 0, 23);
  tick();
  for (uint32_t task = 0; task < 24; ++task)
    EXPECT_TRUE(find_array_task(state_, then, task)->dependency.empty()) << task;
}

TEST_F(ArrayTest, TasksOfOneArrayAreNoSingletons) {
  const JobId array = submit_array("0-3", "singleton");
  EXPECT_TRUE(job(array).dependency.empty());
  ASSERT_TRUE(run(ChangeJob{kAnn, id_of(array) + "_2", JobAction::kHold, false}));
  const JobId other = submit_array("0-1", "singleton");
  EXPECT_FALSE(job(other).dependency.empty());
}

// The bug: the last waiting task takes the array's id, so that its end hid tasks whose own ids are
// higher than that of a job submitted later.
TEST_F(ArrayTest, ASingletonWaitsForTasksThatStartedAfterItsSubmission) {
  const JobId array = submit_array("0-1");
  const JobId waits = submit_array("0-1", "singleton");
  start_tasks(array, 2);
  EXPECT_GT(find_array_task(state_, array, 0)->id, waits);
  end_task(array, 1);
  tick();
  EXPECT_FALSE(job(waits).dependency.empty()) << "the first task runs";
  end_task(array, 0);
  tick();
  EXPECT_TRUE(job(waits).dependency.empty());
}

TEST_F(ArrayTest, NobodyWaitsForHimself) {
  const JobId one = submit(batch_spec());
  JobSpec spec = batch_spec();
  spec.dependency = "afterok:" + id_of(one);
  const JobId two = submit(spec);
  spec.dependency = "afterany:" + id_of(two);
  const JobId three = submit(spec);
  const auto update = [&](JobId job, std::string dependency) {
    JobUpdate changes;
    changes.dependency = std::move(dependency);
    return said(UpdateJob{kAnn, id_of(job), changes});
  };
  EXPECT_EQ(update(one, "afterok:" + id_of(three)),
            std::vector<std::string>{"Circular job dependency"});
  EXPECT_EQ(update(one, "afterok:" + id_of(one)),
            std::vector<std::string>{"Job dependency problem"});
  EXPECT_EQ(update(one, "afterok:99999"), std::vector<std::string>{});
  EXPECT_EQ(update(three, "afterok:" + id_of(one)), std::vector<std::string>{});
  EXPECT_EQ(update(one, "singleton"), std::vector<std::string>{});
  const JobId array = submit_array("1-3");
  EXPECT_EQ(update(array, "afterok:" + id_of(array) + "_1"),
            std::vector<std::string>{id_of(array) + "_1-3: Job dependency problem"});
}

// DependencyParameters=max_depend_depth: how many jobs are looked at to find a circle.
TEST_F(ArrayTest, ALongCircleIsNotLookedFor) {
  const auto limit = [&](const std::string& parameter) {
    configure([&](ClusterConfig& config) { config.dependency_parameters = {parameter}; });
  };
  const JobId one = submit(batch_spec());
  JobSpec spec = batch_spec();
  spec.dependency = "afterok:" + id_of(one);
  const JobId two = submit(spec);
  spec.dependency = "afterok:" + id_of(two);
  const JobId three = submit(spec);
  JobUpdate changes;
  changes.dependency = "afterok:" + id_of(three);
  limit("max_depend_depth=3");
  EXPECT_EQ(said(UpdateJob{kAnn, id_of(one), changes}),
            std::vector<std::string>{"Circular job dependency"});
  limit("max_depend_depth=2");
  EXPECT_EQ(said(UpdateJob{kAnn, id_of(one), changes}), std::vector<std::string>{});
}

TEST_F(ArrayTest, ARunningJobGivesNodesBack) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n[1-4]", 2));
  JobUpdate update;
  update.min_nodes = update.max_nodes = 5;
  EXPECT_EQ(error_of(UpdateJob{kAnn, id_of(id), update}), ErrorCode::kNotSupported)
      << "a job does not grow";
  update.min_nodes = update.max_nodes = 0;
  EXPECT_EQ(error_of(UpdateJob{kAnn, id_of(id), update}), ErrorCode::kTooManyNodes);
  update.min_nodes = update.max_nodes = 3;
  ASSERT_TRUE(run(UpdateJob{kAnn, id_of(id), update}));
  EXPECT_EQ(job(id).allocation->node_list, "n[1-3]");
  EXPECT_EQ(job(id).allocation->cpus, 6U);
  EXPECT_EQ(state_.nodes.at(3).used_cpus, 0U);
  ASSERT_EQ(effects<TerminateJob>().size(), 1U);
  EXPECT_TRUE(effects<TerminateJob>()[0].nodes.test(3));
  JobUpdate list;
  list.required_nodes = "n[2-3]";
  EXPECT_EQ(error_of(UpdateJob{kAnn, id_of(id), list}), ErrorCode::kInvalidNodeName)
      << "the script is on n1";
  list.required_nodes = "n1,n3";
  ASSERT_TRUE(run(UpdateJob{kAnn, id_of(id), list}));
  EXPECT_EQ(job(id).allocation->node_list, "n[1,3]");
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  ASSERT_TRUE(cleaned(id, "n4")) << "what the job has not any more is nothing to it";
  EXPECT_FALSE(is_finished(job(id)));
  ASSERT_TRUE(cleaned(id, "n3"));
  EXPECT_TRUE(is_finished(job(id)));
}

}  // namespace
}  // namespace sluice::state
