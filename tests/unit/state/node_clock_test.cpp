// A node whose clock differs too much from the controller's.
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

// The node said that it is IDLE, and failed every job that it got.
TEST_F(CoreTest, ANodeWhoseClockIsWrongIsDrained) {
  RegisterNode command;
  command.node.name = "n1";
  command.node.cluster_id = state_.cluster_id;
  command.node.hardware.boot_id = "boot";
  command.node.clock_ahead = -std::chrono::seconds(39);
  ASSERT_TRUE(run(command));
  EXPECT_EQ(state_.nodes.at(0).flags & (kNodeInvalidReg | kNodeDrain),
            kNodeInvalidReg | kNodeDrain);
  EXPECT_EQ(state_.nodes.at(0).reason, "Clock 39 s behind the controller's");
  command.node.clock_ahead = std::chrono::seconds(31);
  ASSERT_TRUE(run(command));
  EXPECT_EQ(state_.nodes.at(0).reason, "Clock 31 s ahead of the controller's");
  command.node.clock_ahead = std::chrono::seconds(30);
  ASSERT_TRUE(run(command));
  EXPECT_TRUE(is_schedulable(state_.nodes.at(0)));
  EXPECT_EQ(state_.nodes.at(0).reason, "");
}

}  // namespace
}  // namespace sluice::state
