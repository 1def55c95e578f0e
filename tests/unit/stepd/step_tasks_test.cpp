// The tasks of a node: their table, those that are held, and what their ends come to.
#include <csignal>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/wire/codec.hpp"
#include "stepd/held_tasks.hpp"
#include "stepd/process/task_exits.hpp"
#include "stepd/process/task_table.hpp"
#include "unit/stepd/step_fakes.hpp"

namespace sluice::stepd {
namespace {

using protocol::FrameType;

constexpr int kExit1 = 1 << 8;

Task& add_running(TaskTable& tasks, uint32_t rank, uint32_t local, pid_t pid) {
  Task& task = tasks.add(rank, local);
  task.pid = pid;
  task.running = true;
  return task;
}

TEST(TaskTable, KnowsWhoRunsAndHowTheOthersEnded) {
  TaskTable tasks;
  EXPECT_TRUE(tasks.empty());
  EXPECT_FALSE(tasks.busy());
  add_running(tasks, 4, 0, 100);
  add_running(tasks, 5, 1, 101);
  EXPECT_EQ(tasks.first_rank(), 4U);
  EXPECT_EQ(tasks.of_process(101)->rank, 5U);
  EXPECT_EQ(tasks.of_process(7), nullptr);
  EXPECT_EQ(tasks.started().tasks, (std::vector<uint32_t>{4, 5}));
  EXPECT_EQ(tasks.started().pids, (std::vector<uint32_t>{100, 101}));
  EXPECT_FALSE(tasks.ended(7, SIGKILL)) << "an orphan";
  EXPECT_FALSE(tasks.ended(101, kExit1));
  EXPECT_TRUE(tasks.any_runs()) << "it ends when it is settled";
  EXPECT_TRUE(tasks.of_process(101)->exited);
  EXPECT_FALSE(tasks.of_process(100)->exited);
  EXPECT_EQ(tasks.worst_status(), kExit1);
}

TEST(TaskTable, AnEpilogKeepsItBusy) {
  TaskTable tasks;
  Task& task = tasks.add(0, 0);
  task.epilog = 200;
  EXPECT_TRUE(tasks.busy());
  EXPECT_FALSE(tasks.any_runs());
  EXPECT_FALSE(tasks.ended(200, kExit1)) << "one that fails says so itself";
  EXPECT_FALSE(tasks.busy());
  task.epilog = 201;
  EXPECT_TRUE(tasks.ended(201, SIGSEGV));
}

TEST(TaskTable, ThoseThatAreGivenUpCountAsKilled) {
  TaskTable tasks;
  add_running(tasks, 0, 0, 100);
  tasks.add(1, 1).status = kExit1;
  tasks.give_up();
  EXPECT_FALSE(tasks.busy());
  EXPECT_EQ(tasks.begin()->status, SIGKILL);
  EXPECT_EQ((tasks.begin() + 1)->status, kExit1);
}

class HeldTasksTest : public ::testing::Test {
 protected:
  void hold() {
    StepPlan plan;
    plan.tasks.resize(2);
    held.hold(std::move(plan));
  }
  HeldTasks held;
};

TEST_F(HeldTasksTest, BeginOnceTheirSrunLetsThem) {
  EXPECT_FALSE(held.take());
  hold();
  EXPECT_TRUE(held.any());
  EXPECT_FALSE(held.take());
  held.let_begin(false);
  const auto plan = held.take();
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->tasks[0].setup.stops_in_program);
  EXPECT_FALSE(held.any());
  EXPECT_FALSE(held.take()) << "once";
}

TEST_F(HeldTasksTest, DoNotBeginWhileTheJobIsSuspended) {
  hold();
  held.suspend(true);
  held.let_begin(true);
  EXPECT_FALSE(held.take());
  held.suspend(false);
  const auto plan = held.take();
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->tasks[1].setup.stops_in_program);
}

TEST_F(HeldTasksTest, EndWhateverHoldsThem) {
  hold();
  held.suspend(true);
  EXPECT_TRUE(held.take_to_end());
  EXPECT_FALSE(held.any());
  EXPECT_FALSE(held.take_to_end());
}

class TaskExitsTest : public ::testing::Test {
 protected:
  void use(std::unique_ptr<StepFacts> made) {
    facts = std::move(made);
    exits = std::make_unique<TaskExits>(
        *facts, tasks, groups, audience,
        TaskExits::Handlers{[this] { return ending; },
                            [this](Task& task) {
                              said += fmt::format("input {} ", task.rank);
                              EXPECT_EQ(audience.sent.size(), told) << "before its status";
                            },
                            [this](Task& task) {
                              said += fmt::format("epilog {} ", task.rank);
                              ++told;
                            },
                            [this] {
                              said += "end ";
                              ending = true;
                            }});
  }
  [[nodiscard]] std::vector<protocol::TaskExit> heard() const {
    std::vector<protocol::TaskExit> all;
    for (const auto& one : audience.sent) {
      EXPECT_EQ(one.type, FrameType::kExited);
      all.push_back(wire::decode<protocol::TaskExit>(one.body).value());
    }
    return all;
  }

  TaskTable tasks;
  test::FakeGroups groups;
  test::FakeAudience audience;
  std::unique_ptr<StepFacts> facts;
  std::unique_ptr<TaskExits> exits;
  bool ending = false;
  std::string said;
  size_t told = 0;
};

TEST_F(TaskExitsTest, EachIsToldOnceWithItsStatus) {
  use(test::step_facts());
  add_running(tasks, 4, 0, 100);
  add_running(tasks, 5, 1, 101);
  exits->settle();
  EXPECT_EQ(said, "");
  tasks.ended(101, kExit1);
  exits->settle();
  exits->settle();
  EXPECT_EQ(said, "input 5 epilog 5 ");
  ASSERT_EQ(heard().size(), 1U);
  EXPECT_EQ(heard()[0].task, 5U);
  EXPECT_EQ(heard()[0].status, kExit1);
  EXPECT_TRUE(tasks.any_runs());
}

TEST_F(TaskExitsTest, ABadOneEndsTheOthersWhereThereIsNoSrun) {
  use(test::step_facts([](StepSpec& step) { step.kill_on_bad_exit = 1; }));
  add_running(tasks, 0, 0, 100);
  add_running(tasks, 1, 1, 101);
  add_running(tasks, 2, 2, 102);
  tasks.ended(100, kExit1);
  exits->settle();
  EXPECT_EQ(said.find("end"), std::string::npos) << "srun sees to it";
  audience.owner = false;
  tasks.ended(101, 0);
  exits->settle();
  EXPECT_EQ(said.find("end"), std::string::npos) << "it was a good one";
  tasks.ended(102, kExit1);
  exits->settle();
  EXPECT_TRUE(said.ends_with("epilog 2 end ")) << said;
}

TEST_F(TaskExitsTest, ABadOneEndsNobodyWhereNobodyAskedForIt) {
  use(test::step_facts([](StepSpec& step) { step.kill_on_bad_exit = 0; }));
  facts->start.kill_on_bad_exit = true;
  audience.owner = false;
  add_running(tasks, 0, 0, 100);
  tasks.ended(100, kExit1);
  exits->settle();
  EXPECT_EQ(said.find("end"), std::string::npos);
}

TEST_F(TaskExitsTest, OneThatLostAProcessForWantOfMemoryHasFailed) {
  use(test::step_facts());
  groups.kills = 1;
  groups.starved = 1;
  add_running(tasks, 0, 0, 100);
  add_running(tasks, 1, 1, 101);
  tasks.ended(100, 0);
  tasks.ended(101, 0);
  exits->settle();
  EXPECT_EQ(heard()[0].status, 0);
  EXPECT_EQ(heard()[1].status, protocol::kOutOfMemoryStatus);
  EXPECT_EQ(tasks.worst_status(), protocol::kOutOfMemoryStatus);
}

TEST_F(TaskExitsTest, OneWithChildrenWaitsForThemUntilTheStepEnds) {
  use(test::step_facts([](StepSpec& step) { step.wait_for_children = true; }));
  groups.processes = {{0, {150}}, {1, {151}}};
  add_running(tasks, 0, 0, 100);
  add_running(tasks, 1, 1, 101);
  tasks.ended(100, 0);
  tasks.ended(101, 0);
  exits->settle();
  EXPECT_EQ(said, "");
  groups.processes.erase(0);
  exits->settle();
  EXPECT_EQ(said, "input 0 epilog 0 ");
  ending = true;
  exits->settle();
  EXPECT_FALSE(tasks.busy());
}

TEST_F(TaskExitsTest, OneThatEndsTheStepKeepsTheNextFromWaiting) {
  use(test::step_facts([](StepSpec& step) {
    step.wait_for_children = true;
    step.kill_on_bad_exit = 1;
  }));
  audience.owner = false;
  groups.processes = {{1, {151}}};
  add_running(tasks, 0, 0, 100);
  add_running(tasks, 1, 1, 101);
  tasks.ended(100, kExit1);
  tasks.ended(101, 0);
  exits->settle();
  EXPECT_EQ(said, "input 0 epilog 0 end input 1 epilog 1 ");
}

}  // namespace
}  // namespace sluice::stepd
