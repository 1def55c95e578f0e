// How long each stage of a pass takes.
#include "ctld/sched/stage_times.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

using std::chrono::nanoseconds;

// Each look at it is a nanosecond later.
int64_t ticks = 0;
nanoseconds ticking() { return nanoseconds(++ticks); }

nanoseconds of(const StageTimes& times, Stage stage) { return times[static_cast<size_t>(stage)]; }

TEST(StageTimes, OneThatInterruptsIsNotCountedTwice) {
  ticks = 0;
  StageTimer timer(ticking, Stage::kPrepare);  // 1
  {
    const StageScope place(timer, Stage::kPlace);  // 2
    {
      const StageScope same(timer, Stage::kPlace);       // no look
      const StageScope explain(timer, Stage::kExplain);  // 3
    }                                                    // 4
  }                                                      // 5
  const StageTimes times = timer.times();                // 6
  EXPECT_EQ(of(times, Stage::kPrepare), nanoseconds(2));
  EXPECT_EQ(of(times, Stage::kPlace), nanoseconds(2));
  EXPECT_EQ(of(times, Stage::kExplain), nanoseconds(1));
}

TEST(StageTimes, WithoutAClockNothingIsTimed) {
  World w(1, 4);
  w.up();
  w.submit(World::spec(4, 10));
  const Plan plan = plan_pass(w.state, make_policies(w.state), w.now);
  EXPECT_EQ(plan.counts.stages, StageTimes{});
}

TEST(StageTimes, AllStagesTogetherAreThePass) {
  World w(1, 4);
  w.config.preempt_type = "preempt/partition_prio";
  w.config.preempt_mode = PreemptMode::kCancel;
  PartitionConfig& high = w.partition("high");
  high.priority_tier = 2;
  high.preempt_mode = PreemptMode::kOff;
  w.up();
  w.submit(World::spec(4, 10));
  w.pass();
  w.submit(World::spec(4, 10));
  JobSpec first = World::spec(4, 10);
  first.partitions = "high";
  w.submit(first);
  WorkBudget budget;
  budget.stage_clock = ticking;
  const int64_t before = ++ticks;
  const Plan plan = plan_pass(w.state, make_policies(w.state), w.now, budget);
  const int64_t looks = ++ticks - before;
  const StageTimes& times = plan.counts.stages;
  for (const Stage stage : {Stage::kPrepare, Stage::kEligible, Stage::kPrioritise, Stage::kPlace,
                            Stage::kBackfill, Stage::kPreempt, Stage::kExplain}) {
    EXPECT_GT(of(times, stage), nanoseconds(0)) << kStageNames[static_cast<size_t>(stage)];
  }
  EXPECT_EQ(std::accumulate(times.begin(), times.end(), nanoseconds(0)), nanoseconds(looks - 2));
  EXPECT_FALSE(plan.counts.incremental);
}

}  // namespace
}  // namespace sluice::sched
