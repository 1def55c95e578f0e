// Reservations of licenses, and of cores of nodes: what is refused, and what is kept.
#include "ctld/state/rules/licenses.hpp"

#include "support/reservation_fixture.hpp"

namespace sluice::state {
namespace {

using protocol::NameList;
using protocol::ReservationAction;
using protocol::ReservationValues;
using std::chrono::hours;
using std::chrono::minutes;

class ReservedPartsTest : public ReservationTest {
 protected:
  ReservedPartsTest() {
    configure([](ClusterConfig& config) { config.licenses = "foo:10,bar:2"; });
  }
  // Ann's, for an hour, so long from now.
  ReservationValues values(Duration from = {}) {
    ReservationValues out;
    out.start = now_ + from;
    out.duration = hours(1);
    out.users = NameList{"ann"};
    return out;
  }
  ReservationValues licenses(const std::string& text, Duration from = {}) {
    ReservationValues out = values(from);
    out.licenses = text;
    out.add_flags = kReservationAnyNodes;
    return out;
  }
  ReservationValues cores(std::vector<uint32_t> counts, const std::string& nodes = {}) {
    ReservationValues out = values();
    out.core_counts = std::move(counts);
    if (!nodes.empty()) out.nodes = nodes;
    return out;
  }
  std::string refusal(const ReservationValues& of) {
    const auto reply = change(ReservationAction::kCreate, "refused", of);
    return reply ? "" : reply.error().text;
  }
  // "n1:0-1 n2:0"
  std::string cores_of(const std::string& name) {
    std::string out;
    for (const auto& [node, part] : hold_of(state_, *find_reservation(state_, name)).cores) {
      out += (out.empty() ? "" : " ") + state_.nodes.at(node).name + ":" + part.to_text();
    }
    return out;
  }
  uint64_t lacking(const std::string& licenses, const std::string& own, Duration length) {
    JobSpec spec = batch_spec();
    spec.licenses = licenses;
    const LicensePool pool(state_, now_);
    return pool.lacking(spec, {find_reservation(state_, own), now_ + length}).size();
  }
};

TEST_F(ReservedPartsTest, LicensesThatAreNotThereAreRefused) {
  for (const char* text : {"nope:1", "foo:11", "foo:x", "foo:5,foo:6"})
    EXPECT_EQ(make("a", licenses(text)), ErrorCode::kInvalidLicense) << text;
  ReservationValues without = licenses("foo:1");
  without.add_flags = 0;
  EXPECT_EQ(make("a", without), ErrorCode::kInvalidNodeName) << "it names no nodes";
  ASSERT_EQ(make("a", licenses("foo:6")), ErrorCode::kOk);
  EXPECT_TRUE(find_reservation(state_, "a")->nodes.none());
  EXPECT_EQ(make("b", licenses("foo:5")), ErrorCode::kInvalidLicense) << "at the same time";
  EXPECT_EQ(make("b", licenses("foo:5", hours(1))), ErrorCode::kOk);
  ReservationValues more;
  more.licenses = "foo:11";
  EXPECT_EQ(update("a", more), ErrorCode::kInvalidLicense);
  more.licenses = "";
  EXPECT_EQ(update("a", more), ErrorCode::kInvalidLicense) << "it would have nothing";
  more.licenses.reset();
  more.duration = hours(2);
  EXPECT_EQ(update("a", more), ErrorCode::kInvalidLicense) << "it would meet the other one";
  more.licenses = "bar:1";
  EXPECT_EQ(update("a", more), ErrorCode::kOk);
  EXPECT_EQ(find_reservation(state_, "a")->licenses, "bar:1");
}

TEST_F(ReservedPartsTest, LicensesAreKeptNowAndLater) {
  ASSERT_EQ(make("a", licenses("foo:8")), ErrorCode::kOk);
  ASSERT_EQ(make("b", licenses("bar:2", hours(2))), ErrorCode::kOk);
  EXPECT_EQ(lacking("foo:3", "", minutes(5)), 1U);
  EXPECT_EQ(lacking("foo:2", "", minutes(5)), 0U);
  EXPECT_EQ(lacking("foo:10", "a", minutes(5)), 0U);
  EXPECT_EQ(lacking("bar:1", "", hours(2)), 0U);
  EXPECT_EQ(lacking("bar:1", "", hours(3)), 1U);
  EXPECT_EQ(lacking("bar:1", "a", hours(3)), 0U) << "it ends with its reservation";
  const LicensePool pool(state_, now_);
  EXPECT_EQ(pool.reserved("foo"), 8U);
  EXPECT_EQ(pool.reserved("bar"), 0U);
  EXPECT_EQ(pool.used("foo"), 0U);
}

TEST_F(ReservedPartsTest, CoresAreChosen) {
  ASSERT_EQ(make("a", cores({2}, "n1")), ErrorCode::kOk);
  EXPECT_EQ(cores_of("a"), "n1:0-1");
  EXPECT_EQ(find_reservation(state_, "a")->partition, "debug");
  EXPECT_EQ(make("b", cores({7}, "n1")), ErrorCode::kNodesBusy);
  ASSERT_EQ(make("b", cores({1}, "n1")), ErrorCode::kOk);
  EXPECT_EQ(cores_of("b"), "n1:2");
  ReservationValues two = cores({3});
  two.node_count = 2;
  ASSERT_EQ(make("c", two), ErrorCode::kOk);
  EXPECT_EQ(cores_of("c"), "n1:3-4 n2:0-1");
  ReservationValues whole = values();
  whole.nodes = "n1";
  EXPECT_EQ(make("d", whole), ErrorCode::kReservationOverlap);
  whole.nodes = "n4";
  ASSERT_EQ(make("d", whole), ErrorCode::kOk);
  EXPECT_EQ(make("e", cores({1}, "n4")), ErrorCode::kReservationOverlap);
  EXPECT_EQ(make("e", cores({100})), ErrorCode::kNodesBusy);
  EXPECT_EQ(make("e", cores({0})), ErrorCode::kNodesBusy);
}

TEST_F(ReservedPartsTest, WholeSocketsAreChosenWhereJobsGetThem) {
  configure([](ClusterConfig& config) {
    config.select_type_parameters = {"CR_SOCKET"};
    for (NodeConfig& node : config.nodes) node.sockets = 2, node.cores_per_socket = 4;
  });
  ASSERT_EQ(make("a", cores({1}, "n1")), ErrorCode::kOk);
  EXPECT_EQ(cores_of("a"), "n1:0-3");
  ASSERT_EQ(make("b", cores({1}, "n1")), ErrorCode::kOk);
  EXPECT_EQ(cores_of("b"), "n1:4-7");
  EXPECT_EQ(make("c", cores({1}, "n1")), ErrorCode::kNodesBusy);
}

TEST_F(ReservedPartsTest, CoresThatJobsUseAreNotChosen) {
  ASSERT_TRUE(start_job(submit(batch_spec()), "n1", 2));
  ASSERT_EQ(make("a", cores({2}, "n1")), ErrorCode::kOk);
  EXPECT_EQ(cores_of("a"), "n1:2-3");
  EXPECT_EQ(make("b", cores({5}, "n1")), ErrorCode::kNodesBusy);
  ReservationValues anyhow = cores({5}, "n1");
  anyhow.add_flags = kReservationIgnoreJobs;
  EXPECT_EQ(make("b", anyhow), ErrorCode::kOk);
}

TEST_F(ReservedPartsTest, CoresOfAFailedNodeAreReplacedUntilItBegins) {
  ReservationValues two = cores({2});
  two.node_count = 2;
  two.start = now_ + hours(1);
  ASSERT_EQ(make("later", two), ErrorCode::kOk);
  two.add_flags = kReservationStatic;
  ASSERT_EQ(make("stays", two), ErrorCode::kOk);
  two.add_flags = 0;
  two.start = now_;
  ASSERT_EQ(make("runs", two), ErrorCode::kOk);
  ReservationValues named = cores({1}, "n1");
  named.start = now_ + hours(1);
  ASSERT_EQ(make("named", named), ErrorCode::kOk);
  EXPECT_EQ(cores_of("later"), "n1:0 n2:0");
  ASSERT_TRUE(run(node_update("n1", "DOWN", "test")));
  now_ += minutes(1);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(cores_of("later"), "n2:0 n3:0");
  EXPECT_EQ(node_list(state_, find_reservation(state_, "later")->nodes), "n[2-3]");
  EXPECT_EQ(cores_of("stays"), "n1:1 n2:1");
  EXPECT_EQ(cores_of("runs"), "n1:0 n2:0");
  EXPECT_EQ(cores_of("named"), "n1:2");
}

TEST_F(ReservedPartsTest, BadCoreCountsAreRefused) {
  EXPECT_EQ(refusal(cores({2}, "n[1-2]")),
            "Core count for reservation node list is not consistent!");
  EXPECT_EQ(make("a", cores({2, 2}, "n1")), ErrorCode::kNodesBusy);
  ReservationValues replaced = cores({1});
  replaced.add_flags = kReservationReplace;
  EXPECT_EQ(refusal(replaced), "CPU count specification invalid");
  ASSERT_EQ(make("a", cores({2}, "n1")), ErrorCode::kOk);
  ReservationValues more;
  more.core_counts = {1};
  const auto reply = change(ReservationAction::kUpdate, "a", more);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().text, "Core-based reservation can not be updated");
  ReservationValues longer;
  longer.duration = hours(2);
  EXPECT_EQ(update("a", longer), ErrorCode::kOk);
}

// The engine takes a start on cores that are nobody else's, and no other.
TEST_F(ReservedPartsTest, StartsAreBoundedByCores) {
  ASSERT_EQ(make("a", cores({2}, "n1")), ErrorCode::kOk);
  JobSpec in = batch_spec();
  in.reservation = "a";
  const JobId inside = submit(in), outside = submit(batch_spec());
  const auto may_begin = [&](JobId id, const std::string& own, size_t core) {
    Allocation on;
    on.nodes.emplace_back();
    on.nodes.back().node = find_node(state_, "n1")->id;
    on.nodes.back().cores.set(core);
    BeginningJobs beginning(state_, now_);
    return beginning.may_begin(state_.jobs.at(id), own, on, now_ + minutes(10));
  };
  EXPECT_TRUE(may_begin(inside, "a", 0));
  EXPECT_FALSE(may_begin(inside, "a", 2));
  EXPECT_FALSE(may_begin(outside, "", 1));
  EXPECT_TRUE(may_begin(outside, "", 3));
}

}  // namespace
}  // namespace sluice::state
