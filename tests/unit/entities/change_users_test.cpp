// sacctmgr's requests for users, their associations and wckeys, and conditions that are refused.
#include "unit/entities/change_fixture.hpp"

namespace sluice::dbd {
namespace {

// As in Slurm, who says which account is the default one need not say it twice.
TEST_F(Change, TheDefaultAccountIsOneThatAUserIsAddedTo) {
  run(add_account({"physics", "chem"}));
  auto alone = add_user({"alice"}, {});
  alone.settings.default_account = "physics";
  EXPECT_EQ(shown(alone),
            " Adding User(s)\n  alice\n Settings =\n  Default Account = physics\n Associations =\n"
            "  U = alice     A = physics    C = demo      \n Non Default Settings\n");
  EXPECT_TRUE(of("physics", "alice").is_default);
  auto beside = add_user({"bob"}, {"chem"});
  beside.settings.default_account = "physics";
  EXPECT_NE(shown(beside).find("A = physics"), std::string::npos);
  EXPECT_TRUE(of("physics", "bob").is_default);
  EXPECT_FALSE(of("chem", "bob").is_default);
  EXPECT_EQ(shown(add_user({"carol"}, {})), " Need name of account to add user to.\n");
}

TEST_F(Change, WhoLosesTheLastAssociationIsNoUserAnyMore) {
  run(add_account({"physics", "chem"}));
  run(add_user({"alice"}, {"physics", "chem"}));
  auto gone = request(AccountingVerb::kDelete, AccountingEntity::kUser);
  gone.where.users = {"alice"};
  gone.where.accounts = {"chem"};
  EXPECT_EQ(shown(gone),
            " Deleting user associations...\n  C = demo       A = chem       U = alice    \n");
  gone.where.accounts = {"physics"};
  EXPECT_EQ(shown(gone),
            " Deleting user associations...\n  C = demo       A = physics    U = alice    \n"
            " Deleting users (No Associations)...\n  alice\n");
  EXPECT_EQ(find_user(entities, "alice"), nullptr);
}

// Without a look at the condition, all users would have gone.
TEST_F(Change, WckeysOfUsersAreDeletedAndTheUsersStay) {
  run(add_account({"physics"}));
  auto add = add_user({"alice", "bob"}, {"physics"});
  add.where.wckeys = {"w1", "w2"};
  run(add);
  auto gone = request(AccountingVerb::kDelete, AccountingEntity::kUser);
  gone.where.users = {"alice"};
  gone.where.wckeys = {"w1"};
  EXPECT_EQ(shown(gone, Actor{"bob", false}).find("Deleting"), std::string::npos);
  EXPECT_EQ(shown(gone),
            " Deleting user WCKeys...\n  C = demo       W = w1                   U = alice    \n");
  EXPECT_EQ(shown(gone), " Nothing deleted\n");
  gone.where.users = {};
  gone.where.wckeys = {"w2"};
  EXPECT_EQ(shown(gone),
            " Deleting user WCKeys...\n  C = demo       W = w2                   U = alice    \n"
            "  C = demo       W = w2                   U = bob      \n");
  gone.where.accounts = {"physics"};
  EXPECT_EQ(shown(gone), " Mixing Account and WCKeys is not allowed\n");
  EXPECT_NE(find_user(entities, "alice"), nullptr);
  EXPECT_NE(find_user(entities, "bob"), nullptr);
  auto modify = request(AccountingVerb::kModify, AccountingEntity::kUser);
  modify.where.wckeys = {"w1"};
  modify.settings.limits = {count(LimitField::kMaxJobs, 3)};
  EXPECT_EQ(shown(modify).find("U = alice"), std::string::npos) << "she has it no more";
}

TEST_F(Change, AConditionThatWouldNotBeLookedAtIsRefused) {
  run(add_account({"physics", "chem"}));
  for (const AccountingVerb verb : {AccountingVerb::kModify, AccountingVerb::kDelete}) {
    auto change = request(verb, AccountingEntity::kAccount);
    change.where.wckeys = {"w1"};
    change.settings.limits = {count(LimitField::kMaxJobs, 3)};
    EXPECT_EQ(shown(change), " Unknown condition: wckeys does not tell these entities apart\n");
    change.entity = AccountingEntity::kQos;
    change.where = {};
    change.where.clusters = {"demo"};
    EXPECT_EQ(shown(change), " Unknown condition: clusters does not tell these entities apart\n");
  }
  auto limits = request(AccountingVerb::kModify, AccountingEntity::kAccount);
  limits.where.organizations = {"nobody's"};
  limits.settings.limits = {count(LimitField::kMaxJobs, 3)};
  EXPECT_EQ(shown(limits), " Nothing modified\n");
  EXPECT_NE(find_account(entities, "chem"), nullptr);
}

TEST_F(Change, UsersGetAssociationsAndADefaultAccount) {
  run(add_account({"physics", "chem"}));
  EXPECT_EQ(shown(add_user({"alice"}, {"physics"})),
            " Adding User(s)\n  alice\n Associations =\n"
            "  U = alice     A = physics    C = demo      \n Non Default Settings\n");
  EXPECT_EQ(of("physics", "alice").lineage, "/physics/0-alice/");
  EXPECT_TRUE(of("physics", "alice").is_default);
  auto more = add_user({"alice", "bob"}, {"chem"});
  more.settings.default_account = "chem";
  more.where.partitions = {"debug"};
  EXPECT_EQ(shown(more),
            " Adding User(s)\n  bob\n Settings =\n  Default Account = chem\n Associations =\n"
            "  U = alice     A = chem       C = demo       P = debug     \n"
            "  U = bob       A = chem       C = demo       P = debug     \n"
            " Non Default Settings\n");
  EXPECT_FALSE(of("physics", "alice").is_default);
  EXPECT_TRUE(of("chem", "alice", "debug").is_default);
  EXPECT_EQ(of("chem", "bob", "debug").lineage, "/chem/0-bob-debug/");
}

TEST_F(Change, AUserOfAnAccountThatIsNotThereIsRefused) {
  EXPECT_EQ(shown(add_user({"dave"}, {"nope"})),
            "No account nope on cluster demo, skipping.\nNothing added.\nMake sure the accounts "
            "requested here have been added to the system/cluster. (sacctmgr add account...)\n");
  EXPECT_EQ(find_user(entities, "dave"), nullptr);
  EXPECT_EQ(shown(add_user({"dave"}, {})), " Need name of account to add user to.\n");
  auto where = add_user({"dave"}, {"root"});
  where.where.clusters = {"nope"};
  EXPECT_EQ(shown(where),
            " This cluster 'nope' doesn't exist.\n        Contact your admin to add it to "
            "accounting.\n");
}

}  // namespace
}  // namespace sluice::dbd
