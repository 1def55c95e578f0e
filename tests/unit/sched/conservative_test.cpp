// Conservative backfill: every job that waits is planned, and starts exactly when the first
// implementation that one would write has it start.
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "unit/sched/brute_force.hpp"
#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

TEST(Conservative, EachWaitingJobHasItsStart) {
  World w(1, 4);
  w.up();
  for (int i = 0; i < 4; ++i) w.submit(World::spec(4, 10));
  EXPECT_EQ(w.pass(), "1:n1");
  for (const JobId id : {2U, 3U, 4U}) {
    EXPECT_EQ(w.soft->find(id)->expected_start, w.now + std::chrono::minutes(10 * (id - 1)));
    EXPECT_EQ(w.soft->find(id)->planned_nodes, "n1");
  }
  EXPECT_EQ(w.reason(2), JobReason::kResources);
  EXPECT_EQ(w.reason(3), JobReason::kPriority);
}

// EASY would start it: it delays the second of the waiting jobs, not the first.
TEST(Conservative, NoWaitingJobIsDelayed) {
  World w(2, 4);
  w.up();
  w.submit(World::spec(4, 10));
  w.pass();
  w.submit(World::spec(8, 10));  // at 10
  w.submit(World::spec(8, 10));  // at 20
  JobSpec longer = World::spec(1, 11);
  w.submit(longer);
  const JobId shorter = w.submit(World::spec(1, 10));
  EXPECT_EQ(w.pass(), std::to_string(shorter) + ":n2");
  EXPECT_EQ(w.soft->find(4)->expected_start, w.now + std::chrono::minutes(30));
}

TEST(Conservative, TheFirstOfAPartitionAloneWhereItIsAskedFor) {
  World w(1, 4);
  w.up();
  for (int i = 0; i < 3; ++i) w.submit(World::spec(4, 10));
  WorkBudget budget;
  budget.most_planned = 1;
  w.pass(budget);
  EXPECT_NE(w.soft->find(2)->expected_start, kNoTime);
  EXPECT_EQ(w.soft->find(3)->expected_start, kNoTime);
}

TEST(Conservative, NothingIsPlannedBeyondTheWindow) {
  World w(1, 4);
  w.up();
  for (int i = 0; i < 4; ++i) w.submit(World::spec(4, 10));
  WorkBudget budget;
  budget.backfill.window = std::chrono::minutes(20);
  w.pass(budget);
  EXPECT_NE(w.soft->find(3)->expected_start, kNoTime) << "in twenty minutes";
  EXPECT_EQ(w.soft->find(4)->expected_start, kNoTime);
}

TEST(Conservative, BoundsOnBackfillKeepJobsBack) {
  const auto starts = [](BackfillBounds bounds) {
    World w(2, 4);
    w.up();
    w.submit(World::spec(4, 60));
    w.submit(World::spec(8, 60));
    for (int i = 0; i < 3; ++i) w.submit(World::spec(1, 10));
    WorkBudget budget;
    budget.backfill = bounds;
    return w.pass(budget);
  };
  EXPECT_EQ(starts({}), "1:n1 3:n2 4:n2 5:n2");
  EXPECT_EQ(starts({.most_of_partition = 2}), "1:n1 3:n2 4:n2");
  EXPECT_EQ(starts({.most_of_user = 1}), "1:n1 3:n2");
  EXPECT_EQ(starts({.most_of_user_in_partition = 0}), "1:n1");
  EXPECT_EQ(starts({.most_starts = 2}), "1:n1 3:n2 4:n2");
}

TEST(Conservative, YoungJobsKeepNothingWhereItIsAskedFor) {
  World w(2, 4);
  w.up();
  w.submit(World::spec(4, 60));
  w.submit(World::spec(8, 60));
  w.submit(World::spec(4, 600));
  WorkBudget budget;
  budget.backfill.least_age = std::chrono::seconds(30);
  EXPECT_EQ(w.pass(budget), "1:n1 3:n2") << "the second keeps no nodes yet";
  EXPECT_EQ(w.soft->find(2)->expected_start, kNoTime);
}

// What a pass has no time for stays as the last one left it, and nothing of it is started.
TEST(Conservative, APassThatEndsEarlyKeepsWhatIsKnown) {
  World w(2, 4);
  w.up();
  for (int i = 0; i < 3; ++i) w.submit(World::spec(8, 10));
  w.pass();
  const auto known = w.soft;
  w.submit(World::spec(1, 1));
  WorkBudget budget;
  budget.previous = known.get();
  budget.out_of_time = [] { return true; };
  EXPECT_EQ(w.pass(budget), "");
  EXPECT_EQ(w.soft->find(3)->expected_start, known->find(3)->expected_start);
  EXPECT_EQ(w.soft->find(3)->planned_nodes, "n[1-2]");
  EXPECT_EQ(w.reason(2), JobReason::kResources);
  EXPECT_EQ(w.reason(4), JobReason::kPriority);
}

TEST(Conservative, AJobOfSeveralPartitionsIsPlannedWhereItStartsFirst) {
  World w(2, 4);
  w.config.nodes.resize(2);
  w.partition("one").nodes = {"n1"};
  w.partition("two").nodes = {"n2"};
  w.up();
  JobSpec one = World::spec(4, 60), two = World::spec(4, 10);
  one.partitions = "one";
  two.partitions = "two";
  w.submit(one);
  w.submit(two);
  w.pass();
  JobSpec both = World::spec(4, 10);
  both.partitions = "one,two";
  const JobId id = w.submit(both);
  w.pass();
  EXPECT_EQ(w.soft->find(id)->planned_nodes, "n2");
  EXPECT_EQ(w.soft->find(id)->expected_start, w.now + std::chrono::minutes(10));
}

TEST(Conservative, LicensesAreWaitedFor) {
  World w(1, 4);
  w.config.licenses = "matlab:1";
  w.up();
  JobSpec job = World::spec(1, 10);
  job.licenses = "matlab:1";
  for (int i = 0; i < 3; ++i) w.submit(job);
  EXPECT_EQ(w.pass(), "1:n1");
  EXPECT_EQ(w.reason(2), JobReason::kLicenses);
  EXPECT_EQ(w.soft->find(2)->expected_start, w.now + std::chrono::minutes(10));
  EXPECT_EQ(w.soft->find(3)->expected_start, w.now + std::chrono::minutes(20));
}

// Random clusters and queues.
class RandomCase {
 public:
  explicit RandomCase(uint32_t seed) : random_(seed), world_(2 + seed % 4, 4) {
    ClusterConfig& config = world_.config;
    config.scheduler_parameters = {"bf_resolution=60"};
    world_.now = std::chrono::ceil<std::chrono::minutes>(world_.now);  // so do ticks begin
    config.licenses = "matlab:3";
    const char* types[] = {"CR_CORE_MEMORY", "CR_CPU", "CR_CORE", "CR_SOCKET_MEMORY"};
    config.select_type_parameters = {types[pick(0, 3)]};
    for (NodeConfig& node : config.nodes) {
      node.sockets = pick(1, 2);
      node.cores_per_socket = pick(1, 4);
      node.threads_per_core = pick(1, 2);
      node.cpus = node.sockets * node.cores_per_socket * node.threads_per_core;
      node.real_memory_mib = pick(2, 10) * 100;
      node.weight = pick(1, 2);
      if (pick(0, 2) == 0) node.features = {"x"};
    }
    config.gres_types = {"gpu", "disk"};
    for (NodeConfig& node : config.nodes) node.gres = "gpu:a:1,gpu:b:2,disk:4";
    world_.devices = {{"gpu", "a", 1, {"/dev/a0"}, "", "", {}},
                      {"gpu", "b", 2, {"/dev/b0", "/dev/b1"}, "", "", {}},
                      {"disk", "", 4, {}, "", "", {}}};
    if (pick(0, 1) == 0) {
      PartitionConfig& other = world_.partition("other");
      other.nodes.resize(pick(1, static_cast<uint32_t>(config.nodes.size())));
    }
    world_.up();
  }

  void run() {
    for (int round = 0; round < 3; ++round) {
      for (uint32_t n = pick(2, 12); n > 0; --n) submit();
      if (pick(0, 2) == 0) reserve();
      compare();
      world_.now += std::chrono::minutes(pick(1, 8));
      end_jobs();
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  uint32_t pick(uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random_);
  }

  void submit() {
    JobSpec spec = World::spec(pick(1, 8), pick(1, 12));
    spec.uid = 1001 + pick(0, 1);
    if (pick(0, 2) == 0) {
      spec.min_nodes = pick(1, 3);
      if (pick(0, 1) == 0) spec.num_tasks = 0;
    }
    if (pick(0, 3) == 0) spec.cpus_per_task = 2;
    if (pick(0, 5) == 0) spec.sharing = Sharing::kExclusive;
    if (pick(0, 7) == 0) spec.sharing = Sharing::kUser;
    if (pick(0, 7) == 0) spec.contiguous = true;
    if (pick(0, 4) == 0) spec.constraint = "x";
    if (pick(0, 2) == 0) {
      spec.memory_kind = pick(0, 1) == 0 ? MemoryKind::kPerNode : MemoryKind::kPerCpu;
      spec.memory_mib = pick(1, 300);
    }
    if (pick(0, 9) == 0) spec.required_nodes = "n1";
    if (pick(0, 9) == 0) spec.excluded_nodes = "n2";
    if (pick(0, 4) == 0) spec.licenses = "matlab:" + std::to_string(pick(1, 2));
    const char* gres[] = {"gpu:1", "gpu:2", "gpu:b:1", "disk:1", "disk:3", "gpu:1,disk:2"};
    if (pick(0, 2) == 0) spec.gres = gres[pick(0, 5)];
    if (world_.config.partitions.size() > 1 && pick(0, 2) == 0) spec.partitions = "other";
    if (reservations_ > 0 && pick(0, 4) == 0)
      spec.reservation = "r" + std::to_string(pick(1, reservations_));
    world_.run(state::SubmitJob{{spec.uid, spec.uid}, spec, {}});  // some are refused: too large
  }

  void reserve() {
    protocol::ReservationValues values;
    values.start = world_.now + std::chrono::minutes(pick(0, 2) == 0 ? 0 : pick(3, 20));
    values.duration = std::chrono::minutes(pick(2, 10));
    values.add_flags = kReservationIgnoreJobs;
    const uint32_t what = pick(0, 5);
    if (what > 0 && what < 3) values.licenses = "matlab:" + std::to_string(pick(1, 2));
    if (what < 2) values.nodes = "n1";
    else if (what == 2) values.add_flags |= kReservationAnyNodes;
    else if (what != 4) values.core_counts = {pick(1, 4)};
    const char* gres[] = {"gpu:1", "gpu:a:1", "gpu:2", "disk:2", "disk:5", "gpu:2,disk:1"};
    if (what > 3) values.gres = gres[pick(0, 5)];
    values.users = protocol::NameList{"user"};
    const std::string name = "r" + std::to_string(++reservations_);
    world_.run(state::ChangeReservation{
        {0, 0}, {protocol::ReservationAction::kCreate, name, values}, {{"user", {1001}}}});
  }

  void compare() {
    BruteForce brute(world_.state, world_.now, 600);
    const auto expected = brute.plan();
    const state::ClusterState before = world_.state;
    world_.pass();
    before.pending.for_each([&](JobId id) {
      if (::testing::Test::HasFailure()) return;
      const auto wanted = expected.find(id);
      const Job& job = world_.job(id);
      std::string what = "never", hoped = "never";
      if (wanted != expected.end())
        hoped = std::to_string(wanted->second.minute) + " " + wanted->second.nodes;
      const SchedulerHints* soft = world_.soft->find(id);
      if (job.state == JobState::kRunning) {
        what = "0 " + job.allocation->node_list;
      } else if (soft != nullptr && soft->expected_start != kNoTime) {
        const auto minutes =
            std::chrono::duration_cast<std::chrono::minutes>(soft->expected_start - world_.now);
        what = std::to_string(minutes.count()) + " " + soft->planned_nodes.str();
      }
      EXPECT_EQ(what, hoped) << "job " << id << ": " << words(*before.jobs.at(id).spec)
                             << cluster();
    });
  }

  std::string cluster() const {
    std::string out = "\n" + world_.config.select_type_parameters.front();
    for (const NodeConfig& node : world_.config.nodes) {
      out += fmt::format("\n{}: {}x{}x{} {} MiB weight {} {}", node.name, node.sockets,
                         node.cores_per_socket, node.threads_per_core, node.real_memory_mib,
                         node.weight, fmt::join(node.features, ","));
    }
    return out;
  }
  static std::string words(const JobSpec& spec) {
    return fmt::format(
        "-n{} -c{} -N{} -t{} mem {}/{} sharing {} {}{}{}{}{}{} {} in {}", spec.num_tasks,
        spec.cpus_per_task, spec.min_nodes, spec.time_limit, static_cast<int>(spec.memory_kind),
        spec.memory_mib, static_cast<int>(spec.sharing), spec.contiguous ? "contiguous " : "",
        spec.constraint.view(), spec.required_nodes.view(), spec.excluded_nodes.view(),
        spec.licenses.view(), spec.partitions.view(), spec.gres.view(), spec.reservation.view());
  }

  void end_jobs() {
    std::vector<JobId> over;
    world_.state.active.for_each([&](JobId id) {
      const bool early = pick(0, 5) == 0;
      if (early || world_.job(id).end <= world_.now) over.push_back(id);
    });
    for (const JobId id : over) world_.finish(id);
  }

  std::mt19937 random_;
  World world_;
  uint32_t reservations_ = 0;
};

TEST(Conservative, StartsAreThoseOfBruteForce) {
  for (uint32_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase(seed).run();
  }
}

}  // namespace
}  // namespace sluice::sched
