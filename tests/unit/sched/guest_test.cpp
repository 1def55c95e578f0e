// Jobs of --signal=R: that are in a reservation's nodes, and leave them (MaxStartDelay).
#include "preempting_world.hpp"

namespace sluice::sched {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

struct GuestWorld : PreemptingWorld {
  using PreemptingWorld::PreemptingWorld;
  void reserve(Duration from, Duration max_start_delay, ReservationFlags flags = 0) {
    protocol::ReservationValues values;
    values.start = now + from;
    values.duration = minutes(60);
    values.nodes = "n1";
    values.add_flags = flags;
    values.max_start_delay = max_start_delay;
    values.users = protocol::NameList{"user"};
    const auto reply = run(state::ChangeReservation{
        {0, 0}, {protocol::ReservationAction::kCreate, "r", values}, {{"user", {1001}}}});
    EXPECT_TRUE(reply) << (reply ? "" : reply.error().text);
  }
  // A job of the reservation, of the same tier.
  static JobSpec own() {
    JobSpec made = spec(8, 10);
    made.reservation = "r";
    return made;
  }
  static JobSpec guest(uint32_t seconds_before, bool gives_way = true) {
    JobSpec made = spec(8, 60);
    made.signal = 10;
    made.signal_seconds = seconds_before;
    made.signal_reservation = gives_way;
    return made;
  }
};

TEST(Guests, GuestsOfAReservationBeginIfTheyCanLeaveSoonEnough) {
  GuestWorld world(1, 8);
  world.up();
  world.reserve(minutes(10), minutes(2));
  world.submit(GuestWorld::guest(60, false));
  world.submit(GuestWorld::guest(121));
  world.submit(GuestWorld::guest(120));
  EXPECT_EQ(world.pass(), "3:n1");
}

TEST(Guests, AGuestLeavesWhenAJobOfTheReservationComes) {
  GuestWorld world(1, 8);
  world.up();
  world.reserve(minutes(10), minutes(2));
  const JobId guest = world.submit(GuestWorld::guest(90));
  EXPECT_EQ(world.pass(), "1:n1");
  world.pass_time(minutes(10));
  EXPECT_EQ(world.pass() + world.leave, "");
  world.submit(GuestWorld::own());
  world.pass();
  EXPECT_EQ(world.leave, "1 for 2");
  EXPECT_EQ(world.job(guest).state, JobState::kRunning);
  EXPECT_EQ(world.job(guest).end, world.now + seconds(90));
  world.pass_time(seconds(90));
  EXPECT_EQ(world.job(guest).state, JobState::kPreempted);
  world.clean(guest);
  EXPECT_EQ(world.pass(), "2:n1");
}

TEST(Guests, WhoWaitsForTheReservationsEndIsNotInTheWay) {
  GuestWorld world(1, 8);
  world.up();
  world.reserve(minutes(10), minutes(2));
  world.submit(GuestWorld::guest(121));  // keeps the node for the time after the reservation
  world.submit(GuestWorld::guest(90));
  EXPECT_EQ(world.pass(), "2:n1");
  world.pass_time(minutes(10));
  world.submit(GuestWorld::own());
  world.pass();
  EXPECT_EQ(world.leave, "2 for 3");
}

// The bug: each had the other one leave, for ever.
// The bug: with MaxStartDelay a reservation was moved over jobs that do not leave.
TEST(Guests, AReservationIsMovedOverGuestsAlone) {
  GuestWorld world(1, 8);
  world.up();
  world.reserve(minutes(120), minutes(2));
  protocol::ReservationValues sooner;
  sooner.start = world.now + minutes(10);
  const auto move = [&] {
    return world.run(
        state::ChangeReservation{{0, 0}, {protocol::ReservationAction::kUpdate, "r", sooner}, {}});
  };
  const JobId other = world.submit(GuestWorld::guest(60, false));
  EXPECT_EQ(world.pass(), "1:n1");
  const auto refused = move();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNodesBusy);
  world.finish(other);
  world.submit(GuestWorld::guest(60));
  EXPECT_EQ(world.pass(), "2:n1");
  EXPECT_TRUE(move());
}

TEST(Guests, AGuestOfAHigherTierLeavesTheReservationsJobsAlone) {
  GuestWorld world(1, 8);
  world.up();
  world.reserve(minutes(10), minutes(2));
  world.pass_time(minutes(10));
  world.submit(GuestWorld::own());
  EXPECT_EQ(world.pass(), "1:n1");
  JobSpec guest = GuestWorld::guest(90);
  guest.partitions = "high";
  world.submit(guest);
  EXPECT_EQ(world.pass() + world.leave, "");
  EXPECT_EQ(world.running(), "1 ");
}

// The bug: where nobody is preempted otherwise, or is left alone for a while, a guest stayed for
// ever.
TEST(Guests, TheyLeaveWhateverPreemptionSays) {
  for (int way = 0; way < 5; ++way) {
    GuestWorld world(1, 8);
    if (way == 0) world.config.preempt_type = "preempt/none";
    if (way == 1) world.low().preempt_mode = PreemptMode::kOff;
    if (way == 2) world.config.preempt_exempt_time = minutes(600);
    if (way == 3) world.config.preempt_mode = PreemptMode::kSuspend;
    if (way == 4) world.config.preempt_mode = PreemptMode::kOff;
    world.up();
    world.reserve(minutes(10), minutes(2));
    JobSpec spec = GuestWorld::guest(90);
    spec.requeue = Toggle::kYes;
    const JobId guest = world.submit(spec);
    EXPECT_EQ(world.pass(), "1:n1") << way;
    world.pass_time(minutes(10));
    EXPECT_EQ(world.pass() + world.leave, "") << way;
    world.submit(GuestWorld::own());
    world.pass();
    EXPECT_EQ(world.leave, "1 for 2") << way;
    EXPECT_EQ(world.job(guest).state, JobState::kRunning) << way;
    EXPECT_EQ(world.job(guest).end, world.now + seconds(90)) << way;
    world.pass_time(seconds(90));
    EXPECT_TRUE(is_completing(world.job(guest))) << way;
    const bool cancelled = way == 2;  // PreemptMode=CANCEL is in force
    EXPECT_EQ((world.job(guest).flags & kJobRequeued) != 0, !cancelled) << way;
    world.clean(guest);
    EXPECT_EQ(world.pass(), "2:n1") << way;
    EXPECT_EQ(world.job(guest).state, cancelled ? JobState::kPreempted : JobState::kPending);
  }
}

TEST(Guests, OneThatMayNotBeRequeuedIsEnded) {
  GuestWorld world(1, 8);
  world.config.preempt_type = "preempt/none";
  world.up();
  world.reserve(minutes(0), minutes(2));
  JobSpec spec = GuestWorld::guest(0);
  spec.requeue = Toggle::kNo;
  world.submit(spec);
  EXPECT_EQ(world.pass(), "1:n1");
  world.submit(GuestWorld::own());
  world.pass();
  EXPECT_EQ(world.leave, "1 for 2");
  EXPECT_EQ(world.job(1).state, JobState::kPreempted);
}

// All of it goes, though only one component was let in, and none of them could be suspended.
TEST(Guests, HeterogeneousOnesLeaveAsAWhole) {
  for (const PreemptMode mode : {PreemptMode::kSuspend, PreemptMode::kOff}) {
    GuestWorld world(2, 8);
    world.config.preempt_mode = mode;
    world.up();
    world.reserve(minutes(0), minutes(2));
    JobSpec inside = GuestWorld::guest(0), outside = World::spec(8, 60);
    inside.required_nodes = "n1";
    state::SubmitJob het{{1001, 1001}, outside, {}, {inside}};
    ASSERT_TRUE(world.run(het));
    EXPECT_EQ(world.pass(), "1:n2 2:n1");
    const JobId own = world.submit(GuestWorld::own());
    world.pass();
    EXPECT_NE(world.leave, "");
    EXPECT_TRUE(is_completing(world.job(1)));
    EXPECT_TRUE(is_completing(world.job(2)));
    world.clean(1);
    world.clean(2);
    EXPECT_EQ(world.pass(), std::to_string(own) + ":n1");
  }
}

// Its jobs may have other nodes: who runs on those was not let in by it.
TEST(Guests, OfAFlexibleReservationTheyAreInItsNodes) {
  GuestWorld world(2, 8);
  world.config.preempt_type = "preempt/none";
  world.up();
  world.reserve(minutes(0), minutes(2), kReservationFlex);
  JobSpec beside = GuestWorld::guest(0);
  beside.required_nodes = "n2";
  world.submit(beside);
  EXPECT_EQ(world.pass(), "1:n2");
  JobSpec own = GuestWorld::own();
  own.required_nodes = "n2";
  world.submit(own);
  world.pass();
  EXPECT_EQ(world.leave, "");
}

TEST(Guests, OthersAreNone) {
  GuestWorld world(1, 8);
  world.low().preempt_mode = PreemptMode::kOff;
  world.up();
  world.submit(GuestWorld::guest(121));
  EXPECT_EQ(world.pass(), "1:n1");
  world.reserve(minutes(0), minutes(2), kReservationIgnoreJobs);
  world.submit(GuestWorld::own());
  world.pass();
  EXPECT_EQ(world.leave, "");
}

}  // namespace
}  // namespace sluice::sched
