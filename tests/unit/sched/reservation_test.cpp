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
    values.nodes = nodes;
    values.add_flags = flags;
    reserve(name, std::move(values), from, length, uid);
  }
  // So many cores in all, or of one node after the other.
  void reserve_cores(const std::string& name, std::vector<uint32_t> counts, Duration from,
                     Duration length) {
    protocol::ReservationValues values;
    values.core_counts = std::move(counts);
    reserve(name, std::move(values), from, length);
  }
  void reserve_licenses(const std::string& name, const std::string& licenses, Duration from,
                        Duration length) {
    protocol::ReservationValues values;
    values.licenses = licenses;
    values.add_flags = kReservationAnyNodes;
    reserve(name, std::move(values), from, length);
  }
  void reserve(const std::string& name, protocol::ReservationValues values, Duration from,
               Duration length, uint32_t uid = 1001) {
    values.start = now + from;
    values.duration = length;
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
  EXPECT_EQ(world.pass(), "3:n1 1:n2");
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

// The bug: a job of higher priority, which is to have the node when the reservation is over, kept a
// job of the reservation from it.
TEST(ReservedPass, ItsJobsGoBeforeAllOthers) {
  ReservedWorld world(1, 8);
  world.up();
  world.reserve("a", "n1", minutes(0), minutes(3));
  const JobId other = world.submit(World::spec(8, 30));
  world.submit(ReservedWorld::in("a", 8, 5));
  EXPECT_EQ(world.pass(), "2:n1");
  EXPECT_EQ(world.soft->find(other)->expected_start, world.now + minutes(5));
}

TEST(ReservedPass, FlexibleJobsBeginBeforeAndElsewhere) {
  ReservedWorld world(2, 8);
  world.up();
  world.reserve("a", "n2", minutes(30), minutes(60), kReservationFlex);
  world.submit(ReservedWorld::in("a", 8, 600));
  world.submit(ReservedWorld::in("a", 8, 600));
  EXPECT_EQ(world.pass(), "1:n2 2:n1") << "as in Slurm, its own nodes go first";
}

// The bug: it opened the nodes of a reservation that held now, though its own was for later.
TEST(ReservedPass, AFlexibleReservationOpensNothingOutOfItsTime) {
  ReservedWorld world(2, 8);
  world.up();
  world.reserve("a", "n[1-2]", minutes(0), minutes(60));
  world.reserve("flex", "n1", minutes(24 * 60), minutes(60), kReservationFlex);
  const JobId job = world.submit(ReservedWorld::in("flex", 8, 10));
  EXPECT_EQ(world.pass(), "");
  EXPECT_GE(world.soft->find(job)->expected_start, world.now + minutes(60));
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

// The bug: it was said to wait for jobs of a higher priority.
TEST(ReservedPass, AReservedNodeThatAJobNamesBehindOthers) {
  ReservedWorld world(2, 8);
  world.up();
  world.reserve("a", "n1", minutes(0), minutes(60));
  world.submit(World::spec(8, 10));
  const JobId first = world.submit(World::spec(8, 10));
  JobSpec spec = World::spec(1, 10);
  spec.required_nodes = "n1";
  const JobId waits = world.submit(spec);
  EXPECT_EQ(world.pass(), "1:n2");
  EXPECT_EQ(world.reason(first), JobReason::kResources);
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

JobSpec licensed(JobSpec spec, const std::string& licenses) {
  spec.licenses = licenses;
  return spec;
}

TEST(ReservedPass, LicensesAreKeptForItsJobs) {
  ReservedWorld world(2, 8);
  world.config.licenses = "foo:10";
  world.up();
  world.reserve_licenses("a", "foo:8", minutes(0), minutes(60));
  const JobId waits = world.submit(licensed(World::spec(1, 10), "foo:3"));
  world.submit(licensed(World::spec(1, 10), "foo:2"));
  world.submit(licensed(ReservedWorld::in("a", 1, 10), "foo:5"));
  EXPECT_EQ(world.pass(), "3:n1 2:n1") << "its jobs use any nodes";
  EXPECT_EQ(world.reason(waits), JobReason::kLicenses);
  EXPECT_EQ(world.soft->find(waits)->expected_start, world.now + minutes(60));
  const JobId more = world.submit(licensed(ReservedWorld::in("a", 1, 10), "foo:4"));
  world.submit(licensed(ReservedWorld::in("a", 1, 10), "foo:3"));
  EXPECT_EQ(world.pass(), "5:n1");
  EXPECT_EQ(world.soft->find(more)->expected_start, world.now + minutes(10));
}

TEST(ReservedPass, LicensesAreGivenBackBeforeItBegins) {
  ReservedWorld world(1, 8);
  world.config.licenses = "foo:4";
  world.up();
  world.reserve_licenses("a", "foo:4", minutes(30), minutes(60));
  const JobId longer = world.submit(licensed(World::spec(1, 31), "foo:1"));
  world.submit(licensed(World::spec(1, 30), "foo:1"));
  JobSpec shrinks = licensed(World::spec(1, 600), "foo:1");
  shrinks.time_min = 20;
  world.submit(shrinks);
  EXPECT_EQ(world.pass(), "2:n1 3:n1");
  EXPECT_EQ(world.job(3).time_limit, 30U) << "it is shortened";
  EXPECT_EQ(world.reason(longer), JobReason::kLicenses);
  EXPECT_EQ(world.soft->find(longer)->expected_start, world.now + minutes(90));
  world.submit(licensed(ReservedWorld::in("a", 1, 600), "foo:4"));
  world.pass_time(minutes(29));
  EXPECT_EQ(world.pass(), "") << "it has not begun";
  world.pass_time(minutes(2));
  EXPECT_EQ(world.pass(), "4:n1") << "it is over with the reservation";
}

TEST(ReservedPass, CoresOfANodeAreKeptForItsJobs) {
  ReservedWorld world(2, 4);
  world.up();
  world.reserve_cores("a", {3}, minutes(0), minutes(60));
  world.submit(World::spec(1, 10));
  const JobId wide = world.submit(ReservedWorld::in("a", 4, 10));
  world.submit(ReservedWorld::in("a", 2, 10));
  world.submit(World::spec(4, 10));
  JobSpec alone = World::spec(1, 10);
  alone.required_nodes = "n1";
  alone.sharing = Sharing::kExclusive;
  const JobId exclusive = world.submit(alone);
  EXPECT_EQ(world.pass(), "3:n1 1:n1 4:n2");
  EXPECT_EQ(world.job(1).allocation->nodes.front().cores.to_text(), "3");
  EXPECT_EQ(world.job(3).allocation->nodes.front().cores.to_text(), "0-1");
  EXPECT_EQ(world.soft->find(wide)->expected_start, kNoTime);
  EXPECT_EQ(world.soft->find(exclusive)->expected_start, world.now + minutes(60));
}

TEST(ReservedPass, CoresAreGivenBackBeforeItBegins) {
  ReservedWorld world(1, 4);
  world.up();
  world.reserve_cores("a", {2}, minutes(30), minutes(60));
  world.submit(World::spec(2, 600));
  world.submit(World::spec(2, 30));
  const JobId later = world.submit(World::spec(3, 10));
  EXPECT_EQ(world.pass(), "1:n1 2:n1");
  EXPECT_EQ(world.job(1).allocation->nodes.front().cores.to_text(), "2-3");
  EXPECT_EQ(world.soft->find(later)->expected_start, world.now + minutes(600));
  world.pass_time(minutes(31));
  world.clean(2);
  world.submit(World::spec(1, 10));
  world.submit(ReservedWorld::in("a", 2, 10));
  EXPECT_EQ(world.pass(), "5:n1");
}

TEST(ReservedPass, CoresOfSeveralReservationsStandBesideOneAnother) {
  ReservedWorld world(2, 4);
  world.up();
  world.reserve_cores("a", {2}, minutes(0), minutes(60));
  world.reserve_cores("b", {2}, minutes(0), minutes(60));
  world.reserve_cores("c", {1, 2}, minutes(120), minutes(60));
  world.submit(ReservedWorld::in("a", 2, 10));
  world.submit(ReservedWorld::in("b", 2, 10));
  EXPECT_EQ(world.pass(), "1:n1 2:n1");
  EXPECT_EQ(world.job(2).allocation->nodes.front().cores.to_text(), "2-3");
  const Reservation& third = world.state.reservations->back();
  ASSERT_EQ(third.cores.size(), 2U);
  EXPECT_EQ(third.cores[0].cores.count() + third.cores[1].cores.count(), 3U);
}

TEST(ReservedPass, CoresAreSharedWithinTheirReservation) {
  ReservedWorld world(1, 4);
  world.config.partitions.back().over_subscribe = OverSubscribe::kForce;
  world.config.partitions.back().over_subscribe_count = 2;
  world.up();
  world.reserve_cores("a", {2}, minutes(0), minutes(60));
  for (int n = 0; n < 2; ++n) world.submit(World::spec(2, 10));
  for (int n = 0; n < 2; ++n) world.submit(ReservedWorld::in("a", 2, 10));
  world.submit(World::spec(1, 10));
  EXPECT_EQ(world.pass(), "3:n1 4:n1 1:n1 2:n1");
  EXPECT_EQ(world.job(2).allocation->nodes.front().cores.to_text(), "2-3");
  EXPECT_EQ(world.job(4).allocation->nodes.front().cores.to_text(), "0-1");
}

// A job that is to have the node for its user alone does not hold up the reservation of others.
TEST(ReservedPass, CoresBesideUsersWhoAreAlone) {
  ReservedWorld world(2, 4);
  world.up();
  world.reserve_cores("a", {2}, minutes(0), minutes(60));
  JobSpec alone = World::spec(1, 10), inside = ReservedWorld::in("a", 1, 10);
  alone.sharing = inside.sharing = Sharing::kUser;
  alone.uid = 1002;
  world.submit(alone);
  world.submit(inside);
  EXPECT_EQ(world.pass(), "2:n1 1:n2");
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
