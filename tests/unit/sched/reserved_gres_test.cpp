// Reservations of generic resources in a pass: units, which are told apart, and counts.
#include "ctld/state/rules/reservations.hpp"
#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

using std::chrono::minutes;

struct GresWorld : World {
  // Two nodes of 8 CPUs, with GPUs that have files, and a bandwidth that is only counted.
  GresWorld() : World(2, 8) {
    config.gres_types = {"gpu", "bandwidth"};
    for (NodeConfig& node : config.nodes) node.gres = "gpu:a:2,gpu:b:2,bandwidth:10";
    devices = {{"gpu", "a", 2, {"/dev/a0", "/dev/a1"}, "", "", {}},
               {"gpu", "b", 2, {"/dev/b0", "/dev/b1"}, "", "", {}},
               {"bandwidth", "", 10, {}, "", "", {}}};
    up();
  }
  Result<state::Reply> change(protocol::ReservationAction action, const std::string& name,
                              const protocol::ReservationValues& values) {
    return run(state::ChangeReservation{{0, 0}, {action, name, values}, {{"user", {1001}}}});
  }
  static protocol::ReservationValues gres(const std::string& all, const std::string& each = {}) {
    protocol::ReservationValues values;
    if (!all.empty()) values.gres = all;
    if (!each.empty()) values.gres_per_node = each;
    return values;
  }
  std::string make(const std::string& name, protocol::ReservationValues values, Duration from = {},
                   Duration length = minutes(60)) {
    values.start = now + from;
    values.duration = length;
    values.users = protocol::NameList{"user"};
    const auto reply = change(protocol::ReservationAction::kCreate, name, values);
    return reply ? parts(name) : "error " + std::to_string(static_cast<int>(reply.error().code));
  }
  std::string update(const std::string& name, const protocol::ReservationValues& values) {
    const auto reply = change(protocol::ReservationAction::kUpdate, name, values);
    return reply ? parts(name) : "error " + std::to_string(static_cast<int>(reply.error().code));
  }
  // "n1 gpu:a:2(IDX:0-1) n2 …"
  std::string parts(const std::string& name) const {
    std::string out;
    const state::NodeHold hold = state::hold_of(state, *state::find_reservation(state, name));
    hold.parts().for_each([&](size_t id) {
      const auto node = static_cast<NodeId>(id);
      out += (out.empty() ? "" : " ") + state.nodes.at(node).name;
      if (hold.gres.contains(node)) out += " " + gres_text(hold.gres.at(node), true);
      if (hold.cores.contains(node)) out += " cores " + hold.cores.at(node).to_text();
    });
    return out;
  }
  static JobSpec asks(const std::string& each, Minutes limit = 10, const std::string& in = {}) {
    JobSpec made = spec(1, limit);
    made.gres = each;
    made.reservation = in;
    return made;
  }
  std::string held(JobId id) const {
    return gres_text(job(id).allocation->nodes.front().gres, true);
  }
  Time forecast(JobId id) const { return soft->find(id)->expected_start; }
};

constexpr int kBusy = static_cast<int>(ErrorCode::kNodesBusy);

TEST(ReservedGres, UnitsAreChosenOnAsFewNodesAsThereMayBe) {
  GresWorld w;
  EXPECT_EQ(w.make("a", GresWorld::gres("gpu:3")), "n1 gpu:a:2(IDX:0-1),gpu:b:1(IDX:2)");
  EXPECT_EQ(w.make("b", GresWorld::gres("gpu:b:2")), "n2 gpu:b:2(IDX:2-3)");
  EXPECT_EQ(w.make("c", GresWorld::gres("gpu:3")), "n1 gpu:b:1(IDX:3) n2 gpu:a:2(IDX:0-1)");
  EXPECT_EQ(w.make("d", GresWorld::gres("gpu:1")), "error " + std::to_string(kBusy));
  EXPECT_NE(w.make("d", GresWorld::gres("gpu:1"), minutes(60)).find("gpu"), std::string::npos)
      << "when the others are over";
}

// The bug: a job without an end held the engine for minutes, by the calendar of one that comes
// again.
TEST(ReservedGres, CountsOfOneThatComesAgainAreLeftToEachOccurrence) {
  GresWorld w;
  protocol::ReservationValues values = GresWorld::gres("bandwidth:4");
  values.nodes = "n1";
  values.add_flags = kReservationDaily;
  EXPECT_EQ(w.make("daily", values, minutes(60), minutes(10)), "n1 bandwidth(CNT:4)");
  JobSpec much = GresWorld::asks("bandwidth:7", 20'000 * 24 * 60);
  JobSpec little = GresWorld::asks("bandwidth:6", 20'000 * 24 * 60);
  much.required_nodes = little.required_nodes = "n1";
  w.submit(little);
  EXPECT_EQ(w.pass(), "1:n1");
  w.finish(1);
  w.submit(much);
  EXPECT_EQ(w.pass(), "");
  much.time_limit = 50;
  w.submit(much);
  EXPECT_EQ(w.pass(), "3:n1") << "it is over before";
}

TEST(ReservedGres, OfEachNode) {
  GresWorld w;
  protocol::ReservationValues values = GresWorld::gres("", "gpu:a:1,bandwidth:4");
  values.node_count = 2;
  values.core_counts = {3};
  EXPECT_EQ(w.make("a", values),
            "n1 gpu:a:1(IDX:0),bandwidth(CNT:4) cores 0-1 n2 gpu:a:1(IDX:0),bandwidth(CNT:4) "
            "cores 0-1");
  protocol::ReservationValues named = GresWorld::gres("gpu:a:1");
  named.nodes = "n2";
  EXPECT_EQ(w.make("b", named), "n2 gpu:a:1(IDX:1)");
  EXPECT_EQ(w.make("c", named), "error " + std::to_string(kBusy));
  EXPECT_EQ(w.make("c", GresWorld::gres("nope:1")),
            "error " + std::to_string(static_cast<int>(ErrorCode::kInvalidGres)));
}

TEST(ReservedGres, OthersKeepOffTheUnitsAndItsOwnHaveNoMore) {
  GresWorld w;
  protocol::ReservationValues three = GresWorld::gres("gpu:3");
  three.nodes = "n1";
  ASSERT_EQ(w.make("a", three), "n1 gpu:a:2(IDX:0-1),gpu:b:1(IDX:2)");
  JobSpec outside = GresWorld::asks("gpu:2"), inside = GresWorld::asks("gpu:2", 10, "a");
  outside.required_nodes = "n1";
  const JobId waits = w.submit(outside);
  outside.gres = "gpu:1";
  const JobId starts = w.submit(outside);
  const JobId own = w.submit(inside), later = w.submit(inside);
  w.pass();
  EXPECT_EQ(w.held(starts), "gpu:b:1(IDX:3)");
  EXPECT_EQ(w.held(own), "gpu:a:2(IDX:0-1)");
  EXPECT_EQ(w.forecast(waits), w.now + minutes(60)) << "when the reservation is over";
  EXPECT_EQ(w.forecast(later), w.now + minutes(10));
  JobSpec plain = World::spec(6, 10);
  plain.required_nodes = "n1";
  const JobId cpus = w.submit(plain);
  plain.sharing = Sharing::kExclusive;
  const JobId alone = w.submit(plain);
  w.pass();
  EXPECT_EQ(w.job(cpus).state, JobState::kRunning) << "cores are nobody's";
  EXPECT_EQ(w.job(alone).state, JobState::kPending);
  EXPECT_GE(w.forecast(alone), w.now + minutes(60));
}

TEST(ReservedGres, UnitsAreGivenBackBeforeItBegins) {
  GresWorld w;
  protocol::ReservationValues four = GresWorld::gres("gpu:4");
  four.nodes = "n1";
  ASSERT_NE(w.make("a", four, minutes(30)), "");
  JobSpec asks = GresWorld::asks("gpu:4", 31);
  asks.required_nodes = "n1";
  const JobId longer = w.submit(asks);
  asks.time_limit = 30;
  const JobId shorter = w.submit(asks);
  w.pass();
  EXPECT_EQ(w.job(shorter).state, JobState::kRunning);
  EXPECT_EQ(w.forecast(longer), w.now + minutes(90));
}

// Of what is only counted so many are gone for others, whether its own jobs use them or not.
TEST(ReservedGres, CountsAreKept) {
  GresWorld w;
  protocol::ReservationValues six = GresWorld::gres("bandwidth:6");
  six.nodes = "n1";
  ASSERT_EQ(w.make("a", six), "n1 bandwidth(CNT:6)");
  JobSpec outside = GresWorld::asks("bandwidth:3"),
          inside = GresWorld::asks("bandwidth:4", 20, "a");
  outside.required_nodes = "n1";
  const JobId first = w.submit(outside), second = w.submit(outside);
  const JobId own = w.submit(inside), later = w.submit(inside);
  w.pass();
  EXPECT_EQ(w.job(first).state, JobState::kRunning);
  EXPECT_EQ(w.forecast(second), w.now + minutes(10)) << "one is free, and two of the reservation's";
  EXPECT_EQ(w.job(own).state, JobState::kRunning);
  EXPECT_EQ(w.forecast(later), w.now + minutes(20));
  w.now += minutes(1);
  outside.gres = "bandwidth:1";
  const JobId small = w.submit(outside);
  w.pass();
  EXPECT_EQ(w.job(small).state, JobState::kRunning);
}

// A plan that was made before the reservation is looked at again.
TEST(ReservedGres, AStartIsCheckedAgain) {
  GresWorld w;
  JobSpec outside = GresWorld::asks("gpu:2,bandwidth:5");
  outside.required_nodes = "n1";
  w.submit(outside);
  const auto refused = [&](const std::string& kept, Duration from) {
    GresWorld other;
    other.submit(outside);
    const Plan plan = plan_pass(other.state, make_policies(other.state), other.now);
    EXPECT_EQ(plan.starts.size(), 1U);
    protocol::ReservationValues values = GresWorld::gres(kept);
    values.nodes = "n1";
    other.make("a", values, from);
    const auto reply = other.run(state::StartJobs{plan.starts});
    return std::get<state::StartedReply>(*reply).dropped == 1;
  };
  EXPECT_TRUE(refused("gpu:3", {}));
  EXPECT_TRUE(refused("gpu:3", minutes(9)));
  EXPECT_FALSE(refused("gpu:3", minutes(10)));
  EXPECT_TRUE(refused("bandwidth:6", {}));
  EXPECT_FALSE(refused("bandwidth:5", {}));
  EXPECT_TRUE(refused("bandwidth:6", minutes(9)));
  EXPECT_FALSE(refused("bandwidth:6", minutes(10)));
}

TEST(ReservedGres, AnUpdateKeepsItsUnits) {
  GresWorld w;
  ASSERT_EQ(w.make("x", GresWorld::gres("gpu:1")), "n1 gpu:a:1(IDX:0)");
  ASSERT_EQ(w.make("a", GresWorld::gres("gpu:2")), "n1 gpu:a:1(IDX:1),gpu:b:1(IDX:2)");
  w.submit(GresWorld::asks("gpu:2", 10, "a"));
  EXPECT_EQ(w.pass(), "1:n1");
  EXPECT_EQ(w.update("a", GresWorld::gres("gpu:3")), "n1 gpu:a:1(IDX:1),gpu:b:2(IDX:2-3)");
  EXPECT_EQ(w.update("a", GresWorld::gres("gpu:1")), "n1 gpu:a:1(IDX:1)");
  protocol::ReservationValues two = GresWorld::gres("", "gpu:1");
  two.node_count = 2;
  EXPECT_EQ(w.update("a", two), "n1 gpu:a:1(IDX:1) n2 gpu:a:1(IDX:0)");
  protocol::ReservationValues longer;
  longer.duration = minutes(90);
  EXPECT_EQ(w.update("a", longer), "n1 gpu:a:1(IDX:1) n2 gpu:a:1(IDX:0)");
}

TEST(ReservedGres, ANodeThatFailsIsReplaced) {
  GresWorld w;
  protocol::ReservationValues values = GresWorld::gres("gpu:3,bandwidth:2");
  values.core_counts = {2};
  ASSERT_EQ(w.make("a", values, minutes(30)),
            "n1 gpu:a:2(IDX:0-1),gpu:b:1(IDX:2),bandwidth(CNT:2) cores 0-1");
  w.set_node("n1", "down");
  w.pass_time(std::chrono::seconds(1));
  EXPECT_EQ(w.parts("a"), "n2 gpu:a:2(IDX:0-1),gpu:b:1(IDX:2),bandwidth(CNT:2) cores 0-1");
  w.set_node("n1", "resume");
  w.pass_time(minutes(30));
  w.set_node("n2", "down");
  w.pass_time(std::chrono::seconds(1));
  EXPECT_EQ(w.parts("a").substr(0, 2), "n2") << "not once it has begun";
}

}  // namespace
}  // namespace sluice::sched
