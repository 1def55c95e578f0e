// Orders to nodes that are sent again.
#include "ctld/agents/orders.hpp"

#include <gtest/gtest.h>

namespace sluice::ctld {
namespace {

TEST(Orders, PausesGrowUpToSomeSeconds) {
  using std::chrono::milliseconds;
  EXPECT_EQ(repeat_pause(1), milliseconds(300));
  EXPECT_EQ(repeat_pause(2), milliseconds(600));
  EXPECT_EQ(repeat_pause(3), milliseconds(1200));
  EXPECT_EQ(repeat_pause(5), milliseconds(3000));
  EXPECT_EQ(repeat_pause(UINT32_MAX), milliseconds(3000));
}

}  // namespace
}  // namespace sluice::ctld
