// Fair Tree and the classic formula, and what usage decays to.
#include <cmath>

#include "ctld/state/decide/cluster/usage_tick.hpp"
#include "unit/limits/accounting_world.hpp"

namespace sluice::state {
namespace {

class FairShareTest : public ::testing::Test {
 protected:
  void shares(AssociationId id, uint32_t shares) {
    for (AssociationRecord& one : site_.associations) {
      if (one.id == id) one.shares = shares;
    }
  }
  void add(AssociationId id, AssociationId parent, const char* account, const char* user = "") {
    site_.associations.push_back(association(id, parent, account, user));
  }
  // Of a user, and so of all above.
  void used(AssociationId id, double seconds) { used_.emplace_back(id, seconds); }
  FairShares compute(bool fair_tree = true, double dampening = 1) {
    Accounting accounting = accounting_of(site_);
    for (const auto& [id, seconds] : used_) {
      for_ancestors(accounting, id, [&](AssociationId above, const AssociationRecord*) {
        Usage& usage = accounting.association_usage.edit_or_insert(above);
        usage.id = above;
        usage.raw += seconds;
      });
    }
    return fair_shares(accounting, {fair_tree, dampening});
  }

  AccountingRecords site_ = small_site();
  std::vector<std::pair<AssociationId, double>> used_;
};

// As sshare of 26.05 showed a cluster: root has a user root, chem (3 shares) and physics, which
// used everything.
TEST_F(FairShareTest, AsTheReferenceShowsIt) {
  site_.associations = {association(1, 0, "root"), association(2, 1, "root", "root"),
                        association(3, 1, "physics"), association(4, 1, "chem"),
                        association(5, 3, "physics", "root")};
  shares(4, 3);
  used(5, 7205.62);
  const FairShares found = compute();
  EXPECT_DOUBLE_EQ(found.of(2).norm_shares, 0.2);
  EXPECT_DOUBLE_EQ(found.of(2).factor, 1.0);
  EXPECT_TRUE(std::isinf(found.of(2).level_fs));
  EXPECT_DOUBLE_EQ(found.of(4).norm_shares, 0.6);
  EXPECT_TRUE(std::isinf(found.of(4).level_fs));
  EXPECT_EQ(found.of(4).level_shares, 5u);
  EXPECT_DOUBLE_EQ(found.of(3).norm_usage, 1.0);
  EXPECT_DOUBLE_EQ(found.of(3).effective_usage, 1.0);
  EXPECT_DOUBLE_EQ(found.of(3).level_fs, 0.2);
  EXPECT_DOUBLE_EQ(found.of(5).norm_shares, 1.0);
  EXPECT_DOUBLE_EQ(found.of(5).norm_usage, 1.0);
  EXPECT_DOUBLE_EQ(found.of(5).level_fs, 1.0);
  EXPECT_DOUBLE_EQ(found.of(5).factor, 0.5);
  EXPECT_DOUBLE_EQ(found.of(1).effective_usage, 1.0);
}

// Who belongs to an account that is owed more goes before everybody of one that is owed less.
TEST_F(FairShareTest, AccountsGoBeforeUsers) {
  used(kAnnPhysics, 100);
  used(kBobPhysics, 10);
  used(kAnnChem, 1000);
  const FairShares found = compute();
  EXPECT_DOUBLE_EQ(found.of(kPhysics).effective_usage, 110.0 / 1110);
  EXPECT_DOUBLE_EQ(found.of(kPhysics).level_fs, 0.5 / (110.0 / 1110));
  EXPECT_DOUBLE_EQ(found.of(kBobPhysics).factor, 1.0);
  EXPECT_DOUBLE_EQ(found.of(kAnnPhysics).factor, 2.0 / 3);
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).factor, 1.0 / 3);
}

TEST_F(FairShareTest, EqualUsersHaveOnePlace) {
  FairShares found = compute();
  for (const AssociationId id : {kAnnPhysics, kBobPhysics, kAnnChem})
    EXPECT_DOUBLE_EQ(found.of(id).factor, 1.0) << "nobody used anything";
  used(kAnnPhysics, 50);
  used(kBobPhysics, 50);
  used(kAnnChem, 10);
  found = compute();
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).factor, 1.0);
  EXPECT_DOUBLE_EQ(found.of(kAnnPhysics).factor, 2.0 / 3);
  EXPECT_DOUBLE_EQ(found.of(kBobPhysics).factor, 2.0 / 3);
}

// Accounts with the same value are gone through as if they were one.
TEST_F(FairShareTest, EqualAccountsAreMerged) {
  add(7, kChem, "chem", "bob");
  used(kAnnPhysics, 10);
  used(kBobPhysics, 30);
  used(kAnnChem, 20);
  used(7, 20);
  const FairShares found = compute();
  EXPECT_DOUBLE_EQ(found.of(kAnnPhysics).factor, 1.0);   // 0.5/0.25
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).factor, 3.0 / 4);  // 0.5/0.5
  EXPECT_DOUBLE_EQ(found.of(7).factor, 3.0 / 4);
  EXPECT_DOUBLE_EQ(found.of(kBobPhysics).factor, 1.0 / 4);
}

// A user beside an account with the same value has the place of its best user.
TEST_F(FairShareTest, AUserBesideAnAccount) {
  add(7, kRootId, "root", "root");
  used(kAnnPhysics, 10);
  used(kAnnChem, 10);
  used(7, 10);
  const FairShares found = compute();
  EXPECT_DOUBLE_EQ(found.of(7).factor, 1.0);
  EXPECT_DOUBLE_EQ(found.of(kBobPhysics).factor, 1.0);
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).factor, 2.0 / 4);
}

TEST_F(FairShareTest, SharesOfTheParent) {
  shares(kChem, kSharesOfParent);  // its users are root's own
  used(kAnnPhysics, 30);
  used(kAnnChem, 10);
  const FairShares found = compute();
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).norm_shares, 0.5);
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).effective_usage, 0.25);
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).factor, 1.0);
  EXPECT_DOUBLE_EQ(found.of(kPhysics).effective_usage, 0.75);
}

// As Slurm 22.05 ranks them (tests/golden/shares): before all others of their account.
TEST_F(FairShareTest, UsersWithTheSharesOfTheirAccount) {
  shares(kBobPhysics, kSharesOfParent);
  used(kAnnPhysics, 10);
  used(kBobPhysics, 30);
  used(kAnnChem, 1);
  const FairShares found = compute();
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).factor, 1.0);
  EXPECT_DOUBLE_EQ(found.of(kBobPhysics).factor, 2.0 / 3);
  EXPECT_DOUBLE_EQ(found.of(kAnnPhysics).factor, 1.0 / 3);
  EXPECT_DOUBLE_EQ(found.of(kBobPhysics).effective_usage, 0.75);
  EXPECT_DOUBLE_EQ(found.of(kBobPhysics).norm_shares, found.of(kPhysics).norm_shares);
}

TEST_F(FairShareTest, WhoHasNoSharesComesLast) {
  shares(kAnnChem, 0);
  used(kAnnPhysics, 1000);
  const FairShares found = compute();
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).level_fs, 0.0);
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).norm_shares, 0.0);
}

// 2^(-UE/S): physics has half of the shares and used three quarters.
TEST_F(FairShareTest, Classic) {
  used(kAnnPhysics, 75);
  used(kAnnChem, 25);
  FairShares found = compute(false);
  EXPECT_DOUBLE_EQ(found.of(kPhysics).norm_shares, 0.5);
  EXPECT_DOUBLE_EQ(found.of(kPhysics).effective_usage, 0.75);
  EXPECT_DOUBLE_EQ(found.of(kAnnPhysics).norm_shares, 0.25);
  // 0.75 + (0.75 - 0.75) / 2
  EXPECT_DOUBLE_EQ(found.of(kAnnPhysics).effective_usage, 0.75);
  EXPECT_DOUBLE_EQ(found.of(kAnnPhysics).factor, std::exp2(-3.0));
  // 0 + (0.75 - 0) / 2
  EXPECT_DOUBLE_EQ(found.of(kBobPhysics).effective_usage, 0.375);
  EXPECT_DOUBLE_EQ(found.of(kBobPhysics).factor, std::exp2(-1.5));
  EXPECT_DOUBLE_EQ(found.of(kAnnChem).factor, std::exp2(-0.5));
  found = compute(false, 3);
  EXPECT_DOUBLE_EQ(found.of(kAnnPhysics).factor, 0.5);
}

TEST_F(FairShareTest, HighestPriorityOfAnAssociation) {
  site_.associations[3].priority = 7;
  EXPECT_EQ(compute().highest_priority, 7u);
}

// The accounting daemon makes none; whoever sends one finds no stack that it overflows.
TEST_F(FairShareTest, ATreeThatIsDeeperThanAnyIsPassedOver) {
  constexpr AssociationId kFirst = 100, kLast = 100'100;
  for (AssociationId id = kFirst; id < kLast; ++id)
    add(id, id == kFirst ? kRootId : id - 1, "deep");
  add(kLast, kLast - 1, "deep", "ann");
  used(kLast, 100);
  for (const bool fair_tree : {true, false}) {
    const FairShares found = compute(fair_tree);
    EXPECT_EQ(found.of(kLast).norm_shares, 0);
    EXPECT_GT(found.of(kAnnPhysics).norm_shares, 0);
  }
}

TEST(UsageDecay, HalfOfItIsLeftAfterAHalfLife) {
  ClusterConfig config;
  config.priority_decay_half_life = std::chrono::hours(24);
  EXPECT_NEAR(decay_factor(config, std::chrono::hours(24)), 0.5, 1e-4);
  EXPECT_DOUBLE_EQ(decay_factor(config, std::chrono::seconds(1)), 1 - 0.693 / 86'400);
  EXPECT_DOUBLE_EQ(decay_factor(config, std::chrono::seconds(0)), 1.0);
  config.priority_decay_half_life = Duration(0);
  EXPECT_DOUBLE_EQ(decay_factor(config, std::chrono::hours(24)), 1.0);
}

TEST(UsageDecay, WhenItIsForgotten) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  ClusterConfig config;
  const Time now = from_seconds(1'700'000'000);  // Tuesday 2023-11-14 22:13:20
  const auto at = [&](const char* period) {
    config.priority_usage_reset_period = period;
    return to_seconds(last_reset(config, now));
  };
  EXPECT_EQ(at("NONE"), 0);
  EXPECT_EQ(at("DAILY"), 1'699'920'000);
  EXPECT_EQ(at("WEEKLY"), 1'699'747'200);
  EXPECT_EQ(at("MONTHLY"), 1'698'796'800);
  EXPECT_EQ(at("QUARTERLY"), 1'696'118'400);
  EXPECT_EQ(at("YEARLY"), 1'672'531'200);
}

}  // namespace
}  // namespace sluice::state
