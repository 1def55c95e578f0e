// Launches are dated by the controller's clock, whatever this host's says.
#include "noded/node/controller_clock.hpp"

#include <chrono>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "common/os/clock.hpp"
#include "common/protocol/node_reports.hpp"
#include "noded/node/launch_age.hpp"

namespace sluice::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Time kOwn{seconds(1'000'000)};
const SteadyTime kBegin{seconds(500)};

TEST(ControllerClock, IsThisHostsUntilItIsTold) {
  ControllerClock clock;
  EXPECT_EQ(clock.time(kOwn, kBegin), kOwn);
  EXPECT_EQ(clock.ahead(kOwn, kBegin), std::nullopt);
  clock.told(kNoTime, kBegin, kBegin);  // by a controller of an earlier version
  EXPECT_EQ(clock.time(kOwn, kBegin), kOwn);
}

TEST(ControllerClock, GoesOnFromWhatWasTold) {
  ControllerClock clock;
  clock.told(kOwn - seconds(25), kBegin, kBegin);
  EXPECT_EQ(clock.time(kOwn + seconds(7), kBegin + seconds(7)), kOwn - seconds(18));
  EXPECT_EQ(clock.ahead(kOwn + seconds(7), kBegin + seconds(7)), seconds(25));
  EXPECT_EQ(clock.ahead(kOwn - seconds(18), kBegin + seconds(7)), seconds(0)) << "it was set right";
}

TEST(ControllerClock, WhatTheAnswerTookMayNotBeADifference) {
  ControllerClock clock;
  clock.told(kOwn, kBegin, kBegin + seconds(20));  // it came somewhere between
  EXPECT_EQ(clock.ahead(kOwn + seconds(20), kBegin + seconds(20)), seconds(0));
  EXPECT_EQ(clock.ahead(kOwn - seconds(39), kBegin), -seconds(19));
}

TEST(ControllerClock, ADifferenceIsSaidInWords) {
  using protocol::clock_difference_text;
  EXPECT_EQ(clock_difference_text(milliseconds(25'400)), "25 s ahead of the controller's");
  EXPECT_EQ(clock_difference_text(-seconds(39)), "39 s behind the controller's");
  EXPECT_EQ(clock_difference_text(seconds(5)), "");
  EXPECT_EQ(clock_difference_text(Duration::min()).substr(0, 4), "3155") << "whatever a node says";
}

class LaunchAge : public testing::Test {
 protected:
  // This host's clock is that much ahead; the controller has just answered the first registration.
  void register_ahead(Duration ahead) {
    controllers_ = now() - ahead;
    node_.controller_clock.told(controllers_, net::steady_now(), net::steady_now());
    node_.answered_from = controllers_;
    node_.started = now();
  }
  boost::asio::io_context io_;
  NodeState node_{.io = io_};
  Time controllers_ = kNoTime;
};

TEST_F(LaunchAge, AWrongClockRefusesNothingThatIsNew) {
  for (const auto ahead : {seconds(0), seconds(25), seconds(300), -seconds(39), -seconds(300)}) {
    register_ahead(ahead);
    EXPECT_TRUE(check_age(node_, controllers_ + milliseconds(1))) << ahead.count();
  }
}

TEST_F(LaunchAge, WhatIsOldCountsNoMore) {
  for (const auto ahead : {seconds(0), seconds(25), -seconds(39)}) {
    register_ahead(ahead);
    const auto before = check_age(node_, controllers_ - milliseconds(1));
    ASSERT_FALSE(before);
    EXPECT_EQ(before.error().code, ErrorCode::kRetry) << "the controller signs anew";
    EXPECT_FALSE(check_age(node_, controllers_ - seconds(200)));
    EXPECT_FALSE(check_age(node_, controllers_ + seconds(60)));
    node_.launches_from = controllers_ + milliseconds(1);  // after a silence
    node_.controller_clock.told(controllers_ + seconds(5), net::steady_now(), net::steady_now());
    EXPECT_FALSE(check_age(node_, controllers_));
    node_.launches_from = kNoTime;
  }
}

// An agent that registered for each of them would make all that are on their way as old, for ever.
TEST_F(LaunchAge, OnlyAnotherTimeHasTheClockAskedFor) {
  register_ahead(seconds(25));
  EXPECT_FALSE(check_age(node_, controllers_ - milliseconds(1)));
  EXPECT_FALSE(doubts_clock(node_, controllers_ - milliseconds(1)));
  node_.launches_from = controllers_ + milliseconds(1);  // after a silence
  EXPECT_FALSE(doubts_clock(node_, controllers_));
  EXPECT_TRUE(doubts_clock(node_, controllers_ - seconds(500)));
  EXPECT_TRUE(doubts_clock(node_, controllers_ + seconds(60)));
}

TEST_F(LaunchAge, AControllersClockThatIsSetBackIsFollowed) {
  register_ahead(seconds(0));
  node_.controller_clock.told(controllers_ - seconds(3600), net::steady_now(), net::steady_now());
  EXPECT_FALSE(check_age(node_, controllers_ - seconds(3601)));
  EXPECT_TRUE(check_age(node_, controllers_ - seconds(3599)));
}

}  // namespace
}  // namespace sluice::noded
