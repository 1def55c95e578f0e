// What sdiag is told of the scheduler's passes.
#include "ctld/engine/pass_counts.hpp"

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

sched::PassTimings pass_of(bool incremental, uint32_t planned = 0) {
  sched::PassTimings pass;
  pass.incremental = incremental;
  pass.planned = planned;
  pass.kept = planned / 2;
  return pass;
}
protocol::QueryStatisticsReply report(const PassCounts& counts) {
  protocol::QueryStatisticsReply reply;
  counts.report(reply);
  return reply;
}

TEST(PassCounts, FullAndIncrementalPassesApart) {
  PassCounts counts;
  sched::PassTimings full = pass_of(false, 10);
  full.stages[static_cast<size_t>(sched::Stage::kBackfill)] = nanoseconds(70'400);
  counts.add(full, microseconds(100), from_seconds(1000));
  full.stages[static_cast<size_t>(sched::Stage::kBackfill)] = nanoseconds(10'400);
  counts.add(full, microseconds(40), from_seconds(1001));
  counts.add(pass_of(true, 8), microseconds(7), from_seconds(1002));
  const auto reply = report(counts);
  ASSERT_EQ(reply.passes.size(), 2U);
  const protocol::PassKind &first = reply.passes[0], &second = reply.passes[1];
  EXPECT_EQ(first.name, "full");
  EXPECT_EQ(first.passes, 2U);
  EXPECT_EQ(first.last_us, 40U);
  EXPECT_EQ(first.max_us, 100U);
  EXPECT_EQ(first.total_us, 140U);
  EXPECT_EQ(first.planned, 20U);
  ASSERT_EQ(first.stages.size(), sched::kStages);
  const protocol::StageCount& backfill = first.stages[static_cast<size_t>(sched::Stage::kBackfill)];
  EXPECT_EQ(backfill.name, "backfill");
  EXPECT_EQ(backfill.last_us, 10U);
  EXPECT_EQ(backfill.max_us, 70U);
  EXPECT_EQ(backfill.total_us, 80U) << "parts of microseconds count, too";
  EXPECT_EQ(second.name, "incremental");
  EXPECT_EQ(second.passes, 1U);
  EXPECT_EQ(second.kept, 4U);
  EXPECT_EQ(reply.cycles.cycles, 3U);
}

TEST(PassCounts, WhyPassesEnded) {
  PassCounts counts;
  const auto add = [&](auto change, uint32_t planned) {
    sched::PassTimings pass = pass_of(false, planned);
    change(pass);
    counts.add(pass, microseconds(1), from_seconds(1000));
  };
  add([](auto&) {}, 0);
  add([](auto& pass) { pass.most_starts = true; }, 1);
  add([](auto& pass) { pass.out_of_time = true; }, 1);
  add([](auto& pass) { pass.most_jobs = true; }, 1);
  add([](auto& pass) { pass.most_tests = true; }, 1);
  add([](auto& pass) { pass.most_backfilled = true; }, 1);
  const auto reply = report(counts);
  const protocol::CycleCounts &all = reply.cycles, &backfill = reply.backfill;
  EXPECT_EQ(all.ended_queue, 2U);
  EXPECT_EQ(all.ended_starts, 1U);
  EXPECT_EQ(all.ended_time, 1U);
  EXPECT_EQ(all.ended_depth, 1U);
  EXPECT_EQ(all.ended_tests, 1U);
  EXPECT_EQ(backfill.cycles, 5U);
  EXPECT_EQ(backfill.ended_queue, 0U);
  EXPECT_EQ(backfill.ended_starts, 2U) << "bf_max_job_start is one of them";
}

TEST(PassCounts, WhatIsCountedSinceTheStartStays) {
  PassCounts counts;
  sched::PassTimings pass = pass_of(false, 1);
  pass.backfilled = 5;  // as it was planned: the engine took three
  counts.add(pass, microseconds(1), from_seconds(1000));
  counts.note_started({.started = 5, .dropped = 2, .backfilled = 3, .backfilled_components = 2});
  EXPECT_EQ(report(counts).backfilled, 3U);
  counts.reset();
  const auto reply = report(counts);
  EXPECT_EQ(reply.cycles.cycles, 0U);
  EXPECT_EQ(reply.backfilled, 0U);
  EXPECT_EQ(reply.backfilled_ever, 3U);
  EXPECT_EQ(reply.backfilled_components, 2U);
  EXPECT_EQ(reply.passes[0].passes, 0U);
}

}  // namespace
}  // namespace sluice::engine
