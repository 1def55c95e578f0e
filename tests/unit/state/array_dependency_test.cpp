// What waits for arrays and their tasks, and the mail that tells of their ends.
#include "ctld/state/core/invariants.hpp"
#include "unit/state/array_fixture.hpp"

namespace sluice::state {
namespace {

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

// The bug: it was settled at the submission, and no longer shown.
TEST_F(ArrayTest, ASingletonThatIsHeldWaitsUntilItIsReleased) {
  JobSpec spec = batch_spec();
  spec.dependency = "singleton";
  spec.hold = true;
  const JobId held = submit(spec);
  EXPECT_EQ(job(held).dependency, "singleton(unfulfilled)");
  tick();
  EXPECT_EQ(job(held).dependency, "singleton(unfulfilled)");
  ASSERT_TRUE(run(ChangeJob{kAnn, id_of(held), JobAction::kRelease, false}));
  tick();
  EXPECT_TRUE(job(held).dependency.empty());
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

}  // namespace
}  // namespace sluice::state
