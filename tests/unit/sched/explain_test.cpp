// sluice explain: its words, and that the change it names does start the job.
#include "ctld/sched/explain/explain.hpp"
#include "common/model/job_update.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

bool says(const protocol::ExplainReply& reply, std::string_view text) {
  return std::ranges::any_of(reply.lines,
                             [&](const std::string& line) { return line.find(text) != line.npos; });
}
std::string all_lines(const protocol::ExplainReply& reply) {
  std::string out;
  for (const std::string& line : reply.lines) out += line + '\n';
  return out;
}

class ExplainTest : public ::testing::Test {
 protected:
  World w;
  protocol::ExplainReply explained(JobId id) {
    auto reply = explain(w.state, w.soft.get(), std::to_string(id), w.now);
    EXPECT_TRUE(reply);
    return reply ? *reply : protocol::ExplainReply{};
  }
};

TEST_F(ExplainTest, WhatEachConstraintRemoves) {
  w.config.nodes[3].features = {"gpu"};
  w.up();
  w.set_node("n1", "down");
  w.set_node("n2", "drain");
  JobSpec busy = World::spec(8, 60);
  busy.required_nodes = "n4";
  w.submit(busy);
  w.pass();
  JobSpec spec = World::spec(4, 10);
  spec.name = "train";
  spec.constraint = "gpu";
  const JobId id = w.submit(spec);
  w.pass();
  const auto reply = explained(id);
  EXPECT_TRUE(says(reply, "Job 2 (train) of ann waits (Resources)")) << all_lines(reply);
  EXPECT_TRUE(says(reply, "Partition debug has 4 nodes."));
  EXPECT_TRUE(says(reply, "1 is down (n1; n1: test)."));
  EXPECT_TRUE(says(reply, "1 is drained or draining (n2; n2: test)."));
  EXPECT_TRUE(says(reply, "1 has not the features it wants (n3)."));
  EXPECT_TRUE(says(reply, "1 has too few free CPUs now: it wants 1 on one node (n4)."));
  EXPECT_TRUE(says(reply, "job 1 of ann on n4 ends by "));
  EXPECT_TRUE(says(reply, "You can drop its features, and it can start now:"));
  EXPECT_TRUE(says(reply, "scontrol update JobId=2 Features=")) << all_lines(reply);
  ASSERT_TRUE(reply.change);
  EXPECT_EQ(reply.change->constraint, "");
}

TEST_F(ExplainTest, MemoryThatThePartitionDoesNotGive) {
  w.config.partitions[0].max_mem_per_node_mib = 500;
  w.up();
  JobSpec spec = World::spec(1, 60);
  spec.memory_kind = MemoryKind::kPerNode;
  spec.memory_mib = 600;
  const JobId id = w.submit(spec);
  w.pass();
  const auto reply = explained(id);
  EXPECT_TRUE(says(reply, "waits (MaxMemPerLimit)")) << all_lines(reply);
  EXPECT_TRUE(says(
      reply,
      "Partition debug gives a job at most 500 MiB of a node's memory; the job asks for more."));
}

TEST_F(ExplainTest, AJobThatIsToRunAgain) {
  w.up();
  const JobId id = w.submit(World::spec(1, 60));
  w.pass();
  ASSERT_TRUE(
      w.run(state::ChangeJob{{0, 0}, std::to_string(id), protocol::JobAction::kRequeue, false}));
  EXPECT_TRUE(says(explained(id), "and waits again when its last run is gone from its nodes."));
}

TEST_F(ExplainTest, CpusThatThePartitionKeepsBack) {
  w.config.partitions[0].max_cpus_per_node = 2;
  w.up();
  for (int i = 0; i < 8; ++i) w.submit(World::spec(1, 60));
  w.pass();
  const JobId id = w.submit(World::spec(1, 60));
  w.pass();
  const auto reply = explained(id);
  EXPECT_TRUE(says(reply, "4 have too few free CPUs now: it wants 1 on one node (n[1-4])."))
      << all_lines(reply);
}

TEST_F(ExplainTest, EachKindOfChange) {
  w.up();
  w.submit(World::spec(16, 60));  // n1 and n2
  w.pass();
  const auto command_for = [&](auto change) {
    JobSpec spec = World::spec(1, 60);
    change(spec);
    const JobId id = w.submit(spec);
    w.pass();
    const auto reply = explained(id);
    w.run(state::SignalJob{{0, 0}, std::to_string(id), 0, protocol::kSignalCancel});
    const std::string last = reply.lines.back();
    return last.substr(0, last.find(" JobId=")) +
           (last.find("JobId=") == last.npos ? ""
                                             : last.substr(last.find(' ', last.find("JobId="))));
  };
  EXPECT_EQ(command_for([](JobSpec& s) { s.num_tasks = 20; }), "  scontrol update NumTasks=16");
  EXPECT_EQ(command_for([](JobSpec& s) {
              s.num_tasks = 0;
              s.min_nodes = 3;
            }),
            "  scontrol update NumNodes=2");
  EXPECT_EQ(command_for([](JobSpec& s) { s.required_nodes = "n1"; }),
            "  scontrol update ReqNodeList=");
  EXPECT_EQ(command_for([](JobSpec& s) { s.excluded_nodes = "n[3-4]"; }),
            "  scontrol update ExcNodeList=");
  EXPECT_EQ(command_for([](JobSpec& s) { s.begin = from_seconds(2'000'000); }),
            "  scontrol update StartTime=now");
  EXPECT_EQ(command_for([](JobSpec& s) { s.dependency = "afterok:1"; }),
            "  scontrol update Dependency=");
  EXPECT_EQ(command_for([](JobSpec& s) {
              s.num_tasks = 3;
              s.cpus_per_task = 6;
            }),
            "  scontrol update NumTasks=2");
  EXPECT_EQ(command_for([](JobSpec& s) {
              s.num_tasks = 0;
              s.min_nodes = 3;
              s.begin = from_seconds(2'000'000);
            }),
            "  scontrol update StartTime=now NumNodes=2");
  const auto released = command_for([](JobSpec& s) { s.hold = true; });
  EXPECT_EQ(released.substr(0, 18), "  scontrol release");
}

TEST_F(ExplainTest, ShorterLimitBeforeAnotherJobsStart) {
  w.up();
  JobSpec three = World::spec(24, 60);
  w.submit(three);
  w.pass();
  w.submit(World::spec(32, 60));
  const JobId id = w.submit(World::spec(1, 90));
  w.pass();
  const auto reply = explained(id);
  ASSERT_TRUE(reply.change) << all_lines(reply);
  EXPECT_EQ(reply.change->time_limit, Minutes{60});
  EXPECT_TRUE(says(reply, "1 is kept for jobs of higher priority (n4)."));
  EXPECT_TRUE(says(reply, "job 2 of ann is expected to start there at"));
  EXPECT_TRUE(says(reply, "TimeLimit=01:00:00"));
}

TEST_F(ExplainTest, OtherPartitionAndThrottle) {
  w.config.partitions[0].nodes = {"n1"};
  w.partition("other");
  w.up();
  w.submit(World::spec(8, 60));
  w.pass();
  const JobId id = w.submit(World::spec(1, 60));
  w.pass();
  auto reply = explained(id);
  ASSERT_TRUE(reply.change) << all_lines(reply);
  EXPECT_EQ(reply.change->partitions, "other");
  JobSpec array = World::spec(1, 60);
  array.partitions = "other";
  array.array = "0-9%1";
  const JobId tasks = w.submit(array);
  w.pass();
  reply = explained(tasks);
  ASSERT_TRUE(reply.change) << all_lines(reply);
  EXPECT_EQ(reply.change->array_max_running, 2U);
}

TEST_F(ExplainTest, WhatDoesNotWait) {
  w.up();
  const JobId id = w.submit(World::spec(1));
  EXPECT_TRUE(says(explained(id), "It will start with the next pass"));
  w.pass();
  EXPECT_TRUE(says(explained(id), "Job 1 of ann does not wait: it is RUNNING on n1 since"));
  EXPECT_EQ(explain(w.state, nullptr, "77", w.now).error().code, ErrorCode::kInvalidJobId);
  EXPECT_EQ(explain(w.state, nullptr, "x", w.now).error().code, ErrorCode::kInvalidJobId);
  w.set_node("n[1-4]", "down");
  const JobId stuck = w.submit(World::spec(1));
  w.pass();
  EXPECT_TRUE(says(explained(stuck), "No change to the job would let it start now."));
}

TEST_F(ExplainTest, WhyAJobFailed) {
  w.up();
  const JobId id = w.submit(World::spec(1));
  w.pass();
  protocol::StepEnded report;
  report.key = {{id, kBatchStep}, 0};
  report.nodes = "n1";
  report.failure = "Could not open stdout file /x/y: Permission denied";
  report.users_error = report.node_clean = true;
  ASSERT_TRUE(w.run(state::EndSteps{{report}}));
  EXPECT_TRUE(says(
      explained(id),
      "Job 1 of ann does not wait: it is FAILED: Could not open stdout file /x/y: Permission denied."));
}

TEST_F(ExplainTest, ItsLimitsAreKeptAndSaid) {
  w.up();
  w.submit(World::spec(8 * 4, 60));
  w.pass();
  const JobId id = w.submit(World::spec(20, 60));
  w.pass();
  ExplainLimits limits;
  limits.most_passes = 1;
  auto reply = explain(w.state, w.soft.get(), std::to_string(id), w.now, limits);
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->change);
  EXPECT_TRUE(says(*reply, "tries; not all could be tried")) << all_lines(*reply);
  limits.most_passes = 60;
  uint32_t asked = 0;
  limits.out_of_time = [&] { return ++asked > 2; };
  reply = explain(w.state, w.soft.get(), std::to_string(id), w.now, limits);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(says(*reply, "was found after 2 tries; not all could be tried")) << all_lines(*reply);
  limits.out_of_time = [] { return true; };
  reply = explain(w.state, w.soft.get(), std::to_string(id), w.now, limits);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(says(*reply, "Partition debug was not looked at: this took too long already."))
      << all_lines(*reply);
}

TEST_F(ExplainTest, OthersJobsAreNotNamedToThoseWhoMayNotSeeThem) {
  w.config.private_data = {"jobs"};
  w.up();
  w.submit(World::spec(8 * 4, 60));
  w.pass();
  JobSpec spec = World::spec(8, 10);
  spec.uid = 1002;
  spec.user_name = "bob";
  const JobId id = w.submit(spec);
  w.pass();
  ExplainLimits limits;
  limits.visible = state::VisibleJobs(w.state, 1002);
  const auto reply = explain(w.state, w.soft.get(), std::to_string(id), w.now, limits);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(says(*reply, "a job of another user on n[1-4] ends by")) << all_lines(*reply);
  EXPECT_FALSE(says(*reply, "ann")) << all_lines(*reply);
  EXPECT_EQ(explain(w.state, w.soft.get(), "1", w.now, limits).error().code,
            ErrorCode::kInvalidJobId);
}

// Random clusters and jobs: whatever change is named, made by its user or an administrator as said,
// lets the next pass start the job.
class RandomWorld {
 public:
  explicit RandomWorld(uint32_t seed) : random_(seed), world_(pick(1, 5), pick(1, 8)) {
    for (NodeConfig& node : world_.config.nodes) {
      if (pick(0, 2) == 0) node.features.push_back("a");
      if (pick(0, 2) == 0) node.features.push_back("b");
      node.tmp_disk_mib = pick(0, 1) * 100;
    }
    world_.config.licenses = "matlab:3";
    PartitionConfig& other = world_.partition("other");
    if (pick(0, 1) == 0) other.nodes.resize(1);
    other.max_time = pick(0, 1) == 0 ? kInfiniteMinutes : 30;
    if (pick(0, 4) == 0) other.over_subscribe = OverSubscribe::kForce;
    if (pick(0, 4) == 0) other.exclusive = ExclusiveMode::kUser;
    if (pick(0, 4) == 0) other.priority_tier = 5;
    world_.up();
    if (pick(0, 3) == 0) world_.set_node("n1", pick(0, 1) == 0 ? "drain" : "down");
    for (uint32_t n = pick(1, 12); n > 0; --n) submit();
    world_.pass();
    for (uint32_t n = pick(1, 6); n > 0; --n) submit();
    if (pick(0, 2) == 0) reserve();
    world_.pass();
  }

  void reserve() {
    protocol::ReservationValues values;
    values.start = world_.now + std::chrono::minutes(pick(0, 40));
    values.duration = std::chrono::minutes(pick(1, 200));
    values.nodes =
        pick(0, 1) == 0 ? "n1" : "n[1-" + std::to_string(world_.config.nodes.size()) + "]";
    values.add_flags = kReservationMaint | kReservationIgnoreJobs;
    values.users = protocol::NameList{"root"};
    EXPECT_TRUE(world_.run(state::ChangeReservation{
        {0, 0}, {protocol::ReservationAction::kCreate, "r", values}, {{"root", {0}}}}));
  }

  // "No change" is true of the change that helps beside a reservation.
  void expect_no_shorter_limit(JobId id, const protocol::ExplainReply& reply) {
    World after = world_;
    JobUpdate update;
    update.time_limit = 1;
    const uint32_t uid = after.job(id).spec->uid;
    if (!after.run(state::UpdateJob{{uid, uid}, std::to_string(id), update})) return;
    const std::string started = " " + after.pass();
    EXPECT_EQ(started.find(" " + std::to_string(id) + ":"), started.npos)
        << "timelimit=1 starts it\n"
        << all_lines(reply);
  }

  // How many jobs waited, and for how many of them a change was found.
  void check(uint32_t& waited, uint32_t& helped) {
    std::vector<JobId> pending;
    world_.state.pending.for_each([&](JobId id) { pending.push_back(id); });
    for (const JobId id : pending) {
      ++waited;
      const auto reply = explain(world_.state, world_.soft.get(), std::to_string(id), world_.now);
      ASSERT_TRUE(reply);
      ASSERT_GE(reply->lines.size(), 2U);
      ExplainLimits repairing;
      repairing.kept = world_.kept;
      const auto repaired =
          explain(world_.state, world_.soft.get(), std::to_string(id), world_.now, repairing);
      ASSERT_TRUE(repaired);
      EXPECT_EQ(all_lines(*repaired), all_lines(*reply));
      if (!reply->change) {
        expect_no_shorter_limit(id, *reply);
        continue;
      }
      ++helped;
      const bool by_admin = says(*reply, "An administrator can ");
      World after = world_;
      const uint32_t uid = by_admin ? 0 : after.job(id).spec->uid;
      ASSERT_TRUE(after.run(state::UpdateJob{{uid, uid}, std::to_string(id), *reply->change}))
          << all_lines(*reply);
      const std::string started = " " + after.pass();
      const bool it_is = started.find(" " + std::to_string(id) + ":") != started.npos ||
                         started.find(" " + std::to_string(id) + "_") != started.npos;
      EXPECT_TRUE(it_is) << "job " << id << " did not start, but" << started << "\n"
                         << all_lines(*reply);
    }
  }

 private:
  uint32_t pick(uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random_);
  }
  bool one_in(uint32_t n) { return pick(1, n) == 1; }

  void submit() {
    JobSpec spec = World::spec(pick(0, 10), pick(1, 60));
    spec.uid = 1001 + pick(0, 2);
    if (one_in(3)) spec.min_nodes = pick(1, 4);
    if (one_in(4)) spec.cpus_per_task = pick(1, 4);
    if (one_in(6)) spec.min_cpus_per_node = pick(1, 8);
    if (one_in(4)) spec.constraint = one_in(2) ? "a" : "a&b";
    if (one_in(6)) spec.sharing = Sharing::kExclusive;
    if (one_in(6)) spec.contiguous = true;
    if (one_in(6)) spec.required_nodes = "n1";
    if (one_in(8)) spec.excluded_nodes = "n1";
    if (one_in(8)) spec.tmp_disk_mib = 50;
    if (one_in(3)) {
      spec.memory_kind = one_in(2) ? MemoryKind::kPerNode : MemoryKind::kPerCpu;
      spec.memory_mib = pick(0, 900);
    }
    if (one_in(8)) spec.hold = true;
    if (one_in(8)) spec.begin = world_.now + std::chrono::hours(1);
    if (one_in(8)) spec.dependency = "afterany:1";
    if (one_in(5)) spec.partitions = one_in(2) ? "other" : "other,debug";
    if (one_in(6)) spec.array = one_in(2) ? "0-3%1" : "1-4";
    if (one_in(9)) spec.nice = 50;
    if (one_in(4)) spec.licenses = "matlab:" + std::to_string(pick(1, 3));
    world_.run(state::SubmitJob{{spec.uid, spec.uid}, spec, {}});  // some are refused
  }

  std::mt19937 random_;
  World world_;
};

TEST(Explain, TheChangeItNamesStartsTheJob) {
  uint32_t waited = 0, helped = 0;
  for (uint32_t seed = 1; seed <= 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWorld(seed).check(waited, helped);
  }
  EXPECT_GT(waited, 500U);
  EXPECT_GT(helped * 2, waited) << helped << " of " << waited;
}

TEST_F(ExplainTest, FewerLicensesOrNone) {
  w.config.licenses = "matlab:5";
  w.up();
  JobSpec spec = World::spec(1, 60);
  spec.licenses = "matlab:3";
  w.submit(spec);
  EXPECT_EQ(w.pass(), "1:n1");
  const JobId id = w.submit(spec);
  EXPECT_EQ(w.pass(), "");
  auto reply = explained(id);
  EXPECT_TRUE(says(reply, "You can ask for licenses matlab:2, and it can start now:"))
      << all_lines(reply);
  EXPECT_TRUE(says(reply, "scontrol update JobId=2 Licenses=matlab:2")) << all_lines(reply);
  spec.licenses = "matlab:2";
  w.submit(spec);
  w.pass();
  reply = explained(id);
  EXPECT_TRUE(says(reply, "You can ask for no licenses, and it can start now:"))
      << all_lines(reply);
}

TEST_F(ExplainTest, OutOfAReservationThatHasNotBegun) {
  w.up();
  protocol::ReservationValues values;
  values.start = w.now + std::chrono::hours(5);
  values.duration = std::chrono::hours(1);
  values.nodes = "n1";
  values.users = protocol::NameList{"ann"};
  ASSERT_TRUE(w.run(state::ChangeReservation{
      {0, 0}, {protocol::ReservationAction::kCreate, "r", values}, {{"ann", {1001}}}}));
  JobSpec spec = World::spec(1, 60);
  spec.reservation = "r";
  const JobId id = w.submit(spec);
  EXPECT_EQ(w.pass(), "");
  const auto reply = explained(id);
  EXPECT_TRUE(says(reply, "You can take it out of its reservation, and it can start now:"))
      << all_lines(reply);
}

TEST_F(ExplainTest, AShorterLimitBeforeAReservation) {
  w.up();
  protocol::ReservationValues values;
  values.start = w.now + std::chrono::minutes(5);
  values.duration = std::chrono::hours(1);
  values.nodes = "n[1-4]";
  values.add_flags = kReservationMaint;
  values.users = protocol::NameList{"root"};
  ASSERT_TRUE(w.run(state::ChangeReservation{
      {0, 0}, {protocol::ReservationAction::kCreate, "r", values}, {{"root", {0}}}}));
  const JobId id = w.submit(World::spec(1, 60));
  EXPECT_EQ(w.pass(), "");
  const auto reply = explained(id);
  ASSERT_TRUE(reply.change) << all_lines(reply);
  EXPECT_EQ(reply.change->time_limit, 5u) << all_lines(reply);
}

}  // namespace
}  // namespace sluice::sched
