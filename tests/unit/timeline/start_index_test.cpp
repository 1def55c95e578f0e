#include "ctld/timeline/start_index.hpp"

#include <random>

#include <gtest/gtest.h>

#include "ctld/timeline/counter_timeline.hpp"

namespace sluice::timeline {
namespace {

class CoreDemand final : public NodeDemand {
 public:
  [[nodiscard]] uint32_t units(NodeId /*node*/, const Free& free) const override {
    return free.core_count;
  }
};

Free idle(uint32_t cores) {
  Free free;
  free.cores = Bitmap::first(cores);
  free.core_count = cores;
  return free;
}

// Claims come between the questions, as jobs are planned one after the other.
TEST(StartIndex, AnswersAreThoseOfASearchByTicks) {
  std::mt19937 random(11);
  const auto pick = [&](uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random);
  };
  const CoreDemand demand;
  for (int round = 0; round < 200; ++round) {
    const uint32_t count = pick(1, 5);
    Timeline timeline(count);
    std::vector<IndexedNode> nodes;
    for (NodeId id = 0; id < count; ++id) {
      timeline.reset(id, idle(4));
      nodes.push_back({.id = id, .most = pick(1, 4), .required = pick(0, 9) == 0});
    }
    const Tick duration = pick(1, 10);
    StartIndex index(timeline, nodes, demand, duration, pick(0, 1) == 0);
    Tick last = 0;
    for (int question = 0; question < 8; ++question) {
      const StartIndex::Enough enough{pick(1, count), pick(1, 4 * count)};
      const auto serves = [&](Tick at) {
        uint32_t serving = 0;
        uint64_t units = 0;
        bool required = true;
        Free free;
        for (const IndexedNode& node : nodes) {
          timeline.node(node.id).window(at, at + duration, free);
          serving += free.core_count > 0 ? 1 : 0;
          units += std::min(node.most, free.core_count);
          required = required && (!node.required || free.core_count > 0);
        }
        return required && serving >= enough.nodes && units >= enough.units;
      };
      Tick expected = last;
      while (expected < 500 && !serves(expected)) ++expected;
      std::vector<uint32_t> serving;
      const Tick found = index.next(last, enough, pick(0, 1) == 0, serving);
      ASSERT_EQ(found, expected < 500 ? expected : kNoTick) << round << "." << question;
      for (const uint32_t position : serving) EXPECT_TRUE(index.serves(position, found));
      const Bitmap cores = Bitmap::first(pick(1, 4));
      const Tick from = pick(0, 30);
      timeline.add(pick(0, count - 1), from, from + pick(1, 20), {.cores = &cores});
      last = pick(0, 20);
    }
  }
}

TEST(StartIndex, WhatIsGivenBackIsFound) {
  Timeline timeline(1);
  timeline.reset(0, idle(2));
  const Bitmap cores = Bitmap::first(2);
  timeline.add(0, 0, 10, {.cores = &cores});
  const std::vector<IndexedNode> nodes{{.id = 0, .most = 2}};
  const CoreDemand demand;
  StartIndex index(timeline, nodes, demand, 5, false);
  std::vector<uint32_t> serving;
  EXPECT_EQ(index.next(0, {1, 1}, false, serving), 10U);
  index.raise_bound(10);
  timeline.reset(0, idle(2));
  EXPECT_EQ(index.next(0, {1, 1}, false, serving), 10U) << "until it is told";
  timeline.more_is_free();
  EXPECT_FALSE(index.is_current());
  EXPECT_EQ(index.next(0, {1, 1}, false, serving), 0U);
}

TEST(CounterTimeline, NextStart) {
  CounterTimeline counter(3);
  counter.add(0, 10, 2);
  counter.add(20, 30, 3);
  EXPECT_EQ(counter.next_start(0, 20, 1), 0U);
  EXPECT_EQ(counter.next_start(0, 21, 1), 30U);
  EXPECT_EQ(counter.next_start(0, 5, 2), 10U);
  EXPECT_EQ(counter.next_start(12, 9, 2), 30U);
  EXPECT_EQ(counter.next_start(0, 1, 4), kNoTick);
  counter.add(40, kNoTick, 3);
  EXPECT_EQ(counter.next_start(0, 11, 3), kNoTick);
  EXPECT_EQ(counter.next_start(0, 10, 3), 10U);
}

}  // namespace
}  // namespace sluice::timeline
