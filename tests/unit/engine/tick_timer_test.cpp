// When ticks are due.
#include "ctld/engine/tick_timer.hpp"

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using std::chrono::milliseconds;

constexpr Time kStart = Time(Duration(1'000'000'000));
constexpr Duration kPeriod = std::chrono::seconds(1);

TEST(TickTimer, OnceAPeriod) {
  TickTimer ticks(kPeriod, kStart);
  EXPECT_FALSE(ticks.is_due(kStart + milliseconds(999)));
  EXPECT_EQ(ticks.until(kStart + milliseconds(999)), milliseconds(1));
  EXPECT_TRUE(ticks.is_due(kStart + kPeriod));
  EXPECT_EQ(ticks.until(kStart + 2 * kPeriod), Duration(0));
}

TEST(TickTimer, SoonWhenAskedFor) {
  TickTimer ticks(kPeriod, kStart);
  ticks.ran(kStart, milliseconds(2));
  ticks.ask();
  EXPECT_FALSE(ticks.is_due(kStart + milliseconds(19)))
      << "what took 2 ms is not done again within 20";
  EXPECT_TRUE(ticks.is_due(kStart + milliseconds(20)));
  ticks.ran(kStart + milliseconds(20), milliseconds(2));
  EXPECT_FALSE(ticks.is_due(kStart + milliseconds(100))) << "the one who asked has had it";
}

TEST(TickTimer, ThePeriodHoldsHoweverLongATickTakes) {
  TickTimer ticks(kPeriod, kStart);
  ticks.ran(kStart, milliseconds(500));
  ticks.ask();
  EXPECT_FALSE(ticks.is_due(kStart + milliseconds(999)));
  EXPECT_TRUE(ticks.is_due(kStart + kPeriod));
}

TEST(TickTimer, AClockThatWasSetBack) {
  TickTimer ticks(kPeriod, kStart);
  ticks.ran(kStart, milliseconds(0));
  EXPECT_TRUE(ticks.is_due(kStart - kPeriod));
}

}  // namespace
}  // namespace sluice::engine
