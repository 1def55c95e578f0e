// Reservations in a pass.
#include "world.hpp"

namespace sluice::sched {
namespace {

using std::chrono::minutes;

struct ReservedWorld : World {
  using World::World;
  // For user 1001 unless said otherwise.
  void reserve(const std::string& name, const std::string& nodes, Duration from, Duration length,
               ReservationFlags flags = 0, uint32_t uid = 1001) {
    protocol::ReservationValues values;
    values.start = now + from;
    values.duration = length;
    values.nodes = nodes;
    values.add_flags = flags;
    values.users = protocol::NameList{"user"};
    const auto reply = run(state::ChangeReservation{
        {0, 0}, {protocol::ReservationAction::kCreate, name, values}, {{"user", {uid}}}});
    EXPECT_TRUE(reply) << (reply ? "" : reply.error().text);
  }
  static JobSpec in(const std::string& name, uint32_t tasks, Minutes limit) {
    JobSpec made = spec(tasks, limit);
    made.reservation = name;
    return made;
  }
  std::string detail(JobId id) const {
    const SchedulerHints* found = soft ? soft->find(id) : nullptr;
    return found == nullptr ? "" : found->reason_detail.str();
  }
};

TEST(ReservedPass, OthersKeepOutAndItsOwnComeIn) {
  ReservedWorld world(2, 8);
  world.up();
  world.reserve("a", "n1", minutes(0), minutes(60));
  world.submit(World::spec(8, 10));
  const JobId waits = world.submit(World::spec(8, 10));
  world.submit(ReservedWorld::in("a", 8, 10));
  EXPECT_EQ(world.pass(), "1:n2 3:n1");
  EXPECT_EQ(world.job(3).reservation, "a");
  EXPECT_EQ(world.job(1).reservation, "");
  EXPECT_EQ(world.reason(waits), JobReason::kResources);
}

TEST(ReservedPass, JobsEndBeforeItBegins) {
  ReservedWorld world(1, 8);
  world.up();
  world.reserve("a", "n1", minutes(30), minutes(60));
  const JobId longer = world.submit(World::spec(2, 31));
  world.submit(World::spec(2, 29));
  JobSpec shrinks = World::spec(2, 600);
  shrinks.time_min = 20;
  EXPECT_EQ(world.pass(), "2:n1");
  EXPECT_EQ(world.reason(longer), JobReason::kReqNodeNotAvail);
  EXPECT_EQ(world.detail(longer), "ReqNodeNotAvail, May be reserved for other job");
  EXPECT_EQ(world.soft->find(longer)->expected_start, world.now + minutes(90));
}

// The engine must take what the pass plans, else both would go on for ever.
TEST(ReservedPass, JobsWithoutALimitBeginLongBeforeIt) {
  ReservedWorld world(1, 8);
  world.up();
  world.reserve("a", "n1", std::chrono::hours(24 * 400), minutes(60));
  JobSpec endless = World::spec(1, 0);
  endless.time_limit = kInfiniteMinutes;
  world.submit(endless);
  EXPECT_EQ(world.pass(), "1:n1");
}

TEST(ReservedPass, ItsJobsWaitForItToBegin) {
  ReservedWorld world(2, 8);
  world.up();
  world.reserve("a", "n2", minutes(30), minutes(60));
  const JobId waits = world.submit(ReservedWorld::in("a", 1, 10));
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.reason(waits), JobReason::kReservation);
  world.pass_time(minutes(31));
  EXPECT_EQ(world.pass(), "1:n2");
}

TEST(ReservedPass, WhomItLetsInNoMoreWaitsInVain) {
  ReservedWorld world(2, 8);
  world.up();
  world.reserve("a", "n2", minutes(0), minutes(60));
  const JobId waits = world.submit(ReservedWorld::in("a", 1, 10));
  Reservations changed = *world.state.reservations;
  changed.front().users = "bob";
  changed.front().uids = {1002};
  changed.front().groups.clear();
  world.state.reservations = std::make_shared<const Reservations>(std::move(changed));
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.reason(waits), JobReason::kReservationInvalid);
}

TEST(ReservedPass, FlexibleJobsBeginBeforeAndElsewhere) {
  ReservedWorld world(2, 8);
  world.up();
  world.reserve("a", "n2", minutes(30), minutes(60), kReservationFlex);
  world.submit(ReservedWorld::in("a", 8, 600));
  world.submit(ReservedWorld::in("a", 8, 600));
  EXPECT_EQ(world.pass(), "1:n1 2:n2");
}

TEST(ReservedPass, MagneticOnesDrawJobs) {
  ReservedWorld world(2, 8);
  world.up();
  world.reserve("a", "n2", minutes(0), minutes(60), kReservationMagnetic);
  world.submit(World::spec(8, 10));
  world.submit(World::spec(8, 10));
  EXPECT_EQ(world.pass(), "1:n2 2:n1");
  EXPECT_EQ(world.job(1).reservation, "a");
}

TEST(ReservedPass, MaintenanceClosesOtherReservationsToo) {
  ReservedWorld world(1, 8);
  world.up();
  world.reserve("a", "n1", minutes(0), minutes(60));
  world.reserve("m", "n1", minutes(20), minutes(20), kReservationMaint, 0);
  const JobId longer = world.submit(ReservedWorld::in("a", 1, 30));
  world.submit(ReservedWorld::in("a", 1, 10));
  EXPECT_EQ(world.pass(), "2:n1");
  EXPECT_EQ(world.detail(longer), "ReqNodeNotAvail, Reserved for maintenance");
}

// The bug: maintenance of another node was named.
TEST(ReservedPass, ANodeInAReservationThatIsNoMaintenance) {
  ReservedWorld world(2, 8);
  world.up();
  world.reserve("a", "n1", minutes(0), minutes(60));
  world.reserve("m", "n2", minutes(0), minutes(60), kReservationMaint);
  JobSpec spec = World::spec(1, 10);
  spec.required_nodes = "n1";
  const JobId waits = world.submit(spec);
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.detail(waits), "ReqNodeNotAvail, May be reserved for other job");
}

TEST(ReservedPass, ArraysAndSeveralNames) {
  ReservedWorld world(2, 2);
  world.up();
  world.reserve("a", "n1", minutes(60), minutes(60));
  world.reserve("b", "n2", minutes(0), minutes(60));
  JobSpec array = ReservedWorld::in("a,b", 1, 10);
  array.array = "0-3";
  world.submit(array);
  EXPECT_EQ(world.pass(), "1_0:n2 1_1:n2");
}

// It was given up after 500 moments, and others started past the job for ever.
TEST(ReservedPass, AJobKeepsItsNodesHoweverManyEndsThereAre) {
  for (const bool het : {false, true}) {
    ReservedWorld world(40, 16);
    world.up();
    world.reserve("later", "n1", minutes(60 * 24 * 300), minutes(60));
    for (uint32_t i = 0; i < 640; ++i) world.submit(World::spec(1, 100 + i));
    world.pass();
    JobSpec wide = World::spec(0, 10);
    wide.min_nodes = wide.max_nodes = het ? 18 : 36;  // free when 576 jobs have ended
    wide.sharing = Sharing::kExclusive;
    state::SubmitJob command{{1001, 1001}, wide, {}};
    if (het) command.components = {wide};
    ASSERT_TRUE(world.run(command));
    world.pass();
    const SchedulerHints* soft = world.soft->find(641);
    ASSERT_NE(soft, nullptr);
    EXPECT_NE(soft->expected_start, kNoTime) << "of several components: " << het;
    EXPECT_NE(soft->planned_nodes, "") << "of several components: " << het;
    EXPECT_LE(soft->expected_start, world.now + minutes(100 + 640));
    for (JobId id = 1; id <= 40; ++id) world.finish(id);  // the first to end, of one node or two
    world.submit(World::spec(1, 60 * 24 * 200));
    const std::string started = world.pass();
    const JobId longer = het ? 643 : 642;
    EXPECT_EQ(started.find(std::to_string(longer) + ":"), std::string::npos)
        << "past the one that waits: " << started;
  }
}

}  // namespace
}  // namespace sluice::sched
