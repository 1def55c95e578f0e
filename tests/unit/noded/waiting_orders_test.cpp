#include "noded/steps/waiting_orders.hpp"

#include <gtest/gtest.h>

namespace sluice::noded {
namespace {

using protocol::FrameType;

// A user's attaches to a step that was not ready took all of the node's memory.
TEST(WaitingOrders, AttachesAreFew) {
  WaitingOrders waiting;
  size_t taken = 0;
  for (int i = 0; i < 1000; ++i)
    taken += waiting.add(FrameType::kAgentAttach, std::to_string(i)) ? 1 : 0;
  EXPECT_EQ(taken, WaitingOrders::kMostAttaches);
  EXPECT_TRUE(waiting.add(FrameType::kAgentSignal, "USR1")) << "others have their room";
  EXPECT_EQ(waiting.take().size(), WaitingOrders::kMostAttaches + 1);
  EXPECT_TRUE(waiting.add(FrameType::kAgentAttach, "again"));
}

TEST(WaitingOrders, WhatUsersSendTakesLittleRoom) {
  WaitingOrders waiting;
  EXPECT_FALSE(waiting.add(FrameType::kAgentSignal, std::string(WaitingOrders::kMostBytes, 'm')));
  size_t bytes = 0;
  for (int i = 0; i < 100000; ++i) (void)waiting.add(FrameType::kAgentSignal, std::to_string(i));
  waiting.put({FrameType::kAgentTerminate, "end"});
  const auto orders = waiting.take();
  for (const auto& order : orders) bytes += sizeof order + order.second.size();
  EXPECT_LE(bytes, WaitingOrders::kMostBytes + 100);
  EXPECT_EQ(orders.back().first, FrameType::kAgentTerminate) << "the end is never refused";
}

// STOP, CONT, STOP leaves a step stopped.
TEST(WaitingOrders, TheOrderOfSignalsStays) {
  WaitingOrders waiting;
  for (const char* signal : {"stop", "stop", "cont", "stop"})
    EXPECT_TRUE(waiting.add(FrameType::kAgentSignal, signal));
  EXPECT_TRUE(waiting.contains(FrameType::kAgentSignal));
  EXPECT_FALSE(waiting.contains(FrameType::kAgentStat));
  const auto orders = waiting.take();
  ASSERT_EQ(orders.size(), 3U);
  EXPECT_EQ(orders[0].second, "stop");
  EXPECT_EQ(orders[1].second, "cont");
  EXPECT_EQ(orders[2].second, "stop");
}

}  // namespace
}  // namespace sluice::noded
