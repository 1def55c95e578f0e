// EASY backfill: a job that waits is never delayed by those behind it.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

TEST(Backfill, ShortJobsPassLongOnesDoNot) {
  World w(2, 4);
  w.up();
  w.submit(World::spec(4, 60));
  w.pass();
  w.submit(World::spec(8, 60));
  const JobId longer = w.submit(World::spec(1, 61));
  w.submit(World::spec(1, 60));
  EXPECT_EQ(w.pass(), "4:n2");
  EXPECT_EQ(w.reason(2), JobReason::kResources);
  EXPECT_EQ(w.reason(longer), JobReason::kPriority);
}

TEST(Backfill, BuiltinKeepsTheOrder) {
  World w(2, 4);
  w.config.scheduler_type = "sched/builtin";
  w.partition("other").nodes = {"n2"};
  w.up();
  w.submit(World::spec(4, 60));
  w.pass();
  w.submit(World::spec(8, 60));
  const JobId shorter = w.submit(World::spec(1, 1));
  JobSpec elsewhere = World::spec(1, 1);
  elsewhere.partitions = "other";
  w.submit(elsewhere);
  EXPECT_EQ(w.pass(), "4:n2") << "in each partition by itself";
  EXPECT_EQ(w.reason(2), JobReason::kResources);
  EXPECT_EQ(w.reason(shorter), JobReason::kPriority);
}

TEST(Backfill, WhatTheWaitingJobLeavesIsUsed) {
  World w(2, 4);
  w.up();
  w.submit(World::spec(4, 60));
  JobSpec small = World::spec(1, 600);
  small.required_nodes = "n2";
  w.submit(small);
  w.pass();
  w.submit(World::spec(6, 60));  // 4 of n1 and 2 of n2 in an hour
  w.submit(World::spec(1, 600));
  w.submit(World::spec(1, 600));
  EXPECT_EQ(w.pass(), "4:n2") << "n2 has one core that nobody will need";
}

TEST(Backfill, TimeMinLetsAJobIn) {
  World w(2, 4);
  w.up();
  w.submit(World::spec(4, 60));
  w.pass();
  w.submit(World::spec(8, 60));
  JobSpec shorter = World::spec(1, 600);
  shorter.time_min = 61;
  w.submit(shorter);
  shorter.time_min = 30;
  const JobId fits = w.submit(shorter);
  EXPECT_EQ(w.pass(), "4:n2");
  EXPECT_EQ(w.state.jobs.at(fits).time_limit, 60U) << "as long as nobody else is held up";
  EXPECT_EQ(w.reason(3), JobReason::kPriority);
}

TEST(Backfill, JobsWithoutALimitCountAsAYear) {
  World w(2, 4);
  w.up();
  w.submit(World::spec(4));
  w.pass();
  w.pass_time(std::chrono::seconds(1));
  w.submit(World::spec(8));
  w.submit(World::spec(1));
  EXPECT_EQ(w.pass(), "") << "nothing behind a large job may keep it from ever starting";
  w.submit(World::spec(1, 1000));
  EXPECT_EQ(w.pass(), "4:n2");
}

TEST(Backfill, StartsOfTheSamePassCountToo) {
  World w(2, 4);
  w.up();
  w.submit(World::spec(4, 10));
  w.submit(World::spec(8, 10));
  w.submit(World::spec(4, 20));
  w.submit(World::spec(4, 10));
  EXPECT_EQ(w.pass(), "1:n1 4:n2");
  EXPECT_EQ(w.soft->find(2)->expected_start, w.now + std::chrono::minutes(10));
}

// A random stream of jobs that run exactly as long as they said. Whoever is first in the queue and
// has to wait is told when it will start; it must start then or before.
class RandomQueue {
 public:
  explicit RandomQueue(uint32_t seed) : random_(seed), world_(2 + seed % 5, 1 + seed % 8) {
    if (seed % 3 == 0) world_.config.nodes[0].weight = 5;
    if (seed % 4 == 0) world_.config.nodes[1].features = {"x"};
    if (seed % 7 == 0) world_.config.select_type_parameters = {"CR_CPU"};
    world_.up();
  }

  void run() {
    for (int step = 0; step < 120; ++step) {
      for (uint32_t n = pick(0, 2); n > 0; --n) submit();
      world_.pass();
      check_first();
      world_.now += std::chrono::minutes(pick(1, 5));
      end_jobs();
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  uint32_t pick(uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random_);
  }

  void submit() {
    JobSpec spec = World::spec(pick(1, 12), pick(1, 30));
    if (pick(0, 3) == 0) {
      spec.min_nodes = pick(1, 3);
      spec.num_tasks = 0;
    }
    if (pick(0, 5) == 0) spec.cpus_per_task = 2;
    if (pick(0, 7) == 0) spec.sharing = Sharing::kExclusive;
    if (pick(0, 7) == 0) spec.contiguous = true;
    if (pick(0, 7) == 0) {
      spec.memory_kind = MemoryKind::kPerNode;
      spec.memory_mib = pick(1, 1000);
    }
    if (pick(0, 9) == 0) spec.required_nodes = "n1";
    if (pick(0, 9) == 0) spec.excluded_nodes = "n2";
    world_.run(state::SubmitJob{{1001, 1001}, spec, {}});  // some are refused: too large
  }

  // Jobs of equal rights go by their number, so the lowest that waits for resources is the first.
  void check_first() {
    JobId first = kNoJob;
    world_.state.pending.for_each([&](JobId id) {
      if (first == kNoJob && world_.reason(id) == JobReason::kResources) first = id;
    });
    if (first == kNoJob) return;
    const SchedulerHints& soft = *world_.soft->find(first);
    if (soft.expected_start == kNoTime) {
      ADD_FAILURE() << "job " << first << " has no forecast";
      return;
    }
    const auto [at, fresh] = promised_.emplace(first, soft.expected_start);
    EXPECT_LE(soft.expected_start, at->second) << "job " << first << " was put off";
    at->second = std::min(at->second, soft.expected_start);
  }

  void end_jobs() {
    std::vector<JobId> over;
    world_.state.active.for_each([&](JobId id) {
      const Job& job = world_.job(id);
      const auto promise = promised_.find(id);
      if (promise != promised_.end()) {
        // passes come minutes apart: what is late by no more than one step was seen at the first
        // chance
        EXPECT_LE(job.start, promise->second + std::chrono::minutes(5));
      }
      if (job.end <= world_.now) over.push_back(id);
    });
    for (const JobId id : over) world_.finish(id);
  }

  std::mt19937 random_;
  World world_;
  std::map<JobId, Time> promised_;
};

TEST(Backfill, NeverDelaysTheFirstJobThatWaits) {
  for (uint32_t seed = 1; seed <= 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomQueue(seed).run();
  }
}

// Two passes at the same time may plan the same starts: sdiag counts those that the engine took.
TEST(Backfill, AJobIsBackfilledOnceWhenItStarts) {
  World w(2, 4);
  w.up();
  w.submit(World::spec(4, 60));
  w.submit(World::spec(8, 60));
  w.submit(World::spec(1, 10));
  w.submit(World::spec(1, 10));
  const auto start = [&](const Plan& plan) {
    return std::get<state::StartedReply>(*w.run(state::StartJobs{plan.starts}));
  };
  const Plan plan = plan_pass(w.state, make_policies(w.state), w.now);
  EXPECT_EQ(plan.counts.backfilled, 2U);
  const state::StartedReply first = start(plan);
  EXPECT_EQ(first.started, 3U);
  EXPECT_EQ(first.backfilled, 2U) << "the first started by its turn";
  const state::StartedReply second = start(plan);
  EXPECT_EQ(second.started, 0U);
  EXPECT_EQ(second.dropped, 3U);
  EXPECT_EQ(second.backfilled, 0U);
}

// The bug: a job that could not start at any of the moments at which enough was free was tried at
// each of them, whatever the time was.
class LongSearch : public ::testing::Test {
 protected:
  static constexpr uint32_t kJobs = 400;

  LongSearch() {
    w_.config.nodes.back().features = {"z"};
    w_.up();
    JobSpec last = World::spec(1, 5000);
    last.constraint = "z";
    w_.submit(last);
    for (uint32_t i = 0; i < kJobs; ++i) w_.submit(World::spec(1, 10 + 5 * i));
    w_.pass();
    JobSpec wants = World::spec(2, 10);
    wants.min_nodes = wants.max_nodes = 2;
    wants.constraint = "[z*1]";
    waits_ = w_.submit(wants);
    budget_.out_of_time = [this] { return ++asked_ > most_asked_; };
  }

  World w_{kJobs + 1, 1};
  WorkBudget budget_;
  JobId waits_ = kNoJob;
  uint32_t asked_ = 0, most_asked_ = UINT32_MAX;
};

TEST_F(LongSearch, GoesOnFartherApart) {
  w_.pass(budget_);
  EXPECT_GE(w_.soft->find(waits_)->expected_start, w_.now + std::chrono::minutes(5000));
  EXPECT_LT(asked_, 150U) << "of " << kJobs << " moments";
}

TEST_F(LongSearch, EndsWithItsTime) {
  most_asked_ = 20;
  w_.pass(budget_);
  EXPECT_EQ(w_.soft->find(waits_)->expected_start, kNoTime);
  EXPECT_EQ(w_.kept, nullptr) << "not all was looked at";
  EXPECT_LT(asked_, 30U);
}

}  // namespace
}  // namespace sluice::sched
