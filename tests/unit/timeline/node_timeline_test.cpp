#include "ctld/timeline/node_timeline.hpp"

#include <random>

#include <gtest/gtest.h>

namespace sluice::timeline {
namespace {

// So many cores, one unit for each `each` of them.
class CoreDemand final : public NodeDemand {
 public:
  explicit CoreDemand(uint32_t each) : each_(each) {}
  [[nodiscard]] uint32_t units(NodeId /*node*/, const Free& free) const override {
    return free.core_count / each_;
  }

 private:
  uint32_t each_;
};

Free idle(uint32_t cores) {
  Free free;
  free.cores = Bitmap::first(cores);
  free.core_count = cores;
  free.memory_mib = 1000;
  return free;
}

Claim of(const Bitmap& cores) { return {.cores = &cores, .memory_mib = 100, .uid = 1}; }

TEST(NodeTimeline, ClaimsAreTakenFromTheirSpansOnly) {
  NodeTimeline node(idle(4));
  const Bitmap first = Bitmap::first(2);
  node.add(10, 20, of(first));
  Free free;
  node.window(0, 10, free);
  EXPECT_EQ(free.core_count, 4U);
  node.window(0, 11, free);
  EXPECT_EQ(free.core_count, 2U);
  EXPECT_EQ(free.memory_mib, 900U);
  EXPECT_EQ(free.user, 1U);
  node.window(20, 30, free);
  EXPECT_EQ(free.core_count, 4U);
  EXPECT_EQ(free.jobs, 0U);
}

TEST(NodeTimeline, CoresOfOneJobAreTheSameAllTheTime) {
  NodeTimeline node(idle(2));
  const Bitmap first = Bitmap::first(1);
  Bitmap second;
  second.set(1);
  node.add(0, 10, of(first));
  node.add(10, 20, of(second));
  Free free;
  node.window(0, 20, free);
  EXPECT_EQ(free.core_count, 0U) << "one is always free, but never the same";
  const Starts starts = node.next_start(0, {.duration = 20}, CoreDemand(1), free);
  EXPECT_EQ(starts.first, 10U) << "the first core is";
}

TEST(NodeTimeline, AClosingIsPassedOver) {
  NodeTimeline node(idle(2));
  const std::vector<Closing> closings{{5, 10}, {12, 14}};
  Free scratch;
  const auto first = [&](Tick duration, Tick from = 0) {
    const Starts starts = node.next_start(
        0, {.from = from, .duration = duration, .closings = &closings}, CoreDemand(1), scratch);
    return starts.first;
  };
  EXPECT_EQ(first(5), 0U);
  EXPECT_EQ(first(6), 14U);
  EXPECT_EQ(first(2, 4), 10U);
}

TEST(NodeTimeline, HowLongAClaimStaysFree) {
  NodeTimeline node(idle(2));
  const Bitmap first = Bitmap::first(1), both = Bitmap::first(2);
  node.add(7, 9, of(first));
  Bitmap second;
  second.set(1);
  EXPECT_EQ(node.free_until(of(both)), 7U);
  EXPECT_EQ(node.free_until(of(second)), kNoTick);
}

TEST(NodeTimeline, TheUsersOfASpanAreThoseOfAllItsParts) {
  NodeTimeline node(idle(4));
  const Bitmap first = Bitmap::first(1);
  Claim claim = of(first);
  node.add(0, 5, claim);
  claim.uid = 2;
  node.add(5, 10, claim);
  Free free;
  node.window(0, 10, free);
  EXPECT_EQ(free.user, fit::kSeveralUsers);
  EXPECT_EQ(free.jobs, 1U) << "at once";
}

TEST(Free, UnitsOfEitherAreUsed) {
  GresShares a{{.name = "gpu", .count = 2, .units = Bitmap::first(2)}};
  Bitmap later;
  later.set(1);
  later.set(2);
  unite(a, {{.name = "gpu", .count = 2, .units = later}, {.name = "fan", .count = 4}});
  ASSERT_EQ(a.size(), 2U);
  EXPECT_EQ(a[0].count, 3U);
  EXPECT_EQ(a[0].units.to_text(), "0-2");
  unite(a, {{.name = "fan", .count = 3}});
  EXPECT_EQ(a[1].count, 4U);
  GresShares parts{{.name = "shard", .count = 3, .units = Bitmap::first(2), .parts = {1, 2}}};
  unite(parts, {{.name = "shard", .count = 4, .units = later, .parts = {1, 3}}});
  EXPECT_EQ(parts[0].parts, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(parts[0].count, 6U);
}

// Every moment is looked at, in place of the spans alone.
TEST(NodeTimeline, NextStartIsThatOfASearchByTicks) {
  std::mt19937 random(7);
  const auto pick = [&](uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random);
  };
  for (int round = 0; round < 500; ++round) {
    NodeTimeline node(idle(6));
    std::vector<Bitmap> cores(pick(0, 8));
    for (Bitmap& one : cores) {
      for (uint32_t n = pick(1, 4); n > 0; --n) one.set(pick(0, 5));
      const Tick from = pick(0, 30);
      node.add(from, from + pick(1, 15), of(one));
    }
    const uint32_t each = pick(1, 3);
    const uint32_t most = pick(0, 1) == 0 ? UINT32_MAX : pick(1, 3);
    const CoreDemand demand(each);
    const Tick duration = pick(1, 12), from = pick(0, 20);
    Free free, scratch;
    const auto units_at = [&](Tick at) {
      node.window(at, at + duration, free);
      return std::min(most, demand.units(0, free));
    };
    const Starts starts =
        node.next_start(0, {.from = from, .duration = duration, .most = most}, demand, scratch);
    Tick expected = from;
    while (units_at(expected) == 0) ++expected;
    ASSERT_EQ(starts.first, expected) << round;
    for (Tick at = starts.first; at <= std::min<Tick>(starts.last, 60); ++at)
      ASSERT_EQ(units_at(at), std::min(most, starts.units)) << round << " at " << at;
  }
}

}  // namespace
}  // namespace sluice::timeline
