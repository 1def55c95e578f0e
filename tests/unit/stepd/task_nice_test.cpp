#include <gtest/gtest.h>

#include "stepd/process/task_nice.hpp"

namespace sluice::stepd {
namespace {

TEST(TaskNice, FollowsTheSubmittingCommand) {
  EXPECT_EQ(task_nice(0, 5, 0, false), std::nullopt);
  EXPECT_EQ(task_nice(1, 5, 0, false), 5);
  EXPECT_EQ(task_nice(1, -5, 0, false), 0) << "not before the daemon";
  EXPECT_EQ(task_nice(1, 0, -5, false), 0);
  EXPECT_EQ(task_nice(1, -5, 0, true), -5) << "root may";
  EXPECT_EQ(task_nice(2, 5, 0, false), 5);
  EXPECT_EQ(task_nice(2, 0, 0, false), 1) << "behind the daemon";
  EXPECT_EQ(task_nice(2, -5, 0, true), 1);
  EXPECT_EQ(task_nice(2, 0, 19, false), 19);
  EXPECT_EQ(task_nice(1, 99, 0, false), 19);
}

}  // namespace
}  // namespace sluice::stepd
