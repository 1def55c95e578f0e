// How a step ends: without an order, with KillWait, at once, and not at all.
#include "stepd/step_ending.hpp"

#include <gtest/gtest.h>

#include "unit/stepd/step_fakes.hpp"

namespace sluice::stepd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakeClock;
using test::FakeProcesses;
using Signals = std::vector<int>;

class StepEndingTest : public ::testing::Test {
 protected:
  StepEnding::Step step() {
    return {[this] { return lasts; },
            [this] { return streams; },
            [this] { return waits; },
            [this] { return flows; },
            [this] {
              ++given_up;
              streams = streams_stay;
              ending.check();  // as the end of a stream does
            },
            [this] { ++orders; },
            [this] {
              if (++unkillable == 1) ending.check();  // as the end of a stream does
            },
            [this] { ++over; }};
  }
  // As tasks do that TERM ends.
  void all_gone() {
    processes.alive.clear();
    lasts = false;
    ending.check();
  }

  bool lasts = true;
  bool streams = false;
  bool streams_stay = false;
  bool waits = false;
  bool flows = true;
  int given_up = 0;
  int orders = 0;
  int unkillable = 0;
  int over = 0;
  FakeClock clock;
  FakeProcesses processes;
  StepEnding ending{clock, processes, {seconds(30), seconds(60)}, step()};
};

TEST_F(StepEndingTest, AStepLastsAsLongAsItHasSomethingToDo) {
  ending.check();
  EXPECT_EQ(over, 0);
  EXPECT_EQ(clock.waiting(), 0U) << "nothing is looked at again and again meanwhile";
  all_gone();
  EXPECT_EQ(over, 1);
  EXPECT_TRUE(ending.over());
  EXPECT_FALSE(ending.ending());
  ending.check();
  ending.end(true);
  EXPECT_EQ(over, 1) << "once";
  EXPECT_EQ(orders, 0);
}

TEST_F(StepEndingTest, WhatTasksLeaveBehindIsKilled) {
  processes.alive = {10, 11};
  processes.die_of_kill = false;
  lasts = false;
  ending.check();
  EXPECT_EQ(processes.signals, Signals{SIGKILL});
  EXPECT_EQ(over, 0);
  clock.advance(milliseconds(20));
  EXPECT_EQ(processes.signals, (Signals{SIGKILL, SIGKILL})) << "who was born meanwhile";
  processes.alive.clear();
  clock.advance(milliseconds(20));
  EXPECT_EQ(over, 1);
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(StepEndingTest, AnOrderGivesKillWaitAndThenKills) {
  processes.alive = {10};
  ending.end(false);
  EXPECT_EQ(orders, 1);
  EXPECT_TRUE(ending.ending());
  EXPECT_EQ(processes.signals, (Signals{SIGCONT, SIGTERM}));
  ending.end(false);
  EXPECT_EQ(processes.signals.size(), 2U) << "a second order is no second TERM";
  clock.advance(seconds(30) - milliseconds(1));
  EXPECT_EQ(processes.signals.size(), 2U);
  clock.advance(milliseconds(1));
  EXPECT_EQ(processes.signals, (Signals{SIGCONT, SIGTERM, SIGKILL}));
  all_gone();
  EXPECT_EQ(over, 1);
}

TEST_F(StepEndingTest, WithoutAnOrderItIsKilledAfterItsGrace) {
  processes.alive = {10};
  ending.end_unless_ordered(seconds(2));
  EXPECT_FALSE(ending.ending());
  clock.advance(seconds(2) - milliseconds(1));
  EXPECT_TRUE(processes.signals.empty());
  clock.advance(milliseconds(1));
  EXPECT_TRUE(ending.ending());
  EXPECT_EQ(processes.signals, Signals{SIGKILL});
  EXPECT_EQ(orders, 1);
  all_gone();
  EXPECT_EQ(over, 1);
}

TEST_F(StepEndingTest, AnOrderWithinTheGraceGivesKillWait) {
  processes.alive = {10};
  ending.end_unless_ordered(seconds(2));
  clock.advance(seconds(1));
  ending.end(false);
  ending.end_unless_ordered(seconds(2));  // takes nothing of KillWait
  clock.advance(seconds(30) - milliseconds(1));
  EXPECT_EQ(processes.signals, (Signals{SIGCONT, SIGTERM}));
  all_gone();
  EXPECT_EQ(over, 1);
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(StepEndingTest, AnOrderToEndAtOnceDoesNotWait) {
  processes.alive = {10};
  ending.end(false);
  ending.end(true);
  EXPECT_EQ(processes.signals.back(), SIGKILL);
  processes.alive = {12};  // born meanwhile
  clock.advance(milliseconds(100));
  EXPECT_EQ(std::ranges::count(processes.signals, SIGKILL), 2);
  all_gone();
  EXPECT_EQ(over, 1);
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(StepEndingTest, LeftoversOfATermHaveAMoment) {
  processes.alive = {10, 11};
  ending.end(false);
  processes.alive = {11};
  lasts = false;
  ending.check();
  clock.advance(milliseconds(1900));
  EXPECT_EQ(std::ranges::count(processes.signals, SIGKILL), 0);
  EXPECT_EQ(over, 0);
  clock.advance(milliseconds(400));
  EXPECT_EQ(std::ranges::count(processes.signals, SIGKILL), 1);
  EXPECT_EQ(over, 1);
}

TEST_F(StepEndingTest, LeftoversThatCatchTermHaveKillWait) {
  processes.alive = {11};
  processes.catch_term = true;
  ending.end(false);
  lasts = false;
  ending.check();
  clock.advance(seconds(29));
  EXPECT_EQ(std::ranges::count(processes.signals, SIGKILL), 0);
  clock.advance(milliseconds(1250));
  EXPECT_EQ(std::ranges::count(processes.signals, SIGKILL), 1);
  EXPECT_EQ(over, 1);
}

TEST_F(StepEndingTest, OutputThatSomebodyElseHoldsIsGivenUp) {
  streams = true;
  lasts = false;
  ending.check();
  clock.advance(milliseconds(4980));
  EXPECT_EQ(given_up, 0);
  clock.advance(milliseconds(20));
  EXPECT_EQ(given_up, 1);
  EXPECT_EQ(over, 1) << "once, though the end of a stream led back";
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(StepEndingTest, OutputWaitsForItsReaders) {
  streams = waits = true;
  lasts = false;
  ending.check();
  clock.advance(seconds(3600));
  EXPECT_EQ(given_up, 0);
  ending.end(true);
  clock.advance(seconds(6));
  EXPECT_EQ(given_up, 1) << "of a step that was killed not for ever";
  EXPECT_EQ(over, 1);
}

TEST_F(StepEndingTest, OutputThatNobodyReadsYetIsNotGivenUp) {
  streams = true;
  flows = lasts = false;
  ending.check();
  clock.advance(seconds(60));
  EXPECT_EQ(given_up, 0);
}

TEST_F(StepEndingTest, WhatCannotBeKilledIsGivenUp) {
  processes.alive = {10};
  processes.die_of_kill = false;
  ending.end(true);
  clock.advance(seconds(60) - milliseconds(1));
  EXPECT_EQ(unkillable, 0);
  clock.advance(milliseconds(200));
  EXPECT_EQ(unkillable, 1);
  EXPECT_EQ(over, 1);
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(StepEndingTest, LeftoversThatCannotBeKilledAreGivenUpOnce) {
  processes.alive = {10};
  processes.die_of_kill = false;
  lasts = false;
  ending.check();
  clock.advance(seconds(61));
  EXPECT_EQ(over, 1);
}

TEST_F(StepEndingTest, AFarewellIsAsLongAsTheEnd) {
  bool left = false;
  const auto leave = [&] { left = true; };
  all_gone();
  ending.limit_farewell(leave);
  clock.advance(seconds(3600));
  EXPECT_FALSE(left) << "nobody told it to end";
}

TEST_F(StepEndingTest, AFarewellAfterTermHasKillWait) {
  bool left = false;
  ending.end(false);
  all_gone();
  ending.limit_farewell([&] { left = true; });
  clock.advance(seconds(35) - milliseconds(1));
  EXPECT_FALSE(left);
  clock.advance(milliseconds(1));
  EXPECT_TRUE(left);
}

TEST_F(StepEndingTest, AFarewellAfterKillIsShort) {
  bool left = false;
  ending.end(true);
  all_gone();
  ending.limit_farewell([&] { left = true; });
  clock.advance(seconds(5));
  EXPECT_TRUE(left);
}

TEST(StepEndingLimits, WithoutALimitItKillsForEver) {
  FakeClock clock;
  FakeProcesses processes;
  processes.alive = {10};
  processes.die_of_kill = false;
  int over = 0;
  const auto no = [] { return false; };
  StepEnding ending(clock, processes, {seconds(30), seconds(0)},
                    {no, no, no, no, [] {}, [] {}, [] {}, [&] { ++over; }});
  ending.end(true);
  clock.advance(seconds(600));
  EXPECT_EQ(over, 0);
  EXPECT_GT(processes.signals.size(), 5000U);
}

// The bug: they were taken for processes that cannot be killed, and the node was drained.
TEST_F(StepEndingTest, WhatEndedAndIsKeptByTracersIsOver) {
  processes.alive = {10};
  processes.die_of_kill = false;
  ending.end(true);
  EXPECT_EQ(over, 0);
  processes.kept_dead = true;
  lasts = false;
  clock.advance(milliseconds(100));
  EXPECT_EQ(over, 1);
  EXPECT_EQ(unkillable, 0);
  EXPECT_EQ(clock.waiting(), 0U);
}

}  // namespace
}  // namespace sluice::stepd
