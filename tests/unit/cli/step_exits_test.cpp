// What srun says of the tasks of a step.
#include "cli/step/step_exits.hpp"

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
            (std::vector<std::string>{"StepId=5.0 task 3: unknown", "StepId=5.0 task 0: running",
                                      "StepId=5.0 task 1: exited",
                                      "StepId=5.0 task 2: exited abnormally"}));
}

// The bug: an exit code above 128 and the signal hid that a task was killed.
TEST(StepExits, SignalsCountMoreThanExitCodes) {
  for (const bool killed_first : {false, true}) {
    StepExits exits(3);
    exits.exited("n1", 0, killed_first ? 15 : 200 << 8);
    exits.exited("n1", 1, killed_first ? 200 << 8 : 15);
    exits.exited("n1", 2, 9);
    EXPECT_EQ(exits.exit_code(), 128 + 15);
    EXPECT_EQ(exits.wait_status(), 15);
  }
}

}  // namespace
}  // namespace sluice::cli
