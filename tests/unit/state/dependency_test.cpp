// The texts of dependencies, and when minutes are over; what else comes about is in job_life_test
// and array_test.
#include "ctld/state/rules/dependency.hpp"
#include "common/model/job_update.hpp"

#include <random>

#include <gtest/gtest.h>

#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

std::string reformatted(std::string_view text) {
  const auto parsed = parse_dependency(text);
  return parsed ? format_dependency(*parsed) : "refused";
}

TEST(DependencyText, AsSlurmReadsIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"afterok:17,afterany:18", "afterok:17(unfulfilled),afterany:18(unfulfilled)"},
      {"afterok:17?afterany:18,after:19",
       "afterok:17(unfulfilled)?afterany:18(unfulfilled)?after:19(unfulfilled)"},
      {"after:17+5", "after:17+5(unfulfilled)"},
      {"afterok:17+5", "afterok:17+5(unfulfilled)"},
      {"afterok:17:18+1", "afterok:17(unfulfilled),afterok:18+1(unfulfilled)"},
      {"17", "afterany:17(unfulfilled)"},
      {"singleton,afterok:17", "singleton(unfulfilled),afterok:17(unfulfilled)"},
      {"afterburstbuffer:17", "afterburstbuffer:17(unfulfilled)"},
      {"AFTEROK:17", "afterok:17(unfulfilled)"},
      {"afterok:42_1", "afterok:42_1(unfulfilled)"},
      {"afterok:42_*", "afterok:42_*(unfulfilled)"},
      {"afterok:42_[1-2,5]",
       "afterok:42_1(unfulfilled),afterok:42_2(unfulfilled),afterok:42_5(unfulfilled)"},
      {"aftercorr:42", "aftercorr:42(unfulfilled)"}};
  for (const auto& [text, shown] : cases) EXPECT_EQ(reformatted(text), shown) << text;
  for (const char* text :
       {"after:17+x", "nonsense:17", "afterok:", "afterok", "afterok:17,,afterok:18", ",",
        "afterok:17 afterok:18", "afterok:0", "afterok:42_[", "afterok:42_[]", "afterok:42_x",
        "singleton:5", "afterok:17??afterok:18", "afterok:1_[1-1000000]",
        // the bugs: a kind without a name was "after", and no minutes at all were taken
        ":17", "(x):17", "afterok:17,:18", "after:17+0", "afterok:17+0", "after:17+"}) {
    const auto parsed = parse_dependency(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidDependency) << text;
  }
  EXPECT_EQ(parse_dependency("expand:17").error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(reformatted("afterok:17+0(unfulfilled)"), "afterok:17+0(unfulfilled)")
      << "of a job that waits already";
}

// The bug: what was said twice was kept and shown twice.
TEST(DependencyText, WhatIsSaidTwiceIsKeptOnce) {
  const std::pair<const char*, const char*> cases[] = {
      {"afterok:17:17", "afterok:17(unfulfilled)"},
      {"afterok:17?afterok:17", "afterok:17(unfulfilled)"},
      {"afterany:17,afterok:17", "afterany:17(unfulfilled),afterok:17(unfulfilled)"},
      {"after:17+5,after:17+6", "after:17+5(unfulfilled)"},
      {"afterok:42_1:42_1", "afterok:42_1(unfulfilled)"},
      {"singleton,afterok:17,singleton,afterok:17",
       "singleton(unfulfilled),afterok:17(unfulfilled)"},
      {"afterok:17?afterok:17?afterany:17", "afterok:17(unfulfilled)?afterany:17(unfulfilled)"}};
  for (const auto& [text, shown] : cases) EXPECT_EQ(reformatted(text), shown) << text;
}

// The bug: each was an item of its own, 282 KB of text for one job, and looked up in each tick.
TEST(DependencyText, ManyTasksOfOneArrayAreOneItem) {
  EXPECT_EQ(reformatted("afterany:1_[0-4899]"), "afterany:1_[0-4899](unfulfilled)");
  std::string kept;  // as earlier versions wrote it
  for (int task = 0; task < 4900; ++task) {
    if (task != 0) kept += ',';
    kept += "afterany:1_" + std::to_string(task) + (task == 7 ? "(failed)" : "(unfulfilled)");
  }
  EXPECT_EQ(reformatted(kept),
            "afterany:1_[0-6](unfulfilled),afterany:1_7(failed),afterany:1_[8-4899](unfulfilled)");
  EXPECT_EQ(reformatted("after:1_[0-99]+5?after:1_[100-109]+5?afterok:2"),
            "after:1_[0-109]+5(unfulfilled)?afterok:2(unfulfilled)");
  EXPECT_EQ(reformatted("afterok:1_[0-99]?afterok:1_[100-109]"),
            "afterok:1_0(unfulfilled)?afterok:1_[1-109](unfulfilled)")
      << "any of them, also when read again";
  std::string few = "afterok:1_0(unfulfilled)";
  for (int task = 1; task < 64; ++task)
    few += ",afterok:1_" + std::to_string(task) + "(unfulfilled)";
  EXPECT_EQ(reformatted("afterok:1_[0-63]"), few) << "few are shown as they always were";
}

TEST(DependencyText, WhatIsNewHasFewerItemsThanWhatWasKept) {
  std::string text;
  for (int job = 1; job <= 1001; ++job)
    text += (text.empty() ? "afterok:" : ",afterok:") + std::to_string(job);
  EXPECT_FALSE(parse_dependency(text));
  EXPECT_TRUE(parse_dependency(text, DependencyText::kKept));
  text.resize(text.rfind(','));
  EXPECT_TRUE(parse_dependency(text));
  std::string gaps = "afterok:1_[0";
  for (int task = 2; task < 2000; task += 2) gaps += ',' + std::to_string(task);
  EXPECT_TRUE(parse_dependency(gaps + ']'));
  EXPECT_FALSE(parse_dependency(gaps + ",3000]")) << "each gap makes one more";
}

TEST(DependencyText, HasNoMoreItemsThanCanBeLookedAt) {
  std::string text = "afterok:1_[0-4999],afterok:2_[0-4999]";
  EXPECT_TRUE(parse_dependency(text));
  text += ",afterok:3";
  ASSERT_FALSE(parse_dependency(text));
  EXPECT_EQ(parse_dependency(text).error().code, ErrorCode::kInvalidDependency);
}

TEST(DependencyText, IsReadBack) {
  std::mt19937 random(11);  // NOLINT(cert-msc51-cpp): repeats
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  for (int round = 0; round < 3000; ++round) {
    Dependency made;
    made.any = below(2) == 0;
    const uint32_t count = 2 + below(5);  // of one alone the joint does not show
    for (uint32_t i = 0; i < count; ++i) {
      DependencyItem item;
      item.kind =
          static_cast<DependencyKind>(below(static_cast<uint32_t>(DependencyKind::kSingleton) + 1));
      if (item.kind != DependencyKind::kSingleton) {
        item.failed = below(4) == 0;
        item.job = 1 + below(1'000'000);
        if (below(3) == 0) item.tasks.insert(below(1000));
        else item.all_tasks = below(3) == 0;
        if (item.kind == DependencyKind::kAfter) item.delay = below(2) * below(100);
      }
      made.items.push_back(item);
    }
    const std::string text = format_dependency(made);
    const auto back = parse_dependency(text, DependencyText::kKept);  // repeated ones, too
    ASSERT_TRUE(back) << text;
    ASSERT_EQ(back->any, made.any) << text;
    ASSERT_EQ(back->items.size(), made.items.size()) << text;
    ASSERT_EQ(format_dependency(*back), text);
    for (size_t i = 0; i < made.items.size(); ++i) {
      ASSERT_EQ(back->items[i].job, made.items[i].job) << text;
      ASSERT_EQ(back->items[i].tasks, made.items[i].tasks) << text;
      ASSERT_EQ(back->items[i].failed, made.items[i].failed) << text;
    }
  }
}

TEST(DependencyText, NonsenseIsRefused) {
  std::mt19937 random(12);  // NOLINT(cert-msc51-cpp): repeats
  constexpr std::string_view kAlphabet = "after:ok012_[]*,?+ (singleton)";
  for (int round = 0; round < 30'000; ++round) {
    std::string text = random() % 2 == 0 ? "afterok:" : "";
    for (auto left = random() % 12; left > 0; --left)
      text += kAlphabet[random() % kAlphabet.size()];
    const auto parsed = parse_dependency(text);
    if (!parsed) continue;
    const std::string shown = format_dependency(*parsed);
    ASSERT_EQ(reformatted(shown), shown) << text;
  }
}

// The bug: of a job that was over the minutes did not count.
TEST_F(CoreTest, MinutesAfterAJobCountFromItsStartAlsoWhenItIsOver) {
  const JobId first = submit(batch_spec()), gone = submit(batch_spec());
  JobSpec spec = batch_spec();
  spec.dependency = "after:" + std::to_string(first) + "+1";
  const JobId before = submit(spec);
  const Time begin = now_;
  ASSERT_TRUE(start_job(first, "n1"));
  now_ = begin + std::chrono::seconds(10);
  ASSERT_TRUE(end_step(first, kBatchStep, "n1", 0, true));
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(gone), 0, protocol::kSignalCancel}));
  const JobId then = submit(spec);
  spec.dependency = "after:" + std::to_string(gone) + "+1";
  const JobId behind = submit(spec);
  spec.dependency = "after:" + std::to_string(first) + ",after:" + std::to_string(gone);
  EXPECT_TRUE(job(submit(spec)).dependency.empty());
  EXPECT_EQ(job(then).reason, JobReason::kDependency);
  EXPECT_EQ(job(then).dependency, "after:" + std::to_string(first) + "+1(unfulfilled)");
  now_ = begin + std::chrono::seconds(59);
  ASSERT_TRUE(run(Tick{}));
  for (const JobId waits : {before, then, behind})
    EXPECT_FALSE(job(waits).dependency.empty()) << waits;
  now_ = begin + std::chrono::seconds(60);
  ASSERT_TRUE(run(Tick{}));
  for (const JobId met : {before, then}) EXPECT_EQ(job(met).accrue, now_) << met;
  EXPECT_FALSE(job(behind).dependency.empty())
      << "it counts from the cancellation of what never ran";
  now_ = begin + std::chrono::seconds(70);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(job(behind).dependency.empty());
}

class DependencyTest : public CoreTest {
 protected:
  JobId submit_waiting(const std::string& dependency) {
    JobSpec spec = batch_spec();
    spec.dependency = dependency;
    return submit(std::move(spec));
  }
  void end_task(JobId array, uint32_t task, int32_t status) {
    ASSERT_TRUE(start_job(array, "n1", 1, task));
    const JobId id = find_array_task(state_, array, task)->id;
    ASSERT_TRUE(end_step(id, kBatchStep, "n1", status, true));
  }
};

TEST_F(DependencyTest, OfManyTasksThoseAreLeftThatAreWaitedFor) {
  JobSpec spec = batch_spec();
  spec.array = "0-99";
  const JobId array = submit(spec);
  const std::string of = std::to_string(array) + "_";
  const JobId good = submit_waiting("afterok:" + of + "[0-99]"),
              bad = submit_waiting("afternotok:" + of + "[0-98]"),
              any = submit_waiting("afterany:" + of + "[10-89]"),
              one = submit_waiting("afterok:" + of + "[0-99]?afterok:" + of + "3"),
              begun = submit_waiting("after:" + of + "[0-79]+1");
  end_task(array, 3, 0);
  end_task(array, 40, 256);
  const Time started = now_;
  for (const JobId id : {good, bad, any})
    EXPECT_NE(job(id).dependency.view().find('['), std::string_view::npos);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(good).dependency,
            "afterok:" + of + "[0-2,4-39,41-99](unfulfilled),afterok:" + of + "40(failed)");
  EXPECT_EQ(job(bad).dependency,
            "afternotok:" + of + "[0-2,4-39,41-98](unfulfilled),afternotok:" + of + "3(failed)");
  EXPECT_EQ(job(any).dependency, "afterany:" + of + "[10-39,41-89](unfulfilled)");
  EXPECT_EQ(job(one).dependency, "") << "one is enough";
  EXPECT_EQ(job(begun).dependency, "after:" + of + "[0-79]+1(unfulfilled)");
  EXPECT_EQ(job(good).reason, JobReason::kDependencyNeverSatisfied);
  now_ = started + std::chrono::minutes(1);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(begun).dependency, "after:" + of + "[0-2,4-39,41-79]+1(unfulfilled)");
  ASSERT_TRUE(run(SignalJob{kAnn, of + "[10-39,41-89]", 0, protocol::kSignalCancel}));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(any).dependency, "");
  EXPECT_EQ(job(any).accrue, now_);
}

// The bug: where one of several was enough and came about, a job was ended for another that could
// not.
TEST_F(DependencyTest, OneOfSeveralIsEnoughAlsoForWhatIsKilledWhenInvalid) {
  configure([](ClusterConfig& config) { config.dependency_parameters = {"kill_invalid_depend"}; });
  const JobId first = submit(batch_spec()), second = submit(batch_spec());
  const JobId waits =
      submit_waiting("afterok:" + std::to_string(first) + "?afterok:" + std::to_string(second));
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(first), 0, protocol::kSignalCancel}));
  ASSERT_TRUE(start_job(second, "n1"));
  ASSERT_TRUE(end_step(second, kBatchStep, "n1", 0, true));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(waits).state, JobState::kPending);
  EXPECT_EQ(job(waits).dependency, "");
}

// sacct said "CANCELLED by" SlurmUser.
TEST_F(DependencyTest, NobodyCancelsWhatEndsByItsDependency) {
  configure([](ClusterConfig& config) { config.dependency_parameters = {"kill_invalid_depend"}; });
  const JobId first = submit(batch_spec());
  const JobId waits = submit_waiting("afterok:" + std::to_string(first));
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(first), 0, protocol::kSignalCancel}));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(waits).state, JobState::kCancelled);
  EXPECT_EQ(job(waits).cancelled_by, UINT32_MAX);
}

// The bug: queued again after the other job's record was gone, it started.
TEST_F(DependencyTest, WhatWasKilledByItsDependencyWaitsForItAlsoWhenItIsRequeued) {
  configure([](ClusterConfig& config) { config.dependency_parameters = {"kill_invalid_depend"}; });
  const JobId first = submit(batch_spec());
  const JobId waits = submit_waiting("afterok:" + std::to_string(first));
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(first), 0, protocol::kSignalCancel}));
  ASSERT_TRUE(run(Tick{}));
  ASSERT_EQ(job(waits).state, JobState::kCancelled);
  sluice::state::apply(state_, JobsPurged{{first}});
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(waits), protocol::JobAction::kRequeue}));
  ASSERT_EQ(job(waits).state, JobState::kPending);
  EXPECT_EQ(job(waits).dependency, "afterok:" + std::to_string(first) + "(failed)");
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(waits).state, JobState::kCancelled);
}

// What is more than one tick looks at has its turn in one of the next.
TEST_F(DependencyTest, LongOnesTakeTurns) {
  const JobId first = submit(batch_spec());
  std::string text = "afterany:" + std::to_string(first);
  for (int gone = 0; gone < 999; ++gone) text += ":" + std::to_string(900'000 + gone);
  std::vector<JobId> waiting;
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(first), protocol::JobAction::kUserHold}));
  for (int i = 0; i < 40; ++i)
    waiting.push_back(submit_waiting("afterany:" + std::to_string(first)));
  std::string kept;  // what is gone is not waited for, but has to be looked at
  for (int gone = 0; gone < 999; ++gone)
    kept += "afterany:" + std::to_string(900'000 + gone) + "(unfulfilled),";
  kept += "afterany:" + std::to_string(first) + "(unfulfilled)";
  for (const JobId id : waiting) {
    sluice::state::apply(
        state_,
        JobDependencyChanged{.job = id, .dependency = kept, .reason = JobReason::kDependency});
  }
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(first), 0, protocol::kSignalCancel}));
  const auto left = [&] {
    return std::ranges::count_if(waiting, [&](JobId id) { return !job(id).dependency.empty(); });
  };
  ASSERT_TRUE(run(Tick{0}));
  EXPECT_LT(left(), 40);
  EXPECT_GT(left(), 0);
  for (uint64_t tick = 1; tick < 6 && left() > 0; ++tick) ASSERT_TRUE(run(Tick{tick}));
  EXPECT_EQ(left(), 0);
}

// Jobs of one name are many or few, are renamed, end and come back.
TEST_F(DependencyTest, SingletonsAmongManyOfOneName) {
  std::vector<JobId> named;
  JobSpec spec = batch_spec();
  spec.name = "one";
  for (int i = 0; i < 40; ++i) named.push_back(submit(spec));
  spec.dependency = "singleton";
  const JobId waits = submit(spec);
  const JobId of_bob = submit(spec, kBob);
  EXPECT_EQ(job(of_bob).dependency, "");
  JobUpdate other_name;
  other_name.name = "two";
  for (const JobId id : named) {
    ASSERT_TRUE(run(Tick{}));
    EXPECT_EQ(job(waits).dependency, "singleton(unfulfilled)") << id;
    if (id % 2 == 0) ASSERT_TRUE(run(UpdateJob{kAnn, std::to_string(id), other_name}));
    else ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(id), 0, protocol::kSignalCancel}));
  }
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(waits).dependency, "");
}

}  // namespace
}  // namespace sluice::state
