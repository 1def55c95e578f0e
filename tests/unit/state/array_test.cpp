// Job arrays: many starts in one event, ended tasks in a compact form, and what is said of them.
#include <malloc.h>

#include "ctld/state/core/fold.hpp"
#include "ctld/state/core/invariants.hpp"
#include "ctld/state/decide/job/job_ids.hpp"
#include "unit/state/array_fixture.hpp"

namespace sluice::state {
namespace {

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
