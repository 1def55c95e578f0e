// Jobs that share CPUs take turns (PreemptMode=GANG): the rule by itself, and in the state.
#include <random>

#include <gtest/gtest.h>

#include "ctld/sched/gang_turns.hpp"
#include "ctld/state/rules/gang.hpp"
#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

using std::chrono::seconds;

// Jobs on cores of one node, by turns of 30 s.
struct Turns {
  struct One {
    Allocation allocation;
    state::GangJob job;
  };
  std::vector<std::unique_ptr<One>> jobs;
  Time now = from_seconds(1000);

  void add(size_t from, size_t to, bool runs) {
    auto one = std::make_unique<One>();
    NodeAllocation part;
    for (size_t core = from; core <= to; ++core) part.cores.set(core);
    one->allocation.nodes.push_back(part);
    one->job = {static_cast<JobId>(jobs.size() + 1), runs, now, &one->allocation};
    jobs.push_back(std::move(one));
  }
  // Who runs now: "1 3".
  std::string turn(int later_s = 0) {
    now += seconds(later_s);
    std::vector<state::GangJob> list;
    for (const auto& one : jobs) list.push_back(one->job);
    const auto run = state::jobs_with_turn(list, seconds(30), now);
    std::string out;
    for (const auto& one : jobs) {
      const bool runs = std::ranges::binary_search(run, one->job.id);
      if (runs != one->job.runs) one->job.since = now;
      one->job.runs = runs;
      if (runs) out += (out.empty() ? "" : " ") + std::to_string(one->job.id);
    }
    return out;
  }
};

TEST(Turns, OneAfterTheOther) {
  Turns t;
  for (int i = 0; i < 3; ++i) t.add(0, 3, true);
  EXPECT_EQ(t.turn(), "1") << "who comes to CPUs that are taken waits";
  EXPECT_EQ(t.turn(29), "1");
  EXPECT_EQ(t.turn(1), "2");
  EXPECT_EQ(t.turn(29), "2");
  EXPECT_EQ(t.turn(1), "3") << "who has waited longest is next";
  EXPECT_EQ(t.turn(30), "1");
  EXPECT_EQ(t.turn(30), "2");
}

TEST(Turns, AloneItGoesOn) {
  Turns t;
  t.add(0, 3, true);
  t.add(4, 7, true);
  EXPECT_EQ(t.turn(1000), "1 2");
}

TEST(Turns, ANewOneWaitsForASlice) {
  Turns t;
  t.add(0, 3, true);
  EXPECT_EQ(t.turn(1000), "1");
  t.add(0, 3, true);
  EXPECT_EQ(t.turn(), "1");
  EXPECT_EQ(t.turn(29), "1");
  EXPECT_EQ(t.turn(1), "2");
}

TEST(Turns, WhoFindsItsCpusFreeRuns) {
  Turns t;
  t.add(0, 1, true);
  t.add(0, 3, true);
  t.add(2, 3, true);
  EXPECT_EQ(t.turn(), "1 3") << "the narrow ones beside one another";
  EXPECT_EQ(t.turn(30), "2");
  EXPECT_EQ(t.turn(30), "1 3");
}

// Narrow jobs whose turns end at different times would never leave all CPUs to the wide one.
TEST(Turns, TheWideOneIsNotPassedOver) {
  Turns t;
  t.add(0, 1, true);   // 1 and 3 share two cores
  t.add(2, 3, false);  // 2 and 4 the others, 15 s later
  t.add(0, 1, false);
  t.add(2, 3, true);
  EXPECT_EQ(t.turn(), "1 4");
  t.jobs[3]->job.since = t.now + seconds(15);
  t.add(0, 3, false);  // 5 has waited longer than all
  t.jobs[4]->job.since = t.now - seconds(1);
  EXPECT_EQ(t.turn(30), "1 4") << "4 has its turn, and 3 does not begin where 5 waits";
  EXPECT_EQ(t.turn(15), "5");
  EXPECT_EQ(t.turn(30), "2 3");
}

struct GangWorld : World {
  GangWorld() : World(1, 4) {
    config.preempt_mode = PreemptMode::kOff;
    config.preempt_gang = true;
    config.scheduler_time_slice = seconds(30);
    PartitionConfig& force = partition("force");
    force.over_subscribe = OverSubscribe::kForce;
    force.over_subscribe_count = 2;
  }
  static JobSpec in_force(uint32_t tasks = 4, Minutes limit = 10) {
    JobSpec made = spec(tasks, limit);
    made.partitions = "force";
    return made;
  }
  // "1 R 2 S" of all jobs with nodes.
  std::string states() {
    std::string out;
    state.active.for_each([&](JobId id) {
      const Job& one = state.jobs.at(id);
      if (is_completing(one)) return;
      const char* word = one.state == JobState::kRunning ? "R" : one.time_sliced ? "S" : "P";
      out += (out.empty() ? "" : " ") + std::to_string(id) + word;
    });
    EXPECT_EQ(state::check_state(state), std::vector<std::string>{});
    return out;
  }
};

TEST(Gang, JobsAlternate) {
  GangWorld w;
  w.up();
  for (int i = 0; i < 3; ++i) w.submit(GangWorld::in_force());
  EXPECT_EQ(w.pass(), "1:n1 2:n1");
  EXPECT_EQ(w.states(), "1R 2S") << "at once";
  EXPECT_EQ(w.pass(), "") << "FORCE:2 counts those that wait for their turn, too";
  w.pass_time(seconds(29));
  EXPECT_EQ(w.states(), "1R 2S");
  w.pass_time(seconds(1));
  EXPECT_EQ(w.states(), "1S 2R");
  EXPECT_EQ(w.job(1).before_suspend, seconds(30));
  w.finish(2);
  w.pass_time(seconds(1));
  EXPECT_EQ(w.states(), "1R") << "alone it goes on";
  EXPECT_EQ(w.pass(), "3:n1");
  EXPECT_EQ(w.states(), "1R 3S");
}

TEST(Gang, SuspendedTimeDoesNotCount) {
  GangWorld w;
  w.up();
  w.submit(GangWorld::in_force(4, 1));
  w.submit(GangWorld::in_force(4, 1));
  w.pass();
  for (int i = 0; i < 89; ++i) {
    w.pass_time(seconds(1));
    ASSERT_NE(w.job(1).state == JobState::kRunning, w.job(2).state == JobState::kRunning);
  }
  EXPECT_EQ(w.states(), "1R 2S") << "it has run for 59 seconds";
  w.pass_time(seconds(1));
  EXPECT_EQ(w.job(1).state, JobState::kTimeout);
  EXPECT_EQ(w.states(), "2R");
  w.pass_time(seconds(29));
  EXPECT_EQ(w.states(), "2R");
  w.pass_time(seconds(1));
  EXPECT_EQ(w.job(2).state, JobState::kTimeout);
}

TEST(Gang, MemoryAndGenericResourcesAreKept) {
  GangWorld w;
  w.up();
  JobSpec large = GangWorld::in_force();
  large.memory_kind = MemoryKind::kPerNode;
  large.memory_mib = 600;
  w.submit(large);
  w.submit(large);
  EXPECT_EQ(w.pass(), "1:n1") << "memory is not shared";
  EXPECT_EQ(w.reason(2), JobReason::kResources);
}

TEST(Gang, NoTurnsWithoutGang) {
  GangWorld w;
  w.config.preempt_gang = false;
  w.up();
  w.submit(GangWorld::in_force());
  w.submit(GangWorld::in_force());
  w.pass();
  w.pass_time(seconds(100));
  EXPECT_EQ(w.states(), "1R 2R");
}

TEST(Gang, TakenFromTheConfigurationAllRun) {
  GangWorld w;
  w.up();
  w.submit(GangWorld::in_force());
  w.submit(GangWorld::in_force());
  w.pass();
  EXPECT_EQ(w.states(), "1R 2S");
  w.config.preempt_gang = false;
  ASSERT_TRUE(w.run(state::ReplaceConfig{std::make_shared<ClusterConfig>(w.config)}));
  w.pass_time(seconds(1));
  EXPECT_EQ(w.states(), "1R 2R");
}

TEST(Gang, AnAdminsSuspensionStays) {
  GangWorld w;
  w.up();
  w.submit(GangWorld::in_force());
  w.submit(GangWorld::in_force());
  w.pass();
  state::ChangeJob command;
  command.who = {0, 0};
  command.target = "2";
  command.action = protocol::JobAction::kSuspend;
  ASSERT_TRUE(w.run(command));
  EXPECT_EQ(w.states(), "1R 2P");
  w.pass_time(seconds(100));
  EXPECT_EQ(w.states(), "1R 2P") << "nor is the other one disturbed";
  command.action = protocol::JobAction::kResume;
  ASSERT_TRUE(w.run(command));
  w.pass_time(seconds(1));
  EXPECT_EQ(w.states(), "1R 2S") << "it waits for its turn";
  w.pass_time(seconds(31));
  EXPECT_EQ(w.states(), "1S 2R");
}

// The bug: it kept its place among those that take turns, and a job that waited did not start.
TEST(Gang, WhatIsSuspendedByHandGivesItsPlaceAway) {
  GangWorld w;
  w.up();
  for (int i = 0; i < 3; ++i) w.submit(GangWorld::in_force());
  EXPECT_EQ(w.pass(), "1:n1 2:n1");
  state::ChangeJob command;
  command.who = {0, 0};
  command.target = "1";
  command.action = protocol::JobAction::kSuspend;
  ASSERT_TRUE(w.run(command));
  w.pass_time(seconds(1));
  EXPECT_EQ(w.pass(), "3:n1");
  EXPECT_EQ(w.states(), "1P 2R 3S");
  command.action = protocol::JobAction::kResume;
  ASSERT_TRUE(w.run(command));
  w.submit(GangWorld::in_force());
  EXPECT_EQ(w.pass(), "") << "three are more than FORCE:2 lets start";
  w.pass_time(seconds(31));
  w.pass_time(seconds(31));
  w.pass_time(seconds(31));
  EXPECT_NE(w.job(1).before_suspend, Duration(0)) << "it has its turns beside the others";
}

TEST(Gang, ACancelledOneIsGone) {
  GangWorld w;
  w.up();
  w.submit(GangWorld::in_force());
  w.submit(GangWorld::in_force());
  w.pass();
  ASSERT_TRUE(w.run(state::SignalJob{{0, 0}, "2", 0, protocol::kSignalCancel}));
  EXPECT_EQ(w.job(2).state, JobState::kCancelled);
  w.clean(2);
  EXPECT_EQ(w.states(), "1R");
  w.submit(GangWorld::in_force());
  EXPECT_EQ(w.pass(), "3:n1");
  ASSERT_TRUE(w.run(state::SignalJob{{0, 0}, "1", 0, protocol::kSignalCancel}));
  w.pass_time(seconds(1));
  EXPECT_EQ(w.states(), "3R") << "though the other one's processes still end";
}

TEST(Gang, TasksOfAnArray) {
  GangWorld w;
  w.up();
  JobSpec array = GangWorld::in_force();
  array.array = "0-1";
  w.submit(array);
  w.pass();
  ASSERT_EQ(w.state.active.size(), 2U);
  const std::string first = w.states();
  w.pass_time(seconds(30));
  EXPECT_NE(w.states(), first);
}

TEST(Gang, HeterogeneousJobsTakeNoTurns) {
  GangWorld w;
  w.up();
  JobSpec half = GangWorld::in_force(2);
  ASSERT_TRUE(w.run(state::SubmitJob{{half.uid, half.uid}, half, {}, {half}}));
  w.pass();
  w.submit(GangWorld::in_force());
  EXPECT_EQ(w.pass(), "3:n1");
  w.pass_time(seconds(100));
  EXPECT_EQ(w.states(), "1R 2R 3R") << "as Slurm says";
}

TEST(Gang, NotInAPartitionThatIsOff) {
  GangWorld w;
  w.config.partitions.back().preempt_mode = PreemptMode::kOff;
  w.up();
  w.submit(GangWorld::in_force());
  w.submit(GangWorld::in_force());
  w.pass();
  w.pass_time(seconds(100));
  EXPECT_EQ(w.states(), "1R 2R");
}

TEST(Gang, ANodeThatIsLostTakesThoseThatWaitWithIt) {
  GangWorld w;
  w.up();
  w.submit(GangWorld::in_force());
  w.submit(GangWorld::in_force());
  w.pass();
  w.set_node("n1", "DOWN");
  EXPECT_EQ(w.states(), "");
  w.pass_time(seconds(100));
  EXPECT_EQ(w.states(), "");
  EXPECT_EQ(state::check_state(w.state), std::vector<std::string>{});
}

TEST(Gang, ARequeuedOneStartsAnew) {
  GangWorld w;
  w.up();
  w.submit(GangWorld::in_force());
  w.submit(GangWorld::in_force());
  w.pass();
  state::ChangeJob command;
  command.who = {0, 0};
  command.target = "2";
  command.action = protocol::JobAction::kRequeue;
  ASSERT_TRUE(w.run(command));
  w.clean(2);
  EXPECT_EQ(w.job(2).state, JobState::kPending);
  EXPECT_FALSE(w.job(2).time_sliced);
  w.pass_time(std::chrono::minutes(5));
  EXPECT_EQ(w.pass(), "2:n1");
  EXPECT_EQ(w.states(), "1R 2S");
}

struct SuspendGangWorld : GangWorld {
  SuspendGangWorld() {
    config.preempt_type = "preempt/partition_prio";
    config.preempt_mode = PreemptMode::kSuspend;
    PartitionConfig& high = partition("high");
    high.priority_tier = 10;
    high.preempt_mode = PreemptMode::kOff;
  }
};

TEST(Gang, WhoIsPreemptedTakesTurnsAgain) {
  SuspendGangWorld w;
  w.up();
  w.submit(GangWorld::in_force());
  w.submit(GangWorld::in_force());
  w.pass();
  EXPECT_EQ(w.states(), "1R 2S");
  JobSpec high = World::spec(4, 10);
  high.partitions = "high";
  w.submit(high);
  w.pass();
  EXPECT_EQ(w.states(), "1P 2P") << "both leave their CPUs";
  EXPECT_EQ(w.pass(), "3:n1");
  w.pass_time(seconds(100));
  w.pass();
  EXPECT_EQ(w.states(), "1P 2P 3R");
  w.finish(3);
  w.pass();
  w.pass();
  EXPECT_EQ(w.states(), "1R 2S");
  w.pass_time(seconds(30));
  EXPECT_EQ(w.states(), "1S 2R");
}

// Each of two has half of the time, and perhaps a slice to wait for at the end.
TEST(Gang, ForecastsAreForTheTimeThatTurnsTake) {
  GangWorld w;
  w.up();
  for (int i = 0; i < 3; ++i) w.submit(GangWorld::in_force());
  w.pass();
  const Time forecast = w.soft->find(3)->expected_start;
  EXPECT_EQ(forecast, w.now + std::chrono::minutes(20) + seconds(30))
      << "also where both of them start in the same pass";
  w.pass();
  EXPECT_EQ(w.soft->find(3)->expected_start, forecast);
  while (w.states().find("1") != std::string::npos || w.states().find("2") != std::string::npos)
    w.pass_time(seconds(1));
  EXPECT_LE(w.now, forecast);
  EXPECT_GT(w.now, forecast - std::chrono::minutes(1));
}

TEST(Gang, ForecastsOfWhatRunsAloneStay) {
  GangWorld w;
  w.up();
  w.submit(GangWorld::in_force(2));
  w.submit(GangWorld::in_force(2));
  w.submit(World::spec(4, 10));
  EXPECT_EQ(w.pass(), "1:n1 2:n1");
  EXPECT_EQ(w.soft->find(3)->expected_start, w.now + std::chrono::minutes(10));
}

// Random jobs on random cores, by turns until all are over: none lasts longer than is planned for.
TEST(GangTurns, GroupsAreThoseThatShareCores) {
  std::vector<std::unique_ptr<NodeAllocation>> made;
  const auto part = [&made](NodeId node, size_t from, size_t to) {
    made.push_back(std::make_unique<NodeAllocation>());
    made.back()->node = node;
    made.back()->cores.set_range(from, to);
    return static_cast<const NodeAllocation*>(made.back().get());
  };
  GangTurns turns;
  turns.add({part(0, 0, 4), part(1, 0, 4)}, 10);
  turns.add({part(0, 4, 8)}, 20);
  turns.add({part(1, 4, 8), part(2, 0, 4)}, 30);
  EXPECT_EQ(turns.group(0).size(), 1U);
  EXPECT_FALSE(turns.has_grown(0)) << "alone";
  turns.add({part(0, 0, 8)}, 40);
  EXPECT_EQ(turns.group(1).size(), 3U);
  EXPECT_EQ(turns.group(2).size(), 1U);
  EXPECT_TRUE(turns.has_grown(3));
  EXPECT_FALSE(turns.has_grown(0)) << "it was said";
  turns.add({part(1, 0, 8)}, 50);
  EXPECT_EQ(turns.group(2).size(), 5U);
  EXPECT_EQ(turns.length(2, 1), 5U * 30 + 4);
  EXPECT_TRUE(turns.has_grown(2));
  EXPECT_EQ(turns.owner(made[3].get()), 2U);
  const NodeAllocation nobodys{};
  EXPECT_EQ(turns.owner(&nobodys), std::nullopt);
  int grown = 0;
  for (int n = 0; n < 1000; ++n) grown += turns.has_grown(turns.add({part(1, 0, 8)}, 1)) ? 1 : 0;
  EXPECT_LT(grown, 60) << "of a large one an eighth more counts";
}

TEST(GangTurns, NobodyHoldsItsCpusLongerThanPlanned) {
  std::mt19937 random(1);
  const auto pick = [&](uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    Turns t;
    GangTurns planned;
    std::vector<int> left;
    for (uint32_t n = pick(2, 6); n > 0; --n) {
      const uint32_t from = pick(0, 7);
      t.add(from, pick(from, 7), true);
      left.push_back(static_cast<int>(pick(1, 300)));
      planned.add({t.jobs.back()->allocation.nodes.data()}, static_cast<uint32_t>(left.back()));
    }
    for (int second = 0; std::ranges::any_of(left, [](int s) { return s > 0; }); ++second) {
      t.turn(second == 0 ? 0 : 1);
      for (uint32_t at = 0; at < left.size(); ++at) {
        if (left[at] <= 0 || !t.jobs[at]->job.runs || --left[at] > 0) continue;
        EXPECT_LE(static_cast<uint32_t>(second) + 1, planned.length(at, 30)) << "round " << round;
        for (NodeAllocation& part : t.jobs[at]->allocation.nodes) part.cores.clear();
      }
    }
  }
}

}  // namespace
}  // namespace sluice::sched
