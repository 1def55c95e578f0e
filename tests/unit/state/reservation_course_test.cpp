// The course of a reservation: what jobs meet in it, how it is over and comes again.
#include "common/format/reservation_keys.hpp"
#include "ctld/state/core/invariants.hpp"

#include "support/reservation_fixture.hpp"

namespace sluice::state {
namespace {

using protocol::ReservationValues;
using std::chrono::hours;
using std::chrono::minutes;

// What is remembered for one start is not what holds for another.
TEST_F(ReservationTest, StartsOfOnePlanAreBoundedEachByItsOwn) {
  ASSERT_EQ(make("a", values("n1")), ErrorCode::kOk);
  ReservationValues later = values("n2");
  later.start = now_ + hours(2);
  ASSERT_EQ(make("b", later), ErrorCode::kOk);
  const JobId first = submit(spec_in("a")), second = submit(batch_spec());
  const Job& in = state_.jobs.at(first);
  const Job& out = state_.jobs.at(second);
  BeginningJobs beginning(state_, now_);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(beginning.may_begin(in, "a", allocation_on("n1"), now_ + minutes(10)));
    EXPECT_FALSE(beginning.may_begin(in, "a", allocation_on("n2"), now_ + minutes(10)));
    EXPECT_FALSE(beginning.may_begin(out, "", allocation_on("n1"), now_ + minutes(10)));
    EXPECT_TRUE(beginning.may_begin(out, "", allocation_on("n2"), now_ + minutes(10)));
    EXPECT_FALSE(beginning.may_begin(out, "", allocation_on("n2"), now_ + hours(3)));
    EXPECT_TRUE(beginning.may_begin(out, "", allocation_on("n3"), now_ + hours(3)));
  }
}

TEST_F(ReservationTest, JobsAreCheckedAgainstIt) {
  ASSERT_EQ(make("a", values("n[1-2]")), ErrorCode::kOk);
  EXPECT_EQ(error_of(SubmitJob{kAnn, spec_in("nope"), {}}), ErrorCode::kInvalidReservation);
  EXPECT_EQ(error_of(SubmitJob{kBob, spec_in("a", kBob), {}}), ErrorCode::kReservationAccess);
  JobSpec large = spec_in("a");
  large.min_nodes = large.max_nodes = 3;
  EXPECT_EQ(error_of(SubmitJob{kAnn, large, {}}), ErrorCode::kNodesNotAvailable);
  JobSpec elsewhere = spec_in("a");
  elsewhere.required_nodes = "n3";
  EXPECT_EQ(error_of(SubmitJob{kAnn, elsewhere, {}}), ErrorCode::kNodesNotAvailable);
  const JobId in = submit(spec_in("a"));
  const JobId out = submit(batch_spec());
  EXPECT_TRUE(starts(in, "n1", "a"));
  EXPECT_FALSE(starts(in, "n3", "a"));
  EXPECT_FALSE(starts(in, "n1", ""));
  EXPECT_FALSE(starts(out, "n1", ""));
  EXPECT_FALSE(starts(out, "n1", "a"));
  EXPECT_TRUE(starts(out, "n3", ""));
  EXPECT_EQ(remove("a"), ErrorCode::kReservationInUse);
}

TEST_F(ReservationTest, WhatNeverFitsIsRefusedOnceItHasBegun) {
  ASSERT_EQ(make("a", values("n[1-2]")), ErrorCode::kOk);
  JobSpec many = spec_in("a");
  // there are more nodes than these
  many.num_tasks = 2 * find_node(state_, "n1")->config->cpus + 1;
  JobSpec without = spec_in("a");
  without.excluded_nodes = "n[1-2]";
  EXPECT_EQ(error_of(SubmitJob{kAnn, many, {}}), ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(error_of(SubmitJob{kAnn, without, {}}), ErrorCode::kNodesNotAvailable);
  without.excluded_nodes = "n1";
  EXPECT_EQ(error_of(SubmitJob{kAnn, without, {}}), ErrorCode::kOk);
  ReservationValues later = values("n3");
  later.start = now_ + hours(2);
  ASSERT_EQ(make("b", later), ErrorCode::kOk);
  many.reservation = "b";
  EXPECT_EQ(error_of(SubmitJob{kAnn, many, {}}), ErrorCode::kOk)
      << "it may get more nodes before it begins";
  many.reservation = "a,b";
  EXPECT_EQ(error_of(SubmitJob{kAnn, many, {}}), ErrorCode::kOk);
}

TEST_F(ReservationTest, TheEndEndsItsJobsAndHoldsThoseThatWait) {
  ASSERT_EQ(make("a", values("n1")), ErrorCode::kOk);
  ASSERT_EQ(make("b", values("n2", kReservationNoHold)), ErrorCode::kOk);
  const JobId runs = submit(spec_in("a"));
  const JobId waits = submit(spec_in("a"));
  const JobId goes_on = submit(spec_in("b"));
  begin(runs, "n1", "a");
  pass(minutes(59));
  EXPECT_EQ(state_.jobs.at(runs).state, JobState::kRunning);
  pass(minutes(2));
  EXPECT_EQ(state_.jobs.at(runs).state, JobState::kTimeout);
  EXPECT_NE(found("a"), nullptr);  // its job still holds the node
  EXPECT_EQ(found("b"), nullptr);
  EXPECT_TRUE(state_.jobs.at(goes_on).spec->reservation.empty());
  EXPECT_EQ(state_.jobs.at(goes_on).hold, HoldKind::kNone);
  ASSERT_TRUE(cleaned(runs, "n1"));
  pass(minutes(1));
  EXPECT_EQ(found("a"), nullptr);
  EXPECT_EQ(state_.jobs.at(waits).hold, HoldKind::kUser);
  EXPECT_EQ(state_.jobs.at(waits).reason, JobReason::kReservationDeleted);
  EXPECT_EQ(state_.jobs.at(waits).state_description, "Reservation a was deleted");
  EXPECT_TRUE(state_.jobs.at(waits).spec->reservation.empty())
      << "released, it would wait for what never comes";
}

TEST_F(ReservationTest, NothingOfADeletedOneIsShownOfAJobThatWasReleased) {
  ASSERT_EQ(make("a", values("n1")), ErrorCode::kOk);
  const JobId first = submit(spec_in("a")), second = submit(spec_in("a"));
  pass(hours(2));
  ASSERT_EQ(state_.jobs.at(first).flags, kJobReservationDeletedHold);
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(first), protocol::JobAction::kRelease}));
  EXPECT_EQ(state_.jobs.at(first).flags, 0U);
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(second), 0, protocol::kSignalCancel}));
  EXPECT_EQ(state_.jobs.at(second).state, JobState::kCancelled);
  EXPECT_EQ(state_.jobs.at(second).flags, 0U) << "RESV_DEL_HOLD would show in place of CANCELLED";
}

// No day is a Wednesday a week later and of a weekend: whoever looked for it would never come back.
// Of several ways the most frequent one counts.
TEST_F(ReservationTest, ComesAgainInOneWay) {
  const auto after = [](ReservationFlags flags) {
    const Time start = from_seconds(1'790'000'000);
    return next_occurrence(start, flags) - start;
  };
  EXPECT_EQ(after(kReservationWeekly), hours(7 * 24));
  EXPECT_LE(after(kReservationWeekly | kReservationWeekend), hours(6 * 24));
  EXPECT_EQ(after(kReservationWeekly | kReservationDaily | kReservationWeekend), hours(24));
  EXPECT_EQ(after(kReservationWeekly | kReservationHourly), hours(1));
  EXPECT_EQ(make("c", values("n3", kReservationWeekly | kReservationWeekend)), ErrorCode::kOk);
  EXPECT_EQ(make("a", values("n1", kReservationDaily | kReservationTimeFloat)),
            ErrorCode::kNotSupported);
  ASSERT_EQ(make("a", values("n1", kReservationTimeFloat)), ErrorCode::kOk);
  ReservationValues daily;
  daily.add_flags = kReservationDaily;
  EXPECT_EQ(update("a", daily), ErrorCode::kNotSupported)
      << "one that is always so far away has no days";
  ASSERT_EQ(make("b", values("n2", kReservationDaily)), ErrorCode::kOk);
  ReservationValues weekly;
  weekly.add_flags = kReservationWeekly;
  EXPECT_EQ(update("b", weekly), ErrorCode::kOk);
  EXPECT_EQ(found("b")->flags & kReservationRecurs, kReservationWeekly);
}

TEST_F(ReservationTest, ResvOverRunLetsJobsGoOn) {
  const auto allow = [this](Minutes over_run) {
    configure([&](ClusterConfig& config) { config.resv_over_run = over_run; });
  };
  allow(5);
  ASSERT_EQ(make("a", values("n1")), ErrorCode::kOk);
  const JobId id = submit(spec_in("a"));
  begin(id, "n1", "a");
  pass(minutes(64));
  EXPECT_EQ(state_.jobs.at(id).state, JobState::kRunning);
  allow(kInfiniteMinutes);
  pass(minutes(100));
  EXPECT_EQ(state_.jobs.at(id).state, JobState::kRunning);
  allow(5);
  pass(minutes(1));
  EXPECT_EQ(state_.jobs.at(id).state, JobState::kTimeout);
}

TEST_F(ReservationTest, ComesAgain) {
  ASSERT_EQ(make("a", values("n1", kReservationDaily)), ErrorCode::kOk);
  const Time first = found("a")->start;
  EXPECT_TRUE(overlaps(*found("a"), first + hours(47), first + hours(49), now_));
  EXPECT_FALSE(overlaps(*found("a"), first + hours(30), first + hours(40), now_));
  pass(hours(2));
  EXPECT_EQ(found("a")->start, first + hours(24));
  ReservationValues skip;
  skip.skip = true;
  ASSERT_EQ(update("a", skip), ErrorCode::kOk);
  EXPECT_EQ(found("a")->start, first + hours(48));
  EXPECT_EQ(remove("a"), ErrorCode::kOk);
}

TEST_F(ReservationTest, ProgramsAreRunWhenItBeginsAndWhenItIsOver) {
  configure([](ClusterConfig& config) { config.values["ResvEpilog"] = "/epilog"; });
  const auto programs = [&] {
    std::string out;
    for (const RunReservationProgram& one : effects<RunReservationProgram>())
      out += one.reservation + (one.begins ? "+" : "-");
    return out;
  };
  ReservationValues of = values("n1", kReservationDaily);
  of.start = now_ + minutes(1);
  ASSERT_EQ(make("a", of), ErrorCode::kOk);
  pass(minutes(0));
  EXPECT_EQ(programs(), "");
  pass(minutes(1));
  EXPECT_EQ(programs(), "a+");
  pass(minutes(1));
  EXPECT_EQ(programs(), "") << "once";
  pass(hours(1));
  EXPECT_EQ(programs(), "a-");
  pass(hours(23));
  EXPECT_EQ(programs(), "a+");
  ReservationValues skip;
  skip.skip = true;
  ASSERT_EQ(update("a", skip), ErrorCode::kOk);
  EXPECT_EQ(programs(), "a-");
  ASSERT_EQ(make("b", values("n2")), ErrorCode::kOk);
  pass(minutes(0));
  EXPECT_EQ(programs(), "b+");
  ASSERT_EQ(remove("b"), ErrorCode::kOk);
  EXPECT_EQ(programs(), "") << "it was deleted";
  ASSERT_EQ(make("c", values("n2")), ErrorCode::kOk);
  pass(minutes(59));
  EXPECT_EQ(programs(), "c+");
  pass(minutes(1));
  EXPECT_EQ(programs(), "c-");
  EXPECT_EQ(found("c"), nullptr);
}

TEST_F(ReservationTest, FloatsBeforeTheClock) {
  ReservationValues soon = values("n1", kReservationTimeFloat);
  soon.start = now_ + minutes(30);
  ASSERT_EQ(make("a", soon), ErrorCode::kOk);
  const JobId out = submit(batch_spec());
  EXPECT_TRUE(starts(out, "n1", ""));  // gone in time
  pass(hours(3));
  EXPECT_FALSE(is_active(*found("a"), now_));
  EXPECT_EQ(period_of(*found("a"), now_).start, now_ + minutes(30));
}

TEST_F(ReservationTest, IdleOnesGoAndDownNodesAreReplaced) {
  ReservationValues purge = values("n1", kReservationPurge);
  purge.purge_after = minutes(5);
  ASSERT_EQ(make("a", purge), ErrorCode::kOk);
  ReservationValues two = values("", kReservationReplaceDown);
  two.nodes.reset();
  two.node_count = 2;
  ASSERT_EQ(make("b", two), ErrorCode::kOk);
  EXPECT_EQ(nodes("b"), "n[2-3]");
  ASSERT_TRUE(run(node_update("n2", "DOWN", "test")));
  pass(minutes(1));
  EXPECT_EQ(nodes("b"), "n[3-4]");
  pass(minutes(4));
  EXPECT_NE(found("a"), nullptr);
  pass(minutes(2));
  EXPECT_EQ(found("a"), nullptr);
}

TEST_F(ReservationTest, StaysThroughACheckpoint) {
  ASSERT_EQ(make("a", values("n[1-2]", kReservationDaily)), ErrorCode::kOk);
  EXPECT_EQ(differences(state_, from_image(make_image(state_))), std::vector<std::string>{});
}

}  // namespace
}  // namespace sluice::state
