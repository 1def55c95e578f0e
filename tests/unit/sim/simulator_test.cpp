#include "sim/run/simulator.hpp"

#include "sim/report/text.hpp"
#include "sim/run/node_command.hpp"
#include "unit/sim/machine.hpp"

namespace sluice::sim {
namespace {

using Starts = std::vector<int64_t>;

TEST(Simulator, AJobStartsWhenAnotherOneEnds) {
  const Trace trace = trace_of({{0, 100, 4}, {10, 50, 4}, {20, 30, 1}});
  const SimResult result = simulate(machine(1, 4), trace);
  EXPECT_EQ(starts_of(result), (Starts{0, 100, 150}));
  EXPECT_EQ(result.jobs[1].state, JobState::kCompleted);
  EXPECT_EQ(since(result, result.end), 180);
  EXPECT_EQ(result.passes.starts, 3U);
}

// The third would fit beside the first, but not until the second is to begin.
TEST(Simulator, BackfillsWhatEndsInTime) {
  const Trace trace =
      trace_of({{0, 600, 3, 600}, {10, 60, 4, 60}, {20, 700, 1, 900}, {30, 500, 1, 540}});
  EXPECT_EQ(starts_of(simulate(machine(1, 4), trace)), (Starts{0, 600, 660, 30}));
}

TEST(Simulator, AForecastIsTheFirstThatAJobHad) {
  const Trace trace = trace_of({{0, 100, 4, 600}, {10, 50, 4}});
  const SimResult result = simulate(machine(1, 4), trace);
  EXPECT_EQ(result.jobs[0].forecast, kNoTime);
  EXPECT_EQ(since(result, result.jobs[1].forecast), 600);
  EXPECT_EQ(starts_of(result), (Starts{0, 100}));
}

TEST(Simulator, AJobEndsAtItsTimeLimit) {
  const SimResult result = simulate(machine(1, 4), trace_of({{0, 1000, 1, 120}}));
  EXPECT_EQ(result.jobs[0].state, JobState::kTimeout);
  EXPECT_EQ(since(result, result.jobs[0].end), 120);
}

TEST(Simulator, OverTimeLimitIsGranted) {
  ClusterConfig config = machine(1, 4);
  config.over_time_limit = 2;
  const SimResult result = simulate(config, trace_of({{0, 200, 1, 120}, {0, 1000, 1, 120}}));
  EXPECT_EQ(result.jobs[0].state, JobState::kCompleted);
  EXPECT_EQ(result.jobs[1].state, JobState::kTimeout);
  EXPECT_EQ(since(result, result.jobs[1].end), 240);
}

TEST(Simulator, WhatCannotRunHereIsRefused) {
  Trace trace = trace_of({{0, 10, 1}, {5, 10, 1}});
  trace.jobs[0].constraint = "nosuch";
  const SimResult result = simulate(machine(1, 4), trace);
  EXPECT_EQ(result.jobs[0].id, kNoJob);
  ASSERT_EQ(result.refused.size(), 1U);
  EXPECT_EQ(result.refused.begin()->second, 1U);
  EXPECT_EQ(starts_of(result), (Starts{-1, 5}));
}

TEST(Simulator, EndsWhenNothingCanHappenAnyMore) {
  const SimResult result = simulate(machine(1, 4), trace_of({{0, 10, 99}, {5, 10, 1}}));
  EXPECT_EQ(result.jobs[0].state, JobState::kPending) << "it waits for a larger machine";
  EXPECT_EQ(starts_of(result), (Starts{-1, 5}));
  EXPECT_EQ(since(result, result.end), 15);
}

TEST(Simulator, StopsWhereItIsTold) {
  SimOptions options;
  options.until = std::chrono::seconds(50);
  const Trace trace = trace_of({{0, 100, 4}, {10, 50, 4}, {60, 1, 1}});
  const SimResult result = simulate(machine(1, 4), trace, std::move(options));
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.jobs.size(), 2U);
  EXPECT_EQ(since(result, result.end), 50);
  EXPECT_EQ(result.jobs[0].state, JobState::kRunning);
  EXPECT_EQ(result.jobs[1].state, JobState::kPending);
  ASSERT_EQ(result.runs.size(), 1U) << "what still runs counts to the end";
  EXPECT_EQ(since(result, result.runs[0].end), 50);
}

TEST(Simulator, AProcessorMayBeANode) {
  SimOptions options;
  options.unit = Unit::kNode;
  const SimResult result =
      simulate(machine(3, 4), trace_of({{0, 100, 2}, {0, 100, 2}}), std::move(options));
  EXPECT_EQ(starts_of(result), (Starts{0, 100}));
  EXPECT_EQ(result.jobs[0].cpus, 8U);
}

TEST(Simulator, PrologsAndExternStepsTakeNoTime) {
  ClusterConfig config = machine(2, 4);
  config.prolog = config.epilog = config.prolog_slurmctld = {"/prolog"};
  config.prolog_flags = {"Alloc", "Contain"};
  const SimResult result = simulate(config, trace_of({{0, 100, 8}, {10, 50, 8}}));
  EXPECT_EQ(starts_of(result), (Starts{0, 100}));
  EXPECT_EQ(since(result, result.end), 150);
}

TEST(Simulator, AJobThatMakesRoomRunsAgain) {
  ClusterConfig config = machine(1, 4);
  config.preempt_type = "preempt/partition_prio";
  config.preempt_mode = PreemptMode::kRequeue;
  PartitionConfig high = config.partitions.front();
  high.name = "high";
  high.is_default = false;
  high.priority_tier = 2;
  config.partitions.push_back(high);
  const SimResult result =
      simulate(config, trace_of({{0, 1000, 4, 1200}, {100, 50, 4, 60, "high"}}));
  EXPECT_EQ(result.jobs[0].runs, 2U);
  EXPECT_EQ(result.jobs[0].state, JobState::kCompleted);
  EXPECT_EQ(since(result, result.jobs[1].start), 100);
  EXPECT_EQ(result.runs.size(), 3U);
  EXPECT_GE(since(result, result.jobs[0].end), 1150);
}

TEST(Simulator, SleepingNodesWakeForAJob) {
  ClusterConfig config = machine(1, 4);
  config.suspend_program = "/suspend";
  config.resume_program = "/resume";
  config.suspend_time = std::chrono::seconds(60);
  config.suspend_timeout = std::chrono::seconds(30);
  const SimResult result = simulate(config, trace_of({{0, 10, 1}, {3600, 10, 1, 600}}));
  EXPECT_EQ(result.jobs[1].state, JobState::kCompleted);
  EXPECT_GT(since(result, result.jobs[1].end), 3615) << "it has to boot first";
}

TEST(Simulator, TheSameTwiceIsTheSame) {
  const Trace trace = trace_of({{0, 100, 3}, {10, 50, 4}, {20, 30, 1}, {20, 30, 2}});
  EXPECT_EQ(csv_text(simulate(machine(2, 4), trace)), csv_text(simulate(machine(2, 4), trace)));
}

TEST(Nodes, ReplaceThoseOfTheFile) {
  ClusterConfig config = machine(2, 4);
  ASSERT_TRUE(replace_nodes({"2", "1:CPUs=64,RealMemory=5000"}, config));
  ASSERT_EQ(config.nodes.size(), 3U);
  EXPECT_EQ(config.nodes[1].cpus, 4U);
  EXPECT_EQ(config.nodes[2].cores(), 64U);
  EXPECT_EQ(config.nodes[2].real_memory_mib, 5000U);
  EXPECT_EQ(config.partitions[0].nodes, (std::vector<std::string>{"n1", "n2", "n3"}));
  for (const char* bad : {"", "0", "x", "2:", "2:CPUs", "2:CPUs=0", "2:Sockets=1"}) {
    if (std::string_view(bad) == "2:") continue;  // no values: as the first one
    EXPECT_FALSE(replace_nodes({bad}, config)) << bad;
  }
}

}  // namespace
}  // namespace sluice::sim
