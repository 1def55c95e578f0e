// The lines of DebugFlags: which flag a thing belongs to, and what is said.
#include "ctld/logs/debug_log.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "unit/sched/world.hpp"

namespace sluice::ctld {
namespace {

using log::DebugFlag;

std::vector<std::string> of(DebugFlag flag, const std::vector<FlagLine>& lines) {
  std::vector<std::string> out;
  for (const FlagLine& line : lines) {
    if (line.flag == flag) out.push_back(line.text);
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST(DebugLog, EventsOfJobs) {
  sched::World world{2, 4};
  world.up();
  const JobId job = world.submit(sched::World::spec(2, 10));
  EXPECT_EQ(lines_of_event(world.state, state::JobHeld{.job = job}),
            (std::vector<FlagLine>{{DebugFlag::kTraceJobs, "JobHeld JobId=1 State=PENDING"}}));
  auto allocation = std::make_shared<Allocation>();
  allocation->node_list = "n1";
  allocation->cpus = 2;
  state::JobStarted start{.record = job};
  start.starts.push_back({kNoTask, job, allocation});
  EXPECT_EQ(of(DebugFlag::kTraceJobs, lines_of_event(world.state, start)),
            (Lines{"JobStarted JobId=1 State=PENDING NodeList=n1 NumCPUs=2"}));
  EXPECT_EQ(of(DebugFlag::kTraceJobs, lines_of_event(world.state, state::JobsPurged{{7, 8}})),
            (Lines{"JobsPurged JobId=7", "JobsPurged JobId=8"}));
  const auto waits = lines_of_event(
      world.state, state::JobDependencyChanged{job, "afterok:5", JobReason::kDependency});
  EXPECT_EQ(of(DebugFlag::kDependency, waits),
            (Lines{"JobId=1 waits for afterok:5 (Reason=Dependency)"}));
}

TEST(DebugLog, EventsOfSteps) {
  const state::ClusterState state;
  Step step;
  step.id = {5, 0};
  auto layout = std::make_shared<StepLayout>();
  layout->num_tasks = 3;
  layout->node_list = "n[1-2]";
  step.layout = layout;
  EXPECT_EQ(lines_of_event(state, state::StepCreated{std::make_shared<const Step>(step)}),
            (std::vector<FlagLine>{
                {DebugFlag::kSteps, "StepCreated JobId=5 StepId=5.0 Tasks=3 NodeList=n[1-2]"}}));
  const state::StepEnded ended{
      .id = {5, kBatchStep}, .state = StepState::kFailed, .exit_status = 0x100};
  EXPECT_EQ(of(DebugFlag::kSteps, lines_of_event(state, ended)),
            (Lines{"StepEnded JobId=5 StepId=5.batch State=FAILED Status=0x100"}));
  EXPECT_EQ(of(DebugFlag::kSteps, lines_of_event(state, state::StepEndOrdered{.id = {5, 1}})),
            (Lines{"StepEndOrdered JobId=5 StepId=5.1"}));
}

TEST(DebugLog, EventsOfReservationsAndTriggers) {
  const state::ClusterState state;
  state::ReservationChanged changed;
  changed.reservation.name = "repair";
  changed.reservation.nodes = Bitmap::first(2);
  const Lines lines = of(DebugFlag::kReservation, lines_of_event(state, changed));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("ReservationChanged Reservation=repair from ")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with(", 2 nodes")) << lines[0];
  state::TriggerFired fired;
  fired.trigger.id = 3;
  fired.trigger.uid = 1001;
  fired.trigger.program = "/bin/true";
  EXPECT_EQ(lines_of_event(state, fired),
            (std::vector<FlagLine>{
                {DebugFlag::kTriggers, "TriggerFired trigger 3 of user 1001: /bin/true"}}));
  EXPECT_EQ(lines_of_event(state, state::PartitionDeleted{"debug"}), std::vector<FlagLine>{});
}

TEST(DebugLog, PassesSayWhatIsNew) {
  sched::World world{2, 4};
  world.up();
  world.submit(sched::World::spec(4, 10));
  world.submit(sched::World::spec(8, 10));
  PassDebug debug;
  const auto pass = [&] {
    const sched::Plan plan =
        sched::plan_pass(world.state, sched::make_policies(world.state), world.now);
    auto lines = debug.lines_of({world.state, plan, std::chrono::microseconds(5), 0});
    EXPECT_TRUE(plan.starts.empty() || world.run(state::StartJobs{plan.starts}));
    return lines;
  };
  const auto first = pass();
  EXPECT_EQ(of(DebugFlag::kSelectType, first),
            (Lines{"JobId=1 gets cores 0-3 and 4 MB of node number 0 in partition debug"}));
  const Lines backfill = of(DebugFlag::kBackfill, first);
  ASSERT_EQ(backfill.size(), 2U);
  EXPECT_EQ(
      backfill[0],
      "2 jobs waited, 2 placements tried, 1 started, 0 of them before others, nodes kept for 1");
  EXPECT_TRUE(backfill[1].starts_with("JobId=2 may start at ")) << backfill[1];
  EXPECT_TRUE(backfill[1].ends_with(" on n[1-2]")) << backfill[1];
  const Lines priority = of(DebugFlag::kPriority, first);
  EXPECT_TRUE(std::ranges::any_of(
      priority, [](const auto& line) { return line.starts_with("JobId=2 has priority "); }));
  const sched::Plan plan =
      sched::plan_pass(world.state, sched::make_policies(world.state), world.now);
  EXPECT_EQ(of(DebugFlag::kPriority,
               PassDebug().lines_of({world.state, plan, std::chrono::microseconds(5), 0}, false)),
            Lines{})
      << "they cost much where many jobs wait";
  const auto second = pass();
  EXPECT_EQ(of(DebugFlag::kPriority, second), Lines{});
  EXPECT_EQ(of(DebugFlag::kSelectType, second), Lines{});
}

}  // namespace
}  // namespace sluice::ctld
