// What srun says of the tasks of a step.
#include "cli/shared/step_exits.hpp"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

// The bug: a task that failed was told of as one that ended well.
TEST(StepExits, StatesOfTheTasks) {
  StepExits exits(4);
  exits.started(0);
  exits.exited("n1", 1, 0);
  exits.exited("n1", 2, 3 << 8);
  exits.exited("n1", 2, 0);  // it ended before
  EXPECT_EQ(exits.state_lines("5.0"),
            (std::vector<std::string>{"StepId=5.0 task 3: unknown", "StepId=5.0 task 0: running", "StepId=5.0 task 1: exited",
                                      "StepId=5.0 task 2: exited abnormally"}));
}

}  // namespace
}  // namespace sluice::cli
