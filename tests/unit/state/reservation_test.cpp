// Reservations: made, changed, over, and what jobs meet in them.
#include "ctld/state/core/invariants.hpp"
#include "ctld/state/rules/reservations.hpp"

#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

using protocol::ListChange;
using protocol::NameList;
using protocol::ReservationAction;
using protocol::ReservationValues;
using std::chrono::hours;
using std::chrono::minutes;

class ReservationTest : public CoreTest {
 protected:
  // Ann's, for an hour from now.
  ReservationValues values(const std::string& nodes, ReservationFlags flags = 0) {
    ReservationValues out;
    out.start = now_;
    out.duration = hours(1);
    out.users = NameList{"ann"};
    out.nodes = nodes;
    out.add_flags = flags;
    return out;
  }
  Result<Reply> change(ReservationAction action, const std::string& name,
                       const ReservationValues& of, Identity who = kRoot) {
    return run(ChangeReservation{
        who,
        {action, name, of},
        {{"ann", {kAnn.uid}}, {"bob", {kBob.uid}}, {"both", {kAnn.uid, kBob.uid}}}});
  }
  ErrorCode make(const std::string& name, const ReservationValues& of) {
    const auto reply = change(ReservationAction::kCreate, name, of);
    return reply ? ErrorCode::kOk : reply.error().code;
  }
  ErrorCode update(const std::string& name, const ReservationValues& of) {
    const auto reply = change(ReservationAction::kUpdate, name, of);
    return reply ? ErrorCode::kOk : reply.error().code;
  }
  ErrorCode remove(const std::string& name, Identity who = kRoot) {
    const auto reply = change(ReservationAction::kDelete, name, {}, who);
    return reply ? ErrorCode::kOk : reply.error().code;
  }
  void pass(Duration time) {
    now_ += time;
    ASSERT_TRUE(run(Tick{}));
  }
  JobSpec spec_in(const std::string& reservation, Identity who = kAnn) {
    JobSpec spec = batch_spec();
    spec.uid = who.uid;
    spec.reservation = reservation;
    return spec;
  }
  const Reservation* found(const std::string& name) { return find_reservation(state_, name); }
  std::string nodes(const std::string& name) {
    return node_list(state_, nodes_of(state_, *found(name)));
  }
  // Whether the engine would take such a start.
  bool starts(JobId id, const std::string& node, const std::string& reservation) {
    BeginningJobs beginning(state_, now_);
    return beginning.may_begin(state_.jobs.at(id), reservation, allocation_on(node),
                               now_ + minutes(10));
  }
  // The job, which may run for ten hours, starts on one core there.
  void begin(JobId id, const std::string& node, const std::string& reservation) {
    JobStarted event{.record = id,
                     .partition = "debug",
                     .time_limit = 600,
                     .time = now_,
                     .end = now_ + hours(10)};
    auto allocation = std::make_shared<Allocation>(allocation_on(node));
    allocation->nodes[0].cores = Bitmap::first(1);
    allocation->nodes[0].cpus = allocation->cpus = 1;
    allocation->node_list = node;
    event.starts.push_back({kNoTask, id, allocation});
    event.reservation = reservation;
    sluice::state::apply(state_, event);
  }
  Allocation allocation_on(const std::string& node) {
    Allocation out;
    out.nodes.emplace_back();
    out.nodes.back().node = find_node(state_, node)->id;
    return out;
  }
};

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

TEST_F(ReservationTest, IsMadeAndNamedAfterItsUser) {
  const auto reply = change(ReservationAction::kCreate, "", values("n1"));
  ASSERT_TRUE(reply);
  EXPECT_EQ(std::get<ReservationReply>(*reply).name, "ann_1");
  EXPECT_EQ(nodes("ann_1"), "n1");
  EXPECT_EQ(found("ann_1")->flags, kReservationSpecNodes);
  EXPECT_TRUE(is_active(*found("ann_1"), now_));
  EXPECT_EQ(make("ann_1", values("n2")), ErrorCode::kDuplicateReservation);
}

TEST_F(ReservationTest, BadRequestsAreRefused) {
  EXPECT_EQ(make("a", values("n9")), ErrorCode::kInvalidNodeName);
  ReservationValues late = values("n1");
  late.start = now_ - hours(1);
  EXPECT_EQ(make("a", late), ErrorCode::kInvalidTime);
  ReservationValues stranger = values("n1");
  stranger.users = NameList{"nobody"};
  EXPECT_EQ(make("a", stranger), ErrorCode::kInvalidUser);
  ReservationValues mixed = values("n1");
  mixed.users = NameList{"ann,-bob"};
  EXPECT_EQ(make("a", mixed), ErrorCode::kInvalidAccount);
  ReservationValues elsewhere = values("n1");
  elsewhere.partition = "nope";
  EXPECT_EQ(make("a", elsewhere), ErrorCode::kInvalidPartition);
  elsewhere.partition = "";
  EXPECT_EQ(make("a", elsewhere), ErrorCode::kInvalidPartition);
  ReservationValues group = values("n1");
  group.users.reset();
  group.groups = NameList{"nobody"};
  EXPECT_EQ(make("a", group), ErrorCode::kInvalidGroup);
  group.users = NameList{"ann"};
  group.groups = NameList{"both"};
  EXPECT_EQ(make("a", group), ErrorCode::kReservationForBoth);
  ReservationValues featured = values("n1");
  featured.features = "nope";
  EXPECT_EQ(make("a", featured), ErrorCode::kInvalidFeature);
  const auto reply = change(ReservationAction::kCreate, "a", values("n1"), kAnn);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kInvalidUser);
  EXPECT_EQ(update("a", values("n1")), ErrorCode::kInvalidReservation);
  EXPECT_EQ(remove("a"), ErrorCode::kInvalidReservation);
}

TEST_F(ReservationTest, TwoDoNotOverlapUnlessTheyMay) {
  ASSERT_EQ(make("a", values("n[1-2]")), ErrorCode::kOk);
  EXPECT_EQ(make("b", values("n[2-3]")), ErrorCode::kReservationOverlap);
  ReservationValues later = values("n2");
  later.start = now_ + hours(1);
  EXPECT_EQ(make("c", later), ErrorCode::kOk);
  EXPECT_EQ(make("d", values("n2", kReservationMaint)), ErrorCode::kOk);
  ReservationValues daily = values("n4", kReservationDaily);
  ASSERT_EQ(make("e", daily), ErrorCode::kOk);
  ReservationValues next_week = values("n4");
  next_week.start = now_ + hours(24 * 7) + minutes(5);
  EXPECT_EQ(make("f", next_week), ErrorCode::kReservationOverlap);
  next_week.start = now_ + hours(24 * 7 + 12);
  EXPECT_EQ(make("f", next_week), ErrorCode::kOk);
}

// The bug: one could not be updated any more once another one was made to lie over it.
TEST_F(ReservationTest, OneThatIsOverlappedCanBeUpdated) {
  ASSERT_EQ(make("a", values("n1")), ErrorCode::kOk);
  ASSERT_EQ(make("over", values("n1", kReservationOverlap)), ErrorCode::kOk);
  ASSERT_EQ(make("b", values("n4")), ErrorCode::kOk);
  ReservationValues change;
  change.users = NameList{"bob", protocol::ListChange::kAdd};
  EXPECT_EQ(update("a", change), ErrorCode::kOk);
  change = {};
  change.duration = minutes(30);
  EXPECT_EQ(update("a", change), ErrorCode::kOk);
  change = {};
  change.nodes = "n[1-2]";
  EXPECT_EQ(update("a", change), ErrorCode::kOk);
  change.nodes = "n[3-4]";
  EXPECT_EQ(update("a", change), ErrorCode::kReservationOverlap);
  ASSERT_EQ(make("maint", values("n3", kReservationMaint)), ErrorCode::kOk);
  EXPECT_EQ(make("c", values("n3")), ErrorCode::kOk);
}

// Of any nodes no number is kept: licenses alone, or nodes that it names.
TEST_F(ReservationTest, ANumberOfAnyNodesIsNone) {
  ReservationValues any = values({}, kReservationAnyNodes);
  any.nodes.reset();
  any.node_count = 1;
  EXPECT_EQ(make("a", any), ErrorCode::kInvalidReservation);
  any.add_flags |= kReservationDaily;
  EXPECT_EQ(make("a", any), ErrorCode::kInvalidReservation);
  configure([](ClusterConfig& config) { config.licenses = "foo:2"; });
  any.licenses = "foo:1";
  EXPECT_EQ(make("a", any), ErrorCode::kOk);
  EXPECT_TRUE(found("a")->nodes.none());
  EXPECT_EQ(make("b", values("n1", kReservationAnyNodes)), ErrorCode::kOk);
}

// Accounts that accounting does not know, where it knows any.
TEST_F(ReservationTest, AccountsAreThoseOfAccounting) {
  ReservationValues of = values("n1");
  of.users.reset();
  of.accounts = NameList{"physics,nosuch"};
  EXPECT_EQ(make("before", of), ErrorCode::kOk) << "nobody knows which there are";
  AccountingRecords records;
  records.version = 1;
  records.accounts = {{.name = "physics"}, {.name = "chem"}};
  ASSERT_TRUE(run(FollowAccounting{records, {}}));
  of.nodes = "n2";
  EXPECT_EQ(make("a", of), ErrorCode::kInvalidAccount);
  of.accounts = NameList{"-nosuch"};
  EXPECT_EQ(make("a", of), ErrorCode::kInvalidAccount);
  of.accounts = NameList{"physics"};
  ASSERT_EQ(make("a", of), ErrorCode::kOk);
  ReservationValues change;
  for (const char* absent : {"nosuch", "chem"}) {
    change.accounts = NameList{absent, protocol::ListChange::kRemove};
    EXPECT_EQ(update("a", change), ErrorCode::kInvalidAccount) << absent;
  }
  change.accounts = NameList{"chem", protocol::ListChange::kAdd};
  EXPECT_EQ(update("a", change), ErrorCode::kOk);
}

TEST_F(ReservationTest, NodesAreChosenByNumber) {
  ReservationValues two = values("");
  two.nodes.reset();
  two.node_count = 2;
  ASSERT_TRUE(start_job(submit(batch_spec()), "n1"));
  ASSERT_EQ(make("a", two), ErrorCode::kOk);
  EXPECT_EQ(nodes("a"), "n[2-3]");  // n1 is in use
  EXPECT_EQ(found("a")->partition, "debug");
  EXPECT_EQ(make("b", two), ErrorCode::kNodesBusy);
  EXPECT_EQ(make("c", values("n1")), ErrorCode::kNodesBusy);
  EXPECT_EQ(make("c", values("n1", kReservationIgnoreJobs)), ErrorCode::kOk);
  ReservationValues one;
  one.node_count = 1;
  ASSERT_EQ(update("a", one), ErrorCode::kOk);
  EXPECT_EQ(nodes("a"), "n2");
}

TEST_F(ReservationTest, UpdateChangesListsFlagsAndTimes) {
  ReservationValues later = values("n1");
  later.start = now_ + hours(2);
  ASSERT_EQ(make("a", later), ErrorCode::kOk);
  ReservationValues more;
  more.users = NameList{"bob", ListChange::kAdd};
  more.add_flags = kReservationFlex;
  more.duration = minutes(30);
  ASSERT_EQ(update("a", more), ErrorCode::kOk);
  EXPECT_EQ(found("a")->users, "ann,bob");
  EXPECT_EQ(found("a")->end, now_ + hours(2) + minutes(30));
  EXPECT_TRUE(may_use(state_, *found("a"), kBob.uid, ""));
  ReservationValues less;
  less.users = NameList{"ann", ListChange::kRemove};
  less.remove_flags = kReservationFlex;
  ASSERT_EQ(update("a", less), ErrorCode::kOk);
  EXPECT_FALSE(may_use(state_, *found("a"), kAnn.uid, ""));
  EXPECT_EQ(found("a")->flags, kReservationSpecNodes);
  ReservationValues nobody;
  nobody.users = NameList{""};
  EXPECT_EQ(update("a", nobody), ErrorCode::kReservationForNobody);
  ReservationValues skip;
  skip.skip = true;
  EXPECT_EQ(update("a", skip), ErrorCode::kReservationNotSkipable);
  ASSERT_EQ(make("b", values("n2")), ErrorCode::kOk);
  ReservationValues start;
  start.start = now_ + hours(1);
  EXPECT_EQ(update("b", start), ErrorCode::kReservationStarted);
}

TEST_F(ReservationTest, AMovedStartKeepsTheLengthAndTheLengthCanBeChanged) {
  ReservationValues later = values("n1");
  later.start = now_ + hours(2);
  ASSERT_EQ(make("a", later), ErrorCode::kOk);
  ReservationValues start;
  start.start = now_ + hours(5);  // after its end
  ASSERT_EQ(update("a", start), ErrorCode::kOk);
  EXPECT_EQ(found("a")->start, now_ + hours(5));
  EXPECT_EQ(found("a")->end, now_ + hours(6));
  ReservationValues longer;
  longer.duration = minutes(30);
  longer.duration_change = ListChange::kAdd;
  ASSERT_EQ(update("a", longer), ErrorCode::kOk);
  EXPECT_EQ(found("a")->end, now_ + hours(6) + minutes(30));
  ReservationValues shorter;
  shorter.duration = minutes(20);
  shorter.duration_change = ListChange::kRemove;
  ASSERT_EQ(update("a", shorter), ErrorCode::kOk);
  EXPECT_EQ(found("a")->end, now_ + hours(6) + minutes(10));
  shorter.duration = minutes(70);
  EXPECT_EQ(update("a", shorter), ErrorCode::kInvalidTime);
  ReservationValues both;
  both.end = now_ + hours(9);
  both.duration = minutes(10);
  ASSERT_EQ(update("a", both), ErrorCode::kOk);
  EXPECT_EQ(found("a")->end, now_ + hours(5) + minutes(10));
}

TEST_F(ReservationTest, AllOfAPartitionIsWhatItHasAtAnyTime) {
  PartitionConfig other;
  other.nodes = {"n1", "n2"};
  ASSERT_TRUE(run(UpdatePartition{kRoot, protocol::PartitionAction::kCreate, "other", other}));
  ReservationValues of = values("");
  of.nodes.reset();
  of.partition = "other";
  ASSERT_EQ(make("a", of), ErrorCode::kOk);
  EXPECT_EQ(nodes("a"), "n[1-2]");
  EXPECT_EQ(found("a")->flags, kReservationSpecNodes | kReservationPartNodes);
  ReservationValues named;
  named.nodes = "n2";
  ASSERT_EQ(update("a", named), ErrorCode::kOk);
  EXPECT_EQ(nodes("a"), "n2");
  EXPECT_EQ(found("a")->flags, kReservationSpecNodes);
  ReservationValues all;
  all.add_flags = kReservationPartNodes;
  EXPECT_EQ(update("a", all), ErrorCode::kInvalidNodeName);
  ASSERT_EQ(make("b", values("n4")), ErrorCode::kOk);
  EXPECT_EQ(update("b", all), ErrorCode::kInvalidPartition);
}

TEST_F(ReservationTest, NamedNodesAreNotReplaced) {
  EXPECT_EQ(make("a", values("n1", kReservationReplace)), ErrorCode::kInvalidNodeName);
  ASSERT_EQ(make("a", values("n1")), ErrorCode::kOk);
  ReservationValues replace;
  replace.add_flags = kReservationReplaceDown;
  EXPECT_EQ(update("a", replace), ErrorCode::kNotSupported);
  replace.node_count = 1;
  EXPECT_EQ(update("a", replace), ErrorCode::kOk);
}

TEST_F(ReservationTest, IsForUsersOrForGroups) {
  ASSERT_EQ(make("a", values("n1")), ErrorCode::kOk);
  ReservationValues groups;
  groups.groups = NameList{"both"};
  EXPECT_EQ(update("a", groups), ErrorCode::kReservationForBoth);
  EXPECT_EQ(found("a")->users, "ann");
  groups.users = NameList{""};
  ASSERT_EQ(update("a", groups), ErrorCode::kOk);
  EXPECT_TRUE(may_use(state_, *found("a"), kBob.uid, ""));
  ReservationValues accounts = values("n2");
  accounts.accounts = NameList{"physics"};
  const auto reply = change(ReservationAction::kCreate, "", accounts);
  ASSERT_TRUE(reply);
  EXPECT_EQ(std::get<ReservationReply>(*reply).name, "physics_2");
}

TEST_F(ReservationTest, ListsMayNameWhoIsKeptOut) {
  ReservationValues others = values("n1");
  others.users = NameList{"-ann"};
  ASSERT_EQ(make("a", others), ErrorCode::kOk);
  EXPECT_FALSE(may_use(state_, *found("a"), kAnn.uid, ""));
  EXPECT_TRUE(may_use(state_, *found("a"), kBob.uid, ""));
  ReservationValues members = values("n2");
  members.users.reset();
  members.groups = NameList{"both"};
  members.accounts = NameList{"physics"};
  ASSERT_EQ(make("b", members), ErrorCode::kOk);
  EXPECT_TRUE(may_use(state_, *found("b"), kBob.uid, "physics"));
  EXPECT_FALSE(may_use(state_, *found("b"), kBob.uid, "other"));
  EXPECT_FALSE(may_use(state_, *found("b"), 7, "physics"));
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

// The sum of two wild numbers is no time, and must not be made.
TEST_F(ReservationTest, TimesThatAreNoneAreRefused) {
  ReservationValues wild = values("n1");
  wild.start = Time(Duration::max() - Duration(1));
  wild.duration = Duration::max();
  EXPECT_EQ(make("a", wild), ErrorCode::kInvalidTime);
  wild.start = kNever;
  wild.duration = kNever - Time();
  EXPECT_EQ(make("a", wild), ErrorCode::kInvalidTime);
  ASSERT_EQ(make("a", values("n1")), ErrorCode::kOk);
  ReservationValues longer;
  longer.duration_change = ListChange::kRemove;
  longer.duration = Duration::min();
  EXPECT_EQ(update("a", longer), ErrorCode::kInvalidTime);
  longer = {};
  longer.end = Time(Duration::min());
  EXPECT_EQ(update("a", longer), ErrorCode::kInvalidTime);
}

// No day is a Wednesday a week later and of a weekend: whoever looks for it would never come back.
TEST_F(ReservationTest, ComesAgainInOneWay) {
  EXPECT_EQ(make("a", values("n1", kReservationWeekly | kReservationWeekend)),
            ErrorCode::kInvalidTime);
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

TEST_F(ReservationTest, AllNodesOfAPartitionThatWasDeletedSince) {
  PartitionConfig other;
  other.nodes = {"n1"};
  ASSERT_TRUE(run(UpdatePartition{kRoot, protocol::PartitionAction::kCreate, "other", other}));
  ReservationValues of = values("n1");
  of.partition = "other";
  ASSERT_EQ(make("a", of), ErrorCode::kOk);
  ASSERT_TRUE(run(UpdatePartition{kRoot, protocol::PartitionAction::kDelete, "other", {}}));
  ReservationValues all;
  all.nodes = "ALL";
  EXPECT_EQ(update("a", all), ErrorCode::kInvalidPartition);
  EXPECT_EQ(nodes("a"), "n1");
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

TEST_F(ReservationTest, ItsUsersMayDeleteItWhenAllowed) {
  ASSERT_EQ(make("a", values("n1")), ErrorCode::kOk);
  ASSERT_EQ(make("b", values("n2", kReservationUserDelete)), ErrorCode::kOk);
  EXPECT_EQ(remove("a", kAnn), ErrorCode::kInvalidUser);
  EXPECT_EQ(remove("b", kBob), ErrorCode::kInvalidUser);
  EXPECT_EQ(remove("nosuch", kBob), ErrorCode::kInvalidUser)
      << "what there is not is not told apart";
  EXPECT_EQ(remove("b", kAnn), ErrorCode::kOk);
}

TEST_F(ReservationTest, StaysThroughACheckpoint) {
  ASSERT_EQ(make("a", values("n[1-2]", kReservationDaily)), ErrorCode::kOk);
  EXPECT_EQ(differences(state_, from_image(make_image(state_))), std::vector<std::string>{});
}

}  // namespace
}  // namespace sluice::state
