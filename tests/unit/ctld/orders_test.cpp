// Orders to nodes that are sent again.
#include "ctld/agents/orders.hpp"

#include <gtest/gtest.h>

namespace sluice::ctld {
namespace {

TEST(Orders, PausesGrowUpToSomeSeconds) {
  using std::chrono::milliseconds;
  const state::NodeOrder end = state::TerminateJob{};
  EXPECT_EQ(repeat_pause(end, 1), milliseconds(300));
  EXPECT_EQ(repeat_pause(end, 2), milliseconds(600));
  EXPECT_EQ(repeat_pause(end, 3), milliseconds(1200));
  EXPECT_EQ(repeat_pause(end, 5), milliseconds(3000));
  EXPECT_EQ(repeat_pause(end, UINT32_MAX), milliseconds(3000));
}

// A node that has gone is sent it for as long as it counts as there, which SlurmdTimeout=0 leaves
// without end.
TEST(Orders, PausesOfAConfigurationGrowFurther) {
  using std::chrono::milliseconds;
  const state::NodeOrder config = state::ReconfigureNodes{};
  EXPECT_EQ(repeat_pause(config, 1), milliseconds(300));
  EXPECT_EQ(repeat_pause(config, 5), milliseconds(4800));
  EXPECT_EQ(repeat_pause(config, 9), milliseconds(60000));
  EXPECT_EQ(repeat_pause(config, UINT32_MAX), milliseconds(60000));
}

}  // namespace
}  // namespace sluice::ctld
