#include "ctld/timeline/busy_nodes.hpp"

#include <gtest/gtest.h>

namespace sluice::timeline {
namespace {

TEST(BusyNodes, WhoeverMeetsABusyTimeWaitsForItsEnd) {
  BusyNodes busy(2);
  busy.begin(7);
  busy.add(0, {10, 20});
  EXPECT_EQ(busy.busy_until(0, 5, 10), 0U) << "it ends before";
  EXPECT_EQ(busy.busy_until(0, 5, 11), 20U);
  EXPECT_EQ(busy.busy_until(0, 19, 100), 20U);
  EXPECT_EQ(busy.busy_until(0, 20, 100), 0U);
  EXPECT_EQ(busy.busy_until(1, 5, 11), 0U) << "another node";
}

TEST(BusyNodes, TimesThatTouchAreOne) {
  BusyNodes busy(1);
  busy.begin(0);
  busy.add(0, {10, 20});
  busy.add(0, {20, 30});
  EXPECT_EQ(busy.busy_until(0, 10, 11), 30U);
  busy.add(0, {40, 50});
  busy.add(0, {5, 12});
  EXPECT_EQ(busy.busy_until(0, 5, 6), 30U);
  EXPECT_EQ(busy.busy_until(0, 45, 46), 50U);
  EXPECT_EQ(busy.busy_until(0, 29, 41), 50U) << "both are met";
}

TEST(BusyNodes, AllIsForgottenWhenSomethingIsGivenBack) {
  BusyNodes busy(1);
  busy.begin(1);
  busy.add(0, {10, kNoTick});
  busy.begin(1);
  EXPECT_EQ(busy.busy_until(0, 15, 16), kNoTick);
  busy.begin(2);
  EXPECT_EQ(busy.busy_until(0, 15, 16), 0U);
}

}  // namespace
}  // namespace sluice::timeline
