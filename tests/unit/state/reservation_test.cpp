// Reservations: made, changed, refused.
#include "support/reservation_fixture.hpp"

namespace sluice::state {
namespace {

using protocol::ListChange;
using protocol::NameList;
using protocol::ReservationAction;
using protocol::ReservationValues;
using std::chrono::hours;
using std::chrono::minutes;

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

// The bug: the list of who may became one of who may not, and all others might.
TEST_F(ReservationTest, AMinusBeforeANameTakesItFromTheList) {
  ReservationValues made = values("n1");
  made.users = NameList{"ann,bob"};
  ASSERT_EQ(make("a", made), ErrorCode::kOk);
  ReservationValues less;
  less.users = NameList{"-bob"};
  ASSERT_EQ(update("a", less), ErrorCode::kOk);
  EXPECT_EQ(found("a")->users, "ann");
  EXPECT_EQ(update("a", less), ErrorCode::kInvalidUser);
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

TEST_F(ReservationTest, ItsUsersMayDeleteItWhenAllowed) {
  ASSERT_EQ(make("a", values("n1")), ErrorCode::kOk);
  ASSERT_EQ(make("b", values("n2", kReservationUserDelete)), ErrorCode::kOk);
  EXPECT_EQ(remove("a", kAnn), ErrorCode::kInvalidUser);
  EXPECT_EQ(remove("b", kBob), ErrorCode::kInvalidUser);
  EXPECT_EQ(remove("nosuch", kBob), ErrorCode::kInvalidUser)
      << "what there is not is not told apart";
  EXPECT_EQ(remove("b", kAnn), ErrorCode::kOk);
}

}  // namespace
}  // namespace sluice::state
