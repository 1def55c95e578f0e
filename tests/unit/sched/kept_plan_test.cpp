// A plan that is kept and repaired: at each job's turn its start is the earliest one that there is,
// as a search from nothing finds it, and nodes are promised to nobody twice.
#include "ctld/sched/kept_plan.hpp"

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ctld/sched/start_finder.hpp"
#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

// Passes of which each repairs the plan of the one before.
struct Repaired : World {
  using World::World;
  std::shared_ptr<const KeptPlan> kept;
  PassTimings counts;

  std::string pass() {
    WorkBudget budget;
    budget.kept = kept;
    Plan plan = plan_pass(state, make_policies(state), now, budget);
    kept = plan.kept;
    counts = plan.counts;
    soft = plan.soft;
    std::string out;
    for (const state::PlannedStart& start : plan.starts)
      out += fmt::format("{}{}:{}", out.empty() ? "" : " ", start.job, start.allocation->node_list);
    const size_t planned = plan.starts.size();
    const auto reply = run(state::StartJobs{std::move(plan.starts), std::move(plan.preemptions),
                                            std::move(plan.resumes)});
    EXPECT_TRUE(reply);
    if (reply) { EXPECT_EQ(std::get<state::StartedReply>(*reply).started, planned); }
    return out;
  }
  int64_t minutes_until(JobId id) const {
    const SchedulerHints* hints = soft->find(id);
    if (hints == nullptr || hints->expected_start == kNoTime) return -1;
    return std::chrono::round<std::chrono::minutes>(hints->expected_start - now).count();
  }
  void cancel(JobId id) {
    EXPECT_TRUE(run(state::SignalJob{{0, 0}, std::to_string(id), 0, protocol::kSignalCancel}));
  }
};

TEST(KeptPlan, StaysWhereNothingChanged) {
  Repaired w(2, 4);
  w.up();
  for (int i = 0; i < 5; ++i) w.submit(World::spec(8, 10));
  EXPECT_EQ(w.pass(), "1:n[1-2]");
  EXPECT_EQ(w.counts.kept, 0U);
  EXPECT_FALSE(w.counts.incremental);
  w.now += std::chrono::minutes(1);
  const JobId last = w.submit(World::spec(4, 5));
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.counts.kept, 4U) << "the new job alone is looked for";
  EXPECT_TRUE(w.counts.incremental);
  EXPECT_EQ(w.minutes_until(5), 39);
  EXPECT_EQ(w.minutes_until(last), 49);
  EXPECT_EQ(w.reason(2), JobReason::kResources);
  EXPECT_EQ(w.reason(3), JobReason::kPriority);
}

// The bug: each pass counted ticks from its own moment, so that a controller that was started anew
// told other starts than before.
TEST(KeptPlan, IsWhatAPassFromNothingPlans) {
  Repaired w(2, 4);
  w.up();
  w.submit(World::spec(8, 10));
  for (int i = 0; i < 5; ++i) {
    w.now += std::chrono::milliseconds(370);
    w.submit(World::spec(8, 10));
    w.pass();
  }
  const auto repaired = w.soft;
  w.now += std::chrono::milliseconds(370);
  w.kept = nullptr;
  w.pass();
  for (JobId id = 2; id <= 6; ++id)
    EXPECT_EQ(repaired->find(id)->expected_start, w.soft->find(id)->expected_start) << id;
}

TEST(KeptPlan, MovesUpWhenAJobEndsEarly) {
  Repaired w(2, 4);
  w.up();
  for (int i = 0; i < 4; ++i) w.submit(World::spec(8, 10));
  w.pass();
  w.pass();
  w.now += std::chrono::minutes(1);
  w.finish(1);
  EXPECT_EQ(w.pass(), "2:n[1-2]");
  EXPECT_EQ(w.minutes_until(3), 10);
  EXPECT_EQ(w.minutes_until(4), 20);
}

// What ended early is on a node that some of them cannot use: those stay.
TEST(KeptPlan, JobsThatCannotUseWhatIsFreeStay) {
  Repaired w(3, 4);
  w.partition("three").nodes = {"n3"};
  w.partition("others").nodes = {"n1", "n2"};
  w.up();
  const auto submit = [&](const char* partition, uint32_t tasks) {
    JobSpec spec = World::spec(tasks, 10);
    spec.partitions = partition;
    return w.submit(spec);
  };
  for (int i = 0; i < 3; ++i) submit("others", 8);
  const JobId first = submit("three", 4), second = submit("three", 4);
  w.pass();
  w.now += std::chrono::minutes(1);
  w.finish(first);
  EXPECT_EQ(w.pass(), std::to_string(second) + ":n3");
  EXPECT_EQ(w.counts.kept, 2U);
}

// The bug: what completes is held for a tick, and a job that waited for it stayed planned for the
// end of that tick, when nobody woke the scheduler.
TEST(KeptPlan, StartsWhenACompletingJobIsClean) {
  Repaired w(1, 4);
  w.up();
  for (int i = 0; i < 2; ++i) w.submit(World::spec(4, 10));
  w.pass();
  w.now += std::chrono::minutes(1);
  w.cancel(1);
  EXPECT_EQ(w.pass(), "") << "its node is not clean";
  w.now += std::chrono::milliseconds(5);
  w.clean(1);
  EXPECT_EQ(w.pass(), "2:n1");
}

TEST(KeptPlan, ACancelledJobGivesItsPlaceBack) {
  Repaired w(1, 4);
  w.up();
  for (int i = 0; i < 4; ++i) w.submit(World::spec(4, 10));
  w.pass();
  w.cancel(2);
  w.pass();
  EXPECT_EQ(w.minutes_until(3), 10);
  EXPECT_EQ(w.minutes_until(4), 20);
}

TEST(KeptPlan, AJobOfHigherPriorityGoesBefore) {
  Repaired w(1, 4);
  w.up();
  for (int i = 0; i < 3; ++i) w.submit(World::spec(4, 10));
  w.pass();
  JobSpec urgent = World::spec(4, 10);
  urgent.priority = 4'294'950'000;
  const auto reply = w.run(state::SubmitJob{{0, 0}, urgent, {}});
  ASSERT_TRUE(reply);
  const JobId id = std::get<state::JobSubmittedReply>(*reply).job;
  w.pass();
  EXPECT_EQ(w.minutes_until(id), 10);
  EXPECT_EQ(w.minutes_until(2), 20);
  EXPECT_EQ(w.minutes_until(3), 30);
}

TEST(KeptPlan, ANodeThatGoesDownVoidsWhatWasPlannedOnIt) {
  Repaired w(2, 4);
  w.up();
  for (int i = 0; i < 4; ++i) w.submit(World::spec(4, 10));
  EXPECT_EQ(w.pass(), "1:n1 2:n2");
  EXPECT_EQ(w.minutes_until(4), 10);
  w.set_node("n2", "DRAIN");
  w.pass();
  EXPECT_EQ(w.minutes_until(3), 10);
  EXPECT_EQ(w.minutes_until(4), 20);
  w.set_node("n2", "RESUME");
  w.pass();
  EXPECT_EQ(w.minutes_until(4), 10);
}

// Random clusters whose jobs end early, are cancelled, held, and overtaken.
class RandomLife {
 public:
  explicit RandomLife(uint32_t seed) : random_(seed), world_(2 + seed % 4, 4) {
    ClusterConfig& config = world_.config;
    const char* types[] = {"CR_CORE_MEMORY", "CR_CPU", "CR_CORE", "CR_SOCKET_MEMORY"};
    config.select_type_parameters = {types[pick(0, 3)]};
    for (NodeConfig& node : config.nodes) {
      node.cores_per_socket = pick(1, 6);
      node.threads_per_core = pick(1, 2);
      node.cpus = node.cores_per_socket * node.threads_per_core;
      node.real_memory_mib = pick(2, 10) * 100;
      if (pick(0, 2) == 0) node.features = {"x"};
    }
    if (pick(0, 1) == 0) {
      PartitionConfig& other = world_.partition("other");
      other.nodes.resize(pick(1, static_cast<uint32_t>(config.nodes.size())));
    }
    world_.up();
  }

  uint32_t run() {
    uint32_t kept = 0;
    for (int round = 0; round < 12 && !::testing::Test::HasFailure(); ++round) {
      for (uint32_t n = pick(0, 6); n > 0; --n) submit();
      check_pass();
      kept += world_.counts.kept;
      if (pick(0, 2) > 0)
        world_.now += std::chrono::milliseconds(pick(1, pick(0, 2) == 0 ? 900 : 400'000));
      change();
    }
    return kept;
  }

 private:
  uint32_t pick(uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random_);
  }
  void submit() {
    JobSpec spec = World::spec(pick(1, 8), pick(1, 12));
    spec.uid = 1001 + pick(0, 1);
    if (pick(0, 2) == 0) spec.min_nodes = pick(1, 3);
    if (pick(0, 5) == 0) spec.sharing = Sharing::kExclusive;
    if (pick(0, 7) == 0) spec.sharing = Sharing::kUser;
    if (pick(0, 4) == 0) spec.constraint = "x";
    if (pick(0, 2) == 0) {
      spec.memory_kind = pick(0, 1) == 0 ? MemoryKind::kPerNode : MemoryKind::kPerCpu;
      spec.memory_mib = pick(1, 300);
    }
    if (pick(0, 9) == 0) spec.excluded_nodes = "n2";
    if (world_.config.partitions.size() > 1 && pick(0, 2) == 0)
      spec.partitions = pick(0, 1) == 0 ? "other" : "debug,other";
    if (pick(0, 9) == 0) spec.array = "0-2";
    if (pick(0, 4) == 0) spec.priority = 4'294'950'000 + pick(0, 1000);
    world_.run(state::SubmitJob{{0, 0}, spec, {}});  // some are refused: too large
  }
  void change() {
    std::vector<JobId> over, waiting;
    world_.state.active.for_each([&](JobId id) {
      if (pick(0, 5) == 0 || world_.job(id).end <= world_.now) over.push_back(id);
    });
    for (const JobId id : over) {
      if (is_completing(world_.job(id))) world_.clean(id);
      else world_.finish(id);
    }
    world_.state.pending.for_each([&](JobId id) {
      if (pick(0, 11) == 0) waiting.push_back(id);
    });
    for (const JobId id : waiting) world_.cancel(id);
    if (pick(0, 3) > 0) return;
    const std::string node = "n" + std::to_string(pick(1, 2));
    const bool up = (world_.state.nodes.at(node == "n1" ? 0 : 1).flags & kNodeDrain) == 0;
    world_.set_node(node, up ? "DRAIN" : "RESUME");
  }

  // The pass, and what a search from nothing says of each of its starts.
  void check_pass() {
    const state::ClusterState before = world_.state;
    const bool had_plan = world_.kept != nullptr;
    world_.pass();
    ASSERT_NE(world_.kept, nullptr);
    Resources fresh(before, world_.now);
    for (const KeptStart& start : world_.kept->starts) {
      const Job& job = before.jobs.at(start.job);
      const auto request = request_in(before, fresh.rules(), job, *start.partition, nullptr);
      ASSERT_TRUE(request);
      const Tick from = fresh.tick_from(start.start);
      EXPECT_TRUE(fresh.is_free(*request, *start.nodes, from, from + start.length))
          << "job " << job.id;
      StartFinder finder(fresh, *request);
      StartFinder::Wanted wanted;
      wanted.duration = start.length;
      const auto first = finder.first(wanted);
      ASSERT_TRUE(first) << "job " << job.id;
      EXPECT_LE(from, first->at) << "job " << job.id << (had_plan ? " repaired" : "");
      fresh.claim(job, *request, start.nodes, from, from + start.length);
    }
  }

  std::mt19937 random_;
  Repaired world_;
};

TEST(KeptPlan, EachStartIsTheEarliest) {
  uint32_t kept = 0;
  for (uint32_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    kept += RandomLife(seed).run();
  }
  EXPECT_GT(kept, 9'000U) << "it is repaired plans that are looked at";
}

}  // namespace
}  // namespace sluice::sched
