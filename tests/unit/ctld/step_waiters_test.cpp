// Requests for steps are held until there may be room, or until their time is over.
#include "ctld/query/step_waiters.hpp"

#include <future>

#include <gtest/gtest.h>

namespace sluice::ctld {
namespace {

const auto kLater = StepWaiters::Clock::now() + std::chrono::hours(1);

TEST(StepWaiters, ThoseOfAJobTryAgainInTheirOrder) {
  StepWaiters waiters;
  std::vector<int> tried;
  const auto note = [&](int which) { return [&tried, which] { tried.push_back(which); }; };
  ASSERT_TRUE(waiters.hold({7}, kLater, 0, note(1)));
  ASSERT_TRUE(waiters.hold({8}, kLater, 0, note(2)));
  ASSERT_TRUE(waiters.hold({6, 7}, kLater, 0, note(3)));  // in two components
  waiters.wake(7);
  EXPECT_EQ(tried, (std::vector{1, 3}));
  waiters.wake(7);
  waiters.wake(6);
  EXPECT_EQ(tried.size(), 2U) << "once each";
  waiters.wake(8);
  EXPECT_EQ(tried.back(), 2);
}

TEST(StepWaiters, OneThatTriesAgainMayBeHeldAgain) {
  StepWaiters waiters;
  int tries = 0;
  const std::function<void()> again = [&] {
    const bool more = ++tries < 3;
    EXPECT_EQ(more, more && waiters.hold({7}, kLater, 0, again));
  };
  ASSERT_TRUE(waiters.hold({7}, kLater, 0, again));
  for (int i = 1; i <= 3; ++i) {
    waiters.wake(7);
    EXPECT_EQ(tries, i);
  }
}

TEST(StepWaiters, ABatchAtATimeAndEachHasItsTurn) {
  StepWaiters waiters(1 << 20, {.count = 2, .time = {}});
  std::vector<int> tried;
  std::function<void(int)> wait = [&](int which) {
    ASSERT_TRUE(waiters.hold({7}, kLater, 0, [&tried, &wait, which] {
      tried.push_back(which);
      wait(which);
    }));
  };
  for (const int which : {1, 2, 3}) wait(which);
  waiters.wake(7);
  waiters.wake(7);
  EXPECT_EQ(tried, (std::vector{1, 2, 3, 1}));
  wait = [](int) {};
  waiters.close();
}

TEST(StepWaiters, ThoseThatWaitForLongTryAgainToo) {
  StepWaiters waiters;
  waiters.use({.count = 1, .time = std::chrono::seconds(60)});
  std::vector<int> tried;
  const auto hold = [&](int which, int waited_s) {
    ASSERT_TRUE(waiters.hold(
        {7}, kLater, 0, [&tried, which] { tried.push_back(which); },
        StepWaiters::Clock::now() - std::chrono::seconds(waited_s)));
  };
  for (const auto& [which, waited_s] : {std::pair{1, 0}, {2, 0}, {3, 61}, {4, 30}, {5, 90}})
    hold(which, waited_s);
  waiters.wake(7);
  EXPECT_EQ(tried, (std::vector{1, 3, 5}));
  waiters.use({.count = 8, .time = {}});
  waiters.wake(7);
  EXPECT_EQ(tried, (std::vector{1, 3, 5, 2, 4}));
}

TEST(StepWaiters, AsSchedulerParametersSays) {
  ClusterConfig config;
  EXPECT_EQ(step_retry(config).count, 8U);
  EXPECT_FALSE(step_retry(config).time);
  config.scheduler_parameters = {"defer", "step_retry_count=3", "step_retry_time=20"};
  EXPECT_EQ(step_retry(config).count, 3U);
  EXPECT_EQ(step_retry(config).time, std::chrono::seconds(20));
  config.scheduler_parameters = {"step_retry_count=0", "step_retry_time=x"};
  EXPECT_EQ(step_retry(config).count, 1U) << "else none would";
  EXPECT_FALSE(step_retry(config).time);
}

TEST(StepWaiters, WhatIsHeldIsLimited) {
  StepWaiters waiters(100'000);
  ASSERT_TRUE(waiters.hold({7}, kLater, 60'000, [] {}));
  EXPECT_FALSE(waiters.hold({8}, kLater, 60'000, [] { FAIL(); }));
  waiters.wake(7);
  EXPECT_TRUE(waiters.hold({8}, kLater, 60'000, [] {}));
}

TEST(StepWaiters, TimeIsOver) {
  StepWaiters waiters;
  std::promise<void> tried;
  EXPECT_FALSE(waiters.hold({7}, StepWaiters::Clock::now(), 0, [] { FAIL(); }));
  ASSERT_TRUE(waiters.hold({7}, StepWaiters::Clock::now() + std::chrono::milliseconds(1), 0,
                           [&] { tried.set_value(); }));
  tried.get_future().wait();
}

TEST(StepWaiters, AtTheEndNobodyIsKept) {
  StepWaiters waiters;
  int tries = 0;
  ASSERT_TRUE(waiters.hold({7}, kLater, 0, [&] {
    ++tries;
    EXPECT_FALSE(waiters.hold({7}, kLater, 0, [] { FAIL(); }));
  }));
  waiters.close();
  EXPECT_EQ(tries, 1);
}

}  // namespace
}  // namespace sluice::ctld
