#include "ctld/timeline/start_index.hpp"

#include <deque>
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

// Claims come between the questions, as jobs are planned one after the other. Jobs of two durations
// ask by turns, and know of each other's busy nodes.
struct Search {
  std::mt19937 random{11};
  const CoreDemand demand;
  uint32_t pick(uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random);
  }
  void compare(uint32_t count, int questions, uint32_t most_claims);
};

void Search::compare(uint32_t count, int questions, uint32_t most_claims) {
  Timeline timeline(count);
  IndexedNodes nodes;
  for (NodeId id = 0; id < count; ++id) {
    timeline.reset(id, idle(4));
    nodes.add({.id = id, .most = pick(1, 4), .required = count < 10 && pick(0, 9) == 0});
  }
  BusyNodes busy(count);
  std::deque<StartIndex> indexes;
  for (int i = 0; i < 2; ++i)
    indexes.emplace_back(StartIndex::Of{timeline, nodes, demand, nullptr, &busy}, pick(1, 10),
                         pick(0, 1) == 0);
  Tick last = 0;
  for (int question = 0; question < questions; ++question) {
    StartIndex& index = indexes[pick(0, 1)];
    const StartIndex::Enough enough{pick(1, count), pick(1, 4 * count)};
    const auto gives = [&](NodeId id, Tick at) {
      Free free;
      timeline.node(id).window(at, at + index.duration(), free);
      return free.core_count;
    };
    const auto serves = [&](Tick at) {
      uint32_t serving = 0;
      uint64_t units = 0;
      bool required = true;
      for (size_t i = 0; i < nodes.size(); ++i) {
        const IndexedNode node = nodes[i];
        const uint32_t cores = gives(node.id, at);
        serving += cores > 0 ? 1 : 0;
        units += std::min(node.most, cores);
        required = required && (!node.required || cores > 0);
      }
      return required && serving >= enough.nodes && units >= enough.units;
    };
    Tick expected = last;
    while (expected < 500 && !serves(expected)) ++expected;
    std::vector<uint32_t> serving;
    const Tick found = index.next(last, enough, pick(0, 1) == 0, serving);
    ASSERT_EQ(found, expected < 500 ? expected : kNoTick) << count << " nodes, " << question;
    for (const uint32_t position : serving) EXPECT_GT(gives(position, found), 0U);
    if (found != kNoTick) {
      const uint32_t least = pick(1, 3);
      std::vector<uint32_t> walked, wanted;
      StartIndex::Walk walk(index, found, {.least = least});
      for (uint32_t i = walk.next(); i != walk.end(); i = walk.next()) walked.push_back(i);
      for (size_t i = 0; i < nodes.size(); ++i) {
        const IndexedNode node = nodes[i];
        if (node.most >= least && gives(node.id, found) > 0) wanted.push_back(node.id);
      }
      EXPECT_EQ(walked, wanted);
    }
    for (uint32_t claims = pick(1, most_claims); claims > 0; --claims) {
      const Bitmap cores = Bitmap::first(pick(1, 4));
      const Tick from = pick(0, 30);
      timeline.add(pick(0, count - 1), from, from + pick(1, 20), {.cores = &cores});
    }
    last = pick(0, 20);
  }
}

TEST(StartIndex, AnswersAreThoseOfASearchByTicks) {
  Search search;
  for (int round = 0; round < 200; ++round) search.compare(search.pick(1, 5), 8, 1);
}

// More nodes fail than are looked at before what can be hoped for is counted.
TEST(StartIndex, AnswersForManyNodesAreThoseOfASearchByTicks) {
  Search search;
  for (int round = 0; round < 10; ++round) search.compare(search.pick(150, 300), 8, 600);
}

TEST(StartIndex, WhatIsGivenBackIsFound) {
  Timeline timeline(1);
  timeline.reset(0, idle(2));
  const Bitmap cores = Bitmap::first(2);
  timeline.add(0, 0, 10, {.cores = &cores});
  IndexedNodes nodes;
  nodes.add({.id = 0, .most = 2});
  const CoreDemand demand;
  StartIndex index({timeline, nodes, demand}, 5, false);
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

// What a group does not use of what is kept for it is gone for others.
TEST(CounterTimeline, GroupsHaveWhatIsKeptForThem) {
  CounterTimeline counter(5);
  counter.keep(10, 20, 3, 1);
  EXPECT_EQ(counter.next_start(0, 10, 3), 0U);
  EXPECT_EQ(counter.next_start(0, 11, 3), 20U);
  EXPECT_EQ(counter.next_start(0, 11, 2), 0U);
  EXPECT_EQ(counter.next_start(0, 11, 5, 1), 0U);
  counter.add(10, 15, 1, 1);
  EXPECT_EQ(counter.next_start(10, 1, 3), 20U) << "it is one of those that are kept";
  EXPECT_EQ(counter.next_start(10, 1, 4, 1), 10U);
  EXPECT_EQ(counter.next_start(10, 1, 5, 1), 15U);
  counter.add(12, 14, 3, 1);
  EXPECT_EQ(counter.next_start(12, 1, 2), 14U) << "it uses more than is kept for it";
}

TEST(CounterTimeline, FreeUntilOthersHaveThem) {
  CounterTimeline counter(5);
  counter.keep(10, 20, 3, 1);
  EXPECT_EQ(counter.free_until(0, 2), kNoTick);
  EXPECT_EQ(counter.free_until(0, 3), 10U);
  EXPECT_EQ(counter.free_until(12, 3), 12U);
  EXPECT_EQ(counter.free_until(0, 6), 0U);
  EXPECT_EQ(counter.free_until(0, 5, 1), kNoTick);
  counter.add(15, 16, 1);
  EXPECT_EQ(counter.free_until(0, 5, 1), 15U);
  EXPECT_EQ(counter.free_until(0, 5, 1, 15), kNoTick) << "the group is over then";
}

TEST(CounterTimeline, OnesOfAGroupThatEndsAreOverWithIt) {
  CounterTimeline counter(5);
  counter.keep(20, 30, 5, 2);
  EXPECT_EQ(counter.next_start(0, 100, 1, 1), 30U);
  EXPECT_EQ(counter.next_start(0, 100, 1, 1, 20), 0U);
}

// A view is without what is reserved, and follows what is claimed afterwards.
TEST(Timeline, AViewIsWithoutWhatIsReserved) {
  Timeline timeline(1);
  Free base;
  base.cores = Bitmap::first(4);
  base.core_count = 4;
  base.memory_mib = 100;
  timeline.reset(0, base);
  const Bitmap two = Bitmap::first(2);
  const Timeline::View& view = timeline.add_view({.parts = {{0, {{10, 20, two}}}}});
  Bitmap last;
  last.set(3);
  timeline.add(0, 0, 5, {.cores = &last, .memory_mib = 10, .uid = 1});
  const auto cores = [&](Tick from, Tick to) {
    Free free;
    timeline.node(0, &view).window(from, to, free);
    return free.cores.to_text();
  };
  EXPECT_EQ(cores(0, 5), "0-2");
  EXPECT_EQ(cores(5, 10), "0-3");
  EXPECT_EQ(cores(5, 11), "2-3");
  EXPECT_EQ(cores(20, 30), "0-3");
  Free whole;
  timeline.node(0).window(10, 20, whole);
  EXPECT_EQ(whole.core_count, 4U);
  timeline.reset(0, base);
  EXPECT_EQ(cores(0, 5), "0-3");
  EXPECT_EQ(cores(0, 11), "2-3");
}

}  // namespace
}  // namespace sluice::timeline
