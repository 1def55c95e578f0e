// What srun says of the tasks of a step.
#include "cli/step/step_exits.hpp"

#include <gtest/gtest.h>

#include "common/protocol/node_reports.hpp"

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

// The bug: sattach told of tasks that were killed, and ended with 128 and their signal.
TEST(StepExits, AttachedOnesTellOfExitCodesAlone) {
  StepExits exits(5);
  exits.exited("n1", 4, 2 << 8);
  exits.exited("n1", 0, 9);
  exits.exited("n2", 1, 0);
  exits.exited("n2", 2, 3 << 8);
  exits.exited("n2", 3, protocol::kOutOfMemoryStatus);
  EXPECT_EQ(exits.take_task_lines(), (std::vector<std::string>{"task 2 exited with exit code 3",
                                                               "task 4 exited with exit code 2"}));
  EXPECT_EQ(exits.highest_code(), 3);
  StepExits killed(1);
  killed.exited("n1", 0, 15);
  EXPECT_TRUE(killed.take_task_lines().empty());
  EXPECT_EQ(killed.highest_code(), 0);
}

}  // namespace
}  // namespace sluice::cli
