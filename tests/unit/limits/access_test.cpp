// Whom partitions and reservations let in by account and QOS.
#include "ctld/state/rules/reservations.hpp"
#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

TEST_F(AccountingTest, PartitionsThatOnlySomeAccountsAndQosMayUse) {
  configure([](ClusterConfig& config) {
    config.enforce_part_limits = EnforcePartLimits::kAny;
    config.partitions[0].allow_accounts = {"chem"};
  });
  EXPECT_EQ(refusal(batch_spec()).code, ErrorCode::kInvalidAccount);
  configure([](ClusterConfig& config) { config.partitions[0].allow_accounts = {"physics"}; });
  EXPECT_NE(submit(batch_spec()), kNoJob);
  configure([](ClusterConfig& config) {
    config.partitions[0].allow_accounts = {};
    config.partitions[0].deny_qos = {"normal"};
  });
  EXPECT_EQ(refusal(batch_spec()).code, ErrorCode::kInvalidQos);
}

// Flags of a QOS open a partition for its jobs.
TEST_F(AccountingTest, AQosPassesOverLimitsOfThePartition) {
  configure([](ClusterConfig& config) {
    config.partitions[0].max_time = 10;
    config.partitions[0].max_nodes = 1;
  });
  JobSpec spec = batch_spec();
  spec.time_limit = 20;
  const JobId id = submit(spec);
  EXPECT_EQ(plan(id), "PartitionTimeLimit");
  qos(kNormal).flags = kQosPartitionTimeLimit;
  follow();
  EXPECT_EQ(plan(id), "starts");
  spec.min_nodes = spec.max_nodes = 2;
  const JobId wide = submit(spec);
  EXPECT_EQ(plan(wide), "PartitionNodeLimit");
  qos(kNormal).flags |= kQosPartitionMaxNodes;
  follow();
  EXPECT_EQ(plan(wide), "starts");
}

TEST_F(AccountingTest, AllowAccountsHasThoseBelow) {
  configure([](ClusterConfig& config) { config.partitions[0].allow_accounts = {"root"}; });
  EXPECT_NE(submit(batch_spec()), kNoJob);
}

TEST_F(AccountingTest, DenyAccountsHasThoseBelowAndCapitalsDoNotCount) {
  const auto denied = [&](auto member, const char* name) {
    configure([&](ClusterConfig& config) {
      config.enforce_part_limits = EnforcePartLimits::kAll;
      PartitionConfig& partition = config.partitions[0];
      partition.deny_accounts = partition.allow_accounts = {};
      partition.deny_qos = partition.allow_qos = {};
      partition.*member = {name};
    });
    return !run(SubmitJob{kAnn, batch_spec(), {"users"}}).has_value();
  };
  EXPECT_TRUE(denied(&PartitionConfig::deny_accounts, "Physics"));
  EXPECT_TRUE(denied(&PartitionConfig::deny_accounts, "root")) << "physics is below it";
  EXPECT_FALSE(denied(&PartitionConfig::deny_accounts, "chem"));
  EXPECT_TRUE(denied(&PartitionConfig::deny_qos, "NORMAL"));
  EXPECT_FALSE(denied(&PartitionConfig::allow_qos, "Normal"));
  EXPECT_FALSE(denied(&PartitionConfig::allow_accounts, "PHYSICS"));
}

// Who may use a reservation with one of his accounts, and who may delete it for that (USER_DELETE).
TEST_F(AccountingTest, AccountsOfAReservationHaveThoseBelow) {
  const auto make = [&](const char* name, const char* accounts) {
    protocol::ReservationValues values;
    values.start = now_;
    values.duration = std::chrono::hours(1);
    values.accounts = protocol::NameList{accounts};
    values.nodes = "n1";
    values.add_flags = kReservationOverlap | kReservationUserDelete;
    ASSERT_TRUE(
        run(ChangeReservation{kRoot, {protocol::ReservationAction::kCreate, name, values}}));
  };
  const auto takes = [&](const char* name, const char* account) {
    JobSpec spec = batch_spec();
    spec.reservation = name;
    spec.account = account;
    return run(SubmitJob{kAnn, spec, {"users"}}).has_value();
  };
  const auto deletes = [&](const char* name, Identity who) {
    return run(ChangeReservation{who, {protocol::ReservationAction::kDelete, name, {}}})
        .has_value();
  };
  make("all", "Root");
  make("nobody", "-root");
  make("nophysics", "-physics");
  EXPECT_TRUE(takes("all", "physics"));
  EXPECT_FALSE(takes("nobody", "physics"));
  EXPECT_FALSE(takes("nophysics", "physics"));
  EXPECT_TRUE(takes("nophysics", "chem"));
  EXPECT_FALSE(deletes("nobody", kAnn));
  EXPECT_FALSE(deletes("nophysics", kBob)) << "physics is his only account";
  make("chem", "chem");
  EXPECT_FALSE(deletes("chem", kBob));
  EXPECT_TRUE(deletes("chem", kAnn)) << "she has that account, too";
}

// The bug: it was accepted, and no limit acted.
TEST_F(AccountingTest, AQosThatAPartitionLacks) {
  const auto update = [&](const char* key, const char* value) {
    return error_of(
        UpdatePartition{kRoot, protocol::PartitionAction::kUpdate, "debug", {}, {{key, value}}});
  };
  EXPECT_EQ(update("QOS", "nosuch"), ErrorCode::kInvalidQos);
  const JobId id = submit(batch_spec());
  EXPECT_EQ(plan(id), "starts");
  EXPECT_EQ(update("QOS", "part"), ErrorCode::kOk);
  const QosRecord gone = site_.qos.back();
  site_.qos.pop_back();  // sacctmgr delete qos part
  follow();
  EXPECT_EQ(plan(id), "InvalidQOS");
  EXPECT_FALSE(start_job(id, "n1"));
  EXPECT_EQ(update("MaxNodes", "2"), ErrorCode::kOk) << "what stays is not looked at";
  site_.qos.push_back(gone);
  follow();
  EXPECT_NE(plan(id), "InvalidQOS");
}

}  // namespace
}  // namespace sluice::state
