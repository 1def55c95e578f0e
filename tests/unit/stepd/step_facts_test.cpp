// What a start message means for the step, and the report at its end.
#include "stepd/step_facts.hpp"

#include <csignal>

#include <gtest/gtest.h>

#include "stepd/step_report.hpp"
#include "unit/stepd/step_fakes.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::stepd {
namespace {

using test::batch_facts;
using test::step_facts;

TEST(StepFacts, ItsNameIsThatOfTheJobOrTheStep) {
  EXPECT_EQ(step_facts()->name(), "STEP 7.0");
  EXPECT_EQ(batch_facts()->name(), "JOB 7");
}

TEST(StepFacts, WhetherABadExitEndsItIsTheStepsOrTheSites) {
  const auto ends = [](uint32_t said, bool site) {
    auto facts = step_facts([&](StepSpec& step) { step.kill_on_bad_exit = said; });
    facts->start.kill_on_bad_exit = site;
    return facts->ends_on_bad_exit();
  };
  EXPECT_TRUE(ends(UINT32_MAX, true));
  EXPECT_FALSE(ends(UINT32_MAX, false));
  EXPECT_FALSE(ends(0, true));
  EXPECT_TRUE(ends(1, false));
  auto batch = batch_facts();
  batch->start.kill_on_bad_exit = true;
  EXPECT_FALSE(batch->ends_on_bad_exit());
}

TEST(StepFacts, WhetherWantOfMemoryEndsItIsTheStepsTheJobsOrTheSites) {
  const auto ends = [](Toggle step, Toggle job, bool site) {
    auto facts = step_facts([&](StepSpec& spec) { spec.oom_kill_step = step; });
    auto spec = std::make_shared<JobSpec>();
    spec->oom_kill_step = job;
    facts->launch.job_spec = spec;
    facts->start.oom_kill_step = site;
    return facts->ends_on_oom();
  };
  EXPECT_FALSE(ends(Toggle::kNo, Toggle::kYes, true));
  EXPECT_TRUE(ends(Toggle::kYes, Toggle::kNo, false));
  EXPECT_TRUE(ends(Toggle::kDefault, Toggle::kYes, false));
  EXPECT_FALSE(ends(Toggle::kDefault, Toggle::kNo, true));
  EXPECT_TRUE(ends(Toggle::kDefault, Toggle::kDefault, true));
  EXPECT_FALSE(ends(Toggle::kDefault, Toggle::kDefault, false));
}

TEST(StepFacts, OutputIsAppendedAsTheStepOrTheSiteSays) {
  const auto appends = [](OpenMode mode, bool site) {
    auto facts = step_facts([&](StepSpec& step) { step.open_mode = mode; });
    facts->start.append_output = site;
    return facts->appends_output();
  };
  EXPECT_TRUE(appends(OpenMode::kAppend, false));
  EXPECT_TRUE(appends(OpenMode::kDefault, true));
  EXPECT_FALSE(appends(OpenMode::kDefault, false));
  EXPECT_FALSE(appends(OpenMode::kTruncate, true));
}

TEST(StepFacts, TheNodesThatForwardX11) {
  const auto forwards = [](X11Nodes nodes, uint32_t node, const char* name, uint16_t port = 5) {
    auto facts = step_facts([&](StepSpec& step) {
      step.x11 = nodes;
      step.io.port = port;
    });
    facts->launch.allocation_nodes = {{.name = "n1"}, {.name = "n2"}};
    facts->start.node_index = node;
    facts->start.node_name = name;
    return facts->forwards_x11();
  };
  EXPECT_TRUE(forwards(X11Nodes::kAll, 1, "n2"));
  EXPECT_FALSE(forwards(X11Nodes::kAll, 1, "n2", 0)) << "nobody has a display";
  EXPECT_TRUE(forwards(X11Nodes::kFirst, 0, "n1"));
  EXPECT_FALSE(forwards(X11Nodes::kFirst, 1, "n2"));
  EXPECT_TRUE(forwards(X11Nodes::kLast, 1, "n2"));
  EXPECT_FALSE(forwards(X11Nodes::kLast, 0, "n1"));
  EXPECT_TRUE(forwards(X11Nodes::kBatch, 1, "n1"));
  EXPECT_FALSE(forwards(X11Nodes::kBatch, 0, "n2"));
}

TEST(StepFacts, TheSitesEpilogOfTasksComesFirst) {
  auto facts = step_facts([](StepSpec& step) { step.task_epilog = "/user"; });
  EXPECT_EQ(facts->task_epilogs(), std::vector<std::string>{"/user"});
  facts->start.task_epilog = "/site";
  EXPECT_EQ(facts->task_epilogs(), (std::vector<std::string>{"/site", "/user"}));
}

protocol::StepEnded report_of(const StepFacts& facts, const TaskTable& tasks,
                              const StepOutcome& outcome) {
  return make_report(facts, tasks, outcome, {}, Time(std::chrono::seconds(9)));
}

TEST(StepReport, HasTheWorstStatusOfTheTasks) {
  TaskTable tasks;
  tasks.add(0, 0).status = 1 << 8;
  tasks.add_killed(1, 1);
  const auto report = report_of(*step_facts(), tasks, {});
  EXPECT_EQ(report.exit_status, SIGKILL);
  EXPECT_EQ(report.nodes, "n1");
  EXPECT_FALSE(report.drain_node);
  EXPECT_EQ(report.happened, Time(std::chrono::seconds(9))) << "it may wait for who is to hear it";
}

TEST(StepReport, WantOfMemoryIsAboveAStatus) {
  TaskTable tasks;
  tasks.add_killed(0, 0);
  StepOutcome outcome;
  outcome.out_of_memory = true;
  EXPECT_EQ(report_of(*step_facts(), tasks, outcome).exit_status, protocol::kOutOfMemoryStatus);
}

// The bug: an orderly reboot ended jobs as FAILED by SIGTERM, where the loss of their node queues
// them again.
TEST(StepReport, ADaemonThatIsStoppedIsLikeOneThatDied) {
  TaskTable tasks;
  tasks.add(0, 0).status = SIGTERM;
  StepOutcome outcome;
  outcome.stopped = true;
  auto report = report_of(*batch_facts(), tasks, outcome);
  EXPECT_EQ(report.exit_status, SIGKILL);
  EXPECT_FALSE(report.failure.empty());
  outcome.out_of_memory = true;
  report = report_of(*batch_facts(), tasks, outcome);
  EXPECT_EQ(report.exit_status, protocol::kOutOfMemoryStatus);
  EXPECT_EQ(report.failure, "");
}

TEST(StepReport, ALaunchThatFailedHasAStatusOfItsOwn) {
  const auto facts = batch_facts();
  StepOutcome outcome;
  outcome.launch_failed(*facts, {ErrorCode::kPathMissing, "no such file"}, "no such file");
  auto report = report_of(*facts, {}, outcome);
  EXPECT_EQ(report.failure, "no such file");
  EXPECT_EQ(report.exit_status, protocol::kLaunchFailedStatus);
  EXPECT_TRUE(report.users_error);
  EXPECT_FALSE(report.drain_node);
  outcome.launch_failed(*facts, {ErrorCode::kStorageFull, "full"}, "full");
  report = report_of(*facts, {}, outcome);
  EXPECT_FALSE(report.users_error);
  EXPECT_TRUE(report.drain_node);
  EXPECT_EQ(report.happened, Time(std::chrono::seconds(9)));
  outcome.launch_failed(*step_facts(), {ErrorCode::kPathMissing, "x"}, "x");
  EXPECT_FALSE(outcome.users_error) << "of a batch script only";
}

TEST(StepReport, WhatCannotBeKilledDrainsTheNode) {
  StepOutcome outcome;
  outcome.unkillable = true;
  EXPECT_TRUE(report_of(*step_facts(), {}, outcome).drain_node);
}

class ReportKeeperTest : public ::testing::Test {
 protected:
  ReportKeeperTest() { facts->start.spool_dir = folder.path(); }
  void claim() const {
    ASSERT_TRUE(StepSpool(folder.path()).prepare());
    protocol::StepRecord record;
    record.key = facts->launch.key;
    ASSERT_TRUE(StepSpool(folder.path()).claim(record).value());
  }
  sluice::test::TempFolder folder;
  std::unique_ptr<StepFacts> facts = step_facts();
  test::FakeClock clock;
};

TEST_F(ReportKeeperTest, WritesAReportThatIsNeeded) {
  ReportKeeper keeper(*facts, clock);
  keeper.outcome().failure = "why";
  keeper.make({}, {});
  EXPECT_TRUE(keeper.keep());
  EXPECT_FALSE(keeper.spool().read_end(facts->launch.key)) << "the controller has it";
  claim();
  EXPECT_TRUE(keeper.keep());
  EXPECT_EQ(keeper.spool().read_end(facts->launch.key)->failure, "why");
}

TEST_F(ReportKeeperTest, TriesAgainUntilItIsWritten) {
  claim();
  ReportKeeper keeper(*facts, clock);
  keeper.make({}, {});
  const auto end = folder.path() / "steps" / (step_file_name(facts->launch.key) + ".end");
  std::filesystem::create_directory(end);  // there is no room for it
  EXPECT_FALSE(keeper.keep());
  bool kept = false;
  keeper.keep_later([&] { kept = true; });
  clock.advance(std::chrono::seconds(5));
  EXPECT_FALSE(kept);
  std::filesystem::remove(end);
  clock.advance(std::chrono::seconds(1));
  EXPECT_TRUE(kept);
  EXPECT_EQ(clock.waiting(), 0U);
}

}  // namespace
}  // namespace sluice::stepd
