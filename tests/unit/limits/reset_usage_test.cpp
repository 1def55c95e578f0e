// sacctmgr … set RawUsage=0: what was used is forgotten, and taken from the accounts above.
#include "common/wire/codec.hpp"
#include "ctld/state/core/invariants.hpp"
#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

class ResetUsageTest : public AccountingTest {
 protected:
  // Each job runs 100 s on two CPUs: 200 for ann in each of two accounts, 200 for bob.
  ResetUsageTest() {
    pass_time(std::chrono::seconds(1));
    use(kAnn, "physics");
    use(kBob, "physics");
    use(kAnn, "chem");
  }
  void use(const Identity& who, const char* account) {
    JobSpec spec = batch_spec();
    spec.user_name = who.uid == kBobUid ? "bob" : "ann";
    spec.account = account;
    const JobId id = submit(spec, who);
    ASSERT_TRUE(start_job(id, "n1", 2));
    now_ += std::chrono::seconds(100);
    end(id, "n1");
  }
  Result<Reply> reset(std::vector<std::string> accounts, std::vector<std::string> users = {},
                      std::vector<std::string> qos = {}, Identity who = kRoot) {
    return run(ResetUsage{who, {std::move(accounts), std::move(users), std::move(qos)}});
  }
  // Of root, physics, chem, ann in physics, bob in physics, ann in chem.
  std::vector<double> usage() {
    std::vector<double> out;
    for (const AssociationId id : {kRootId, kPhysics, kChem, kAnnPhysics, kBobPhysics, kAnnChem})
      out.push_back(used(id));
    return out;
  }
  using Usages = std::vector<double>;
};

TEST_F(ResetUsageTest, AUsersUsageIsTakenFromTheAccountsAbove) {
  ASSERT_EQ(usage(), (Usages{600, 400, 200, 200, 200, 200}));
  ASSERT_TRUE(reset({"physics"}, {"ann"}));
  EXPECT_EQ(usage(), (Usages{400, 200, 200, 0, 200, 200}));
  const auto& shares = *state_.accounting.shares;
  EXPECT_GT(shares.of(kAnnPhysics).factor, shares.of(kBobPhysics).factor);
  const Usage& root = state_.accounting.association_usage.at(kRootId);
  EXPECT_DOUBLE_EQ(root.wall, 200);
  EXPECT_DOUBLE_EQ(root.of(kTresCpu), 400);
  EXPECT_DOUBLE_EQ(state_.accounting.qos_usage.at(kNormal).raw, 600) << "that of the QOS stays";
}

// The bug: slurmctld -c forgot it with the jobs, and no job tells it again. Slurm keeps it.
TEST_F(ResetUsageTest, ACleanStartForgetsNone) {
  JobSpec spec = batch_spec();
  spec.user_name = "bob";
  spec.account = "physics";
  const JobId id = submit(spec, kBob);
  ASSERT_TRUE(start_job(id, "n1", 2));
  now_ += std::chrono::seconds(50);
  const uint64_t version = state_.accounting.version;
  ASSERT_TRUE(run(StartEpoch{"cluster", 2, true}));
  EXPECT_EQ(state_.jobs.size(), 0U);
  EXPECT_EQ(usage(), (Usages{700, 500, 200, 200, 300, 200})) << "with that of what ran";
  EXPECT_EQ(state_.accounting.version, version);
  ASSERT_TRUE(run(ReplaceConfig{config_}));
  register_node("n1");
  use(kBob, "physics");
  EXPECT_EQ(usage(), (Usages{900, 700, 200, 200, 500, 200}));
}

TEST_F(ResetUsageTest, AnAccountsUsageIsThatOfAllBelow) {
  ASSERT_TRUE(reset({"physics"}));
  EXPECT_EQ(usage(), (Usages{200, 0, 200, 0, 0, 200}));
  ASSERT_TRUE(reset({"chem", "root"})) << "one below the other counts once";
  EXPECT_EQ(usage(), (Usages{0, 0, 0, 0, 0, 0}));
}

TEST_F(ResetUsageTest, AQos) {
  ASSERT_TRUE(reset({}, {}, {"normal"}));
  EXPECT_FALSE(state_.accounting.qos_usage.contains(kNormal));
  EXPECT_EQ(usage(), (Usages{600, 400, 200, 200, 200, 200}));
}

TEST_F(ResetUsageTest, RunningJobsAreChargedFromThenOn) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1", 2));
  now_ += std::chrono::seconds(50);
  ASSERT_TRUE(reset({"physics"}));
  EXPECT_EQ(used(kRootId), 200);
  now_ += std::chrono::seconds(10);
  end(id, "n1");
  EXPECT_EQ(usage(), (Usages{220, 20, 200, 20, 0, 200}));
}

TEST_F(ResetUsageTest, ForAdministratorsAlone) {
  site_.users[0].admin_level = AdminLevel::kOperator;
  site_.users[1].admin_level = AdminLevel::kAdministrator;
  follow();
  const auto refused = reset({"physics"}, {"ann"}, {}, kAnn);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAccessDenied);
  EXPECT_TRUE(reset({"physics"}, {"ann"}, {}, kBob));
  EXPECT_EQ(used(kAnnPhysics), 0);
}

TEST_F(ResetUsageTest, NothingChangesWhereOneIsNotThere) {
  const auto text = [&](auto... of) {
    const auto refused = reset(of...);
    EXPECT_TRUE(!refused && refused.error().code == ErrorCode::kNotFound);
    return refused ? std::string() : refused.error().text;
  };
  using L = std::vector<std::string>;
  EXPECT_EQ(text(L{"physics", "none"}), "account none");
  EXPECT_EQ(text(L{"physics", "chem"}, L{"ann", "bob"}), "account chem user bob");
  EXPECT_EQ(text(L{"physics"}, L{}, L{"normal", "none"}), "QOS none");
  EXPECT_EQ(usage(), (Usages{600, 400, 200, 200, 200, 200}));
}

TEST_F(ResetUsageTest, OfWhatIsDeletedToo) {
  const AccountingRecords whole = site_;
  std::erase_if(site_.associations, [](const auto& one) { return one.id == kAnnPhysics; });
  std::erase_if(site_.qos, [](const auto& one) { return one.id == kNormal; });
  follow();
  ASSERT_EQ(usage(), (Usages{600, 400, 200, 0, 200, 200}));
  ASSERT_TRUE(reset({"physics"}, {"ann"}, {"Normal"}));
  EXPECT_EQ(usage(), (Usages{400, 200, 200, 0, 200, 200})) << "the account loses it, too";
  EXPECT_TRUE(state_.accounting.gone_usage->empty());
  EXPECT_FALSE(reset({"physics"}, {"ann"})) << "nothing is kept of it any more";
  site_.associations = whole.associations;
  site_.qos = whole.qos;
  follow();
  EXPECT_EQ(usage(), (Usages{400, 200, 200, 0, 200, 200}));
  EXPECT_FALSE(state_.accounting.qos_usage.contains(kNormal));
}

TEST_F(ResetUsageTest, OfWhatIsDeletedBelowAnAccount) {
  const AccountingRecords whole = site_;
  site_.associations.resize(1);  // root
  follow();
  ASSERT_EQ(used(kRootId), 600);
  ASSERT_EQ(state_.accounting.gone_usage->associations.size(), 5u);
  ASSERT_TRUE(reset({"physics"}));
  EXPECT_EQ(used(kRootId), 200);
  EXPECT_EQ(state_.accounting.gone_usage->associations.size(), 2u) << "chem, and ann's in it";
  ASSERT_TRUE(reset({"chem"}, {"ann"}));
  EXPECT_EQ(used(kRootId), 0);
  site_.associations = whole.associations;
  follow();
  EXPECT_EQ(usage(), (Usages{0, 0, 0, 0, 0, 0}));
}

TEST_F(ResetUsageTest, ADeletedUserOfAnAccountThatIsReset) {
  std::erase_if(site_.associations, [](const auto& one) { return one.id == kAnnPhysics; });
  follow();
  ASSERT_TRUE(reset({"root"}));
  EXPECT_TRUE(state_.accounting.gone_usage->associations.empty());
  EXPECT_EQ(usage(), (Usages{0, 0, 0, 0, 0, 0}));
}

TEST_F(ResetUsageTest, ARestartKeepsWhoIsAboveOfWhatIsDeleted) {
  site_.associations.resize(1);
  follow();
  const auto image = wire::decode<StateImage>(wire::encode(make_image(state_)));
  ASSERT_TRUE(image);
  state_ = from_image(*image);
  ASSERT_TRUE(reset({"root"}));
  EXPECT_TRUE(state_.accounting.gone_usage->associations.empty());
}

TEST_F(ResetUsageTest, ARestartKeepsIt) {
  ASSERT_TRUE(reset({"physics"}, {"ann"}, {"normal"}));
  const auto image = wire::decode<StateImage>(wire::encode(make_image(state_)));
  ASSERT_TRUE(image);
  const ClusterState restored = from_image(*image);
  EXPECT_EQ(differences(state_, restored), std::vector<std::string>{});
  EXPECT_FALSE(restored.accounting.association_usage.contains(kAnnPhysics));
}

}  // namespace
}  // namespace sluice::state
