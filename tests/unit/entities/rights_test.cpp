// What a coordinator, a user and nobody at all may change, and what it costs to be refused.
#include <ctime>

#include <set>

#include <gtest/gtest.h>

#include "dbd/entities/change.hpp"
#include "dbd/entities/coordinators.hpp"
#include "dbd/entities/query.hpp"

namespace sluice::dbd {
namespace {

using protocol::AccountingEntity;
using protocol::AccountingVerb;
using protocol::ChangeAccountingReply;
using protocol::ChangeAccountingRequest;

const Actor kRoot{"root", true};
const Actor kCara{"cara", false};  // coordinates physics

ChangeAccountingRequest ask(AccountingVerb verb, AccountingEntity entity,
                            std::vector<std::string> users, std::vector<std::string> accounts) {
  ChangeAccountingRequest out;
  out.verb = verb;
  out.entity = entity;
  out.where.users = std::move(users);
  out.where.accounts = std::move(accounts);
  return out;
}
ChangeAccountingRequest add_account(std::vector<std::string> names, const char* parent,
                                    std::vector<std::string> clusters = {}) {
  auto out = ask(AccountingVerb::kAdd, AccountingEntity::kAccount, {}, std::move(names));
  out.settings.parent = parent;
  out.where.clusters = std::move(clusters);
  return out;
}
ChangeAccountingRequest add_user(std::vector<std::string> users,
                                 std::vector<std::string> accounts) {
  return ask(AccountingVerb::kAdd, AccountingEntity::kUser, std::move(users), std::move(accounts));
}

// Two clusters: physics on both, chem on one alone.
class Rights : public ::testing::Test {
 protected:
  Rights() : entities(new_entities()) {
    std::vector<protocol::TransactionRecord> transactions;
    for (const char* name : {"c1", "c2"}) {
      protocol::ClusterRecord cluster;
      cluster.name = name;
      EXPECT_TRUE(register_cluster(entities, cluster, "root", Time{}, transactions));
    }
    run(add_account({"physics"}, "root"));
    run(add_account({"chem"}, "root", {"c1"}));
    run(add_user({"cara", "paul"}, {"physics"}));
    run(add_user({"bob"}, {"chem"}));
    run(ask(AccountingVerb::kAdd, AccountingEntity::kCoordinator, {"cara"}, {"physics"}));
  }
  ChangeAccountingReply run(const ChangeAccountingRequest& what, const Actor& actor = kRoot) {
    ChangeOutcome outcome = decide_change(entities, what, actor, Time{});
    entities = std::move(outcome.after);
    return outcome.reply;
  }
  bool refused(const ChangeAccountingRequest& what, const Actor& actor = kCara) {
    const ChangeOutcome outcome = decide_change(entities, what, actor, Time{});
    return outcome.reply.refused;
  }

  Entities entities;
};

// The bug: she was shown where else a user of her accounts is.
TEST_F(Rights, WithPrivateUsersACoordinatorSeesThoseOfHerAccounts) {
  run(add_user({"paul"}, {"chem"}));
  protocol::QueryAccountingRequest query;
  query.entity = AccountingEntity::kAssociation;
  const auto rows = [&](const Actor& actor) {
    std::set<std::string> out;
    for (const AssociationRecord& r :
         answer_query(entities, query, actor, {true, false}).associations)
      if (!r.user.empty()) out.insert(r.account + " " + r.user);
    return out;
  };
  EXPECT_EQ(rows(kCara), (std::set<std::string>{"physics cara", "physics paul"}));
  EXPECT_EQ(rows(Actor{"paul", false}), (std::set<std::string>{"physics paul", "chem paul"}));
  EXPECT_EQ(rows(Actor{"bob", false}), (std::set<std::string>{"chem bob"}));
}

TEST_F(Rights, AnAccountOfOthersDoesNotBecomeACoordinatorsByAnotherCluster) {
  EXPECT_TRUE(refused(add_account({"chem"}, "physics", {"c2"})));
  EXPECT_TRUE(refused(add_account({"mine", "chem"}, "physics", {"c2"})));
  // his own may stand on another cluster, too
  EXPECT_FALSE(run(add_account({"optics"}, "physics", {"c1"}), kCara).refused);
  EXPECT_FALSE(run(add_account({"optics"}, "physics", {"c2"}), kCara).refused);
}

// With PrivateData=jobs he saw the jobs of the account that had the name before.
TEST_F(Rights, WhatWasDeletedIsNoCoordinatorsToAddAgain) {
  run(ask(AccountingVerb::kDelete, AccountingEntity::kUser, {"bob"}, {}));
  run(ask(AccountingVerb::kDelete, AccountingEntity::kAccount, {}, {"chem"}));
  const auto errors = run(add_account({"chem"}, "physics"), kCara).errors;
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].find("was deleted: an operator"), std::string::npos) << errors[0];
  EXPECT_FALSE(run(add_account({"chem"}, "physics", {"c1"})).refused) << "root adds it";

  // nor on a cluster where it stood somewhere else
  run(add_account({"bio"}, "root", {"c1"}));
  run(add_account({"bio"}, "physics", {"c2"}));
  auto gone = ask(AccountingVerb::kDelete, AccountingEntity::kAccount, {}, {"bio"});
  gone.where.clusters = {"c1"};
  EXPECT_FALSE(run(gone).refused);
  EXPECT_TRUE(refused(add_account({"bio"}, "physics", {"c1"})));
}

// A coordinator lifted the limits that an operator had set on his account.
TEST_F(Rights, WhatAnAccountMayUseIsNotItsCoordinatorsToSay) {
  run(add_account({"optics"}, "physics"));
  const auto limit = [](AccountingEntity entity, std::vector<std::string> users,
                        std::vector<std::string> accounts) {
    auto out = ask(AccountingVerb::kModify, entity, std::move(users), std::move(accounts));
    out.settings.limits = {{protocol::LimitField::kMaxJobs, 3, {}, {}}};
    return out;
  };
  EXPECT_TRUE(refused(limit(AccountingEntity::kAccount, {}, {"physics"})));
  EXPECT_TRUE(refused(limit(AccountingEntity::kAccount, {}, {"optics", "physics"})));
  EXPECT_FALSE(refused(limit(AccountingEntity::kAccount, {}, {"optics"})));
  EXPECT_FALSE(refused(limit(AccountingEntity::kUser, {"paul"}, {"physics"})));
  auto moved = ask(AccountingVerb::kModify, AccountingEntity::kAccount, {}, {"physics"});
  moved.settings.parent = "chem";
  EXPECT_TRUE(refused(moved));
  auto described = ask(AccountingVerb::kModify, AccountingEntity::kAccount, {}, {"physics"});
  described.settings.description = "mine";
  EXPECT_TRUE(refused(described)) << "a coordinator could";
}

TEST_F(Rights, WhatIsBelowOnOneClusterIsHisThereAlone) {
  run(add_account({"chem"}, "physics", {"c2"}));
  auto limits = ask(AccountingVerb::kModify, AccountingEntity::kAccount, {}, {"chem"});
  limits.settings.limits = {{protocol::LimitField::kMaxJobs, 3, {}, {}}};
  limits.where.clusters = {"c2"};
  EXPECT_FALSE(refused(limits));
  limits.where.clusters = {"c1"};
  EXPECT_TRUE(refused(limits));
  auto described = ask(AccountingVerb::kModify, AccountingEntity::kAccount, {}, {"chem"});
  described.settings.description = "mine";
  EXPECT_TRUE(refused(described));
  EXPECT_TRUE(
      refused(ask(AccountingVerb::kAdd, AccountingEntity::kCoordinator, {"cara"}, {"chem"})));
  EXPECT_TRUE(refused(ask(AccountingVerb::kDelete, AccountingEntity::kAccount, {}, {"chem"})));
  auto add = add_user({"paul"}, {"chem"});
  EXPECT_TRUE(refused(add));
  add.where.clusters = {"c2"};
  EXPECT_FALSE(refused(add));
  // a controller learns what holds on its own cluster
  const auto chem = [&](const char* cluster) {
    return coordinators_by_account(entities, cluster).at("chem");
  };
  EXPECT_TRUE(chem("c1").empty());
  EXPECT_EQ(chem("c2"), std::vector<std::string>{"cara"});
  // nor does an account between two of them carry him on
  run(add_account({"bio"}, "chem", {"c1"}));
  EXPECT_TRUE(coordinators_by_account(entities, "").at("bio").empty());
}

TEST_F(Rights, ACoordinatorDeletesNobodyWhoIsSomebodyElsewhere) {
  run(add_account({"other"}, "root"));
  auto level = ask(AccountingVerb::kModify, AccountingEntity::kUser, {"paul"}, {});
  level.settings.admin_level = AdminLevel::kOperator;
  run(level);
  run(add_user({"olga", "vera"}, {"physics"}));
  run(ask(AccountingVerb::kAdd, AccountingEntity::kCoordinator, {"olga"}, {"other"}));
  const auto gone = [](const char* user, std::vector<std::string> accounts = {}) {
    return ask(AccountingVerb::kDelete, AccountingEntity::kUser, {user}, std::move(accounts));
  };
  EXPECT_TRUE(refused(gone("paul")));
  EXPECT_TRUE(refused(gone("olga")));
  EXPECT_TRUE(refused(gone("bob")));
  EXPECT_FALSE(refused(gone("vera")));
  EXPECT_FALSE(run(gone("paul", {"physics"}), kCara).refused);
  EXPECT_EQ(find_user(entities, "paul")->admin_level, AdminLevel::kOperator);
}

// As in Slurm: who comes back has them again.
TEST_F(Rights, WckeysOfAUserAreNoCoordinators) {
  auto vera = add_user({"vera"}, {"physics"});
  vera.where.wckeys = {"paper"};
  run(vera);
  const auto keys = [&] {
    protocol::QueryAccountingRequest query;
    query.entity = AccountingEntity::kWckey;
    query.where.users = {"vera"};
    return answer_query(entities, query, kRoot, {}).wckeys.size();
  };
  const size_t before = keys();
  EXPECT_GE(before, 2U) << "one on each cluster, also where he is in no account of hers";
  EXPECT_FALSE(
      run(ask(AccountingVerb::kDelete, AccountingEntity::kUser, {"vera"}, {}), kCara).refused);
  EXPECT_EQ(find_user(entities, "vera"), nullptr);
  EXPECT_EQ(keys(), before);
  run(vera);
  EXPECT_FALSE(run(ask(AccountingVerb::kDelete, AccountingEntity::kUser, {"vera"}, {})).refused);
  EXPECT_EQ(keys(), 0U) << "an operator's deletion takes them along";
}

TEST_F(Rights, ProblemsAndPrivateTransactionsAreOperators) {
  auto level = ask(AccountingVerb::kModify, AccountingEntity::kUser, {"paul"}, {});
  level.settings.admin_level = AdminLevel::kOperator;
  run(level);
  const Actor paul{"paul", false}, bob{"bob", false};
  for (const Privacy privacy : {Privacy{}, {true, false}, {false, true}}) {
    for (const Actor& actor : {bob, kCara, Actor{}}) {
      EXPECT_FALSE(may_list(entities, AccountingEntity::kProblem, actor, privacy)) << actor.name;
      EXPECT_FALSE(may_list(entities, AccountingEntity::kWckey, actor, privacy)) << actor.name;
      EXPECT_EQ(may_list(entities, AccountingEntity::kTransaction, actor, privacy),
                !privacy.users && !privacy.accounts);
      EXPECT_TRUE(may_list(entities, AccountingEntity::kAssociation, actor, privacy));
    }
    for (const Actor& actor : {paul, kRoot, Actor{"", true}}) {
      EXPECT_TRUE(may_list(entities, AccountingEntity::kProblem, actor, privacy));
      EXPECT_TRUE(may_list(entities, AccountingEntity::kWckey, actor, privacy));
      EXPECT_TRUE(may_list(entities, AccountingEntity::kTransaction, actor, privacy));
    }
  }
}

// Operators changed QOS and made operators of others, but not the limits of a cluster.
TEST_F(Rights, OfOperatorsAreAllButQosAndLevels) {
  auto level = ask(AccountingVerb::kModify, AccountingEntity::kUser, {"paul"}, {});
  level.settings.admin_level = AdminLevel::kOperator;
  run(level);
  const Actor paul{"paul", false};
  level.where.users = {"bob"};
  EXPECT_EQ(run(level, paul).errors.at(0),
            "sacctmgr: error: You must be a super user to modify a users admin level");
  auto add = add_user({"olga"}, {"chem"});
  add.settings.admin_level = AdminLevel::kOperator;
  add.where.clusters = {"c1"};
  EXPECT_FALSE(refused(add, paul));
  auto qos = ask(AccountingVerb::kAdd, AccountingEntity::kQos, {}, {});
  qos.where.names = {"high"};
  EXPECT_EQ(run(qos, paul).errors.at(0), " Problem adding QOS: Access/permission denied");
  EXPECT_FALSE(run(qos).refused);
  qos.verb = AccountingVerb::kModify;
  qos.settings.description = "x";
  EXPECT_TRUE(refused(qos, paul));
  EXPECT_FALSE(refused(qos, kRoot));
  qos.verb = AccountingVerb::kDelete;
  EXPECT_TRUE(refused(qos, paul));
  EXPECT_FALSE(refused(qos, kRoot));
  auto cluster = ask(AccountingVerb::kModify, AccountingEntity::kCluster, {}, {});
  cluster.where.clusters = {"c1"};
  cluster.settings.limits = {{protocol::LimitField::kMaxJobs, 3, {}, {}}};
  EXPECT_FALSE(refused(cluster, paul));
  EXPECT_TRUE(refused(cluster));
}

// It was refused.
TEST_F(Rights, AUserChoosesHisDefaultQos) {
  auto choose = ask(AccountingVerb::kModify, AccountingEntity::kUser, {"paul"}, {});
  choose.settings.default_qos = "normal";
  EXPECT_FALSE(refused(choose, Actor{"paul", false}));
  EXPECT_TRUE(refused(choose, Actor{"bob", false}));
  choose.settings.limits = {{protocol::LimitField::kMaxJobs, 3, {}, {}}};
  EXPECT_TRUE(refused(choose, Actor{"paul", false}));
}

// The bug: who cleared his default wckey ran jobs without one, where each has to have one.
TEST_F(Rights, ADefaultWckeyIsClearedByOperatorsAlone) {
  auto clear = ask(AccountingVerb::kModify, AccountingEntity::kUser, {"paul"}, {});
  clear.settings.default_wckey = "";
  EXPECT_TRUE(refused(clear, Actor{"paul", false}));
  EXPECT_FALSE(run(clear).refused);
}

TEST_F(Rights, ADefaultAccountOfOthersStays) {
  run(add_account({"optics"}, "physics"));
  auto add = add_user({"bob"}, {"physics"});
  add.settings.default_account = "physics";
  add.where.clusters = {"c1"};
  EXPECT_TRUE(refused(add));
  add.settings.default_account.reset();
  EXPECT_FALSE(run(add, kCara).refused);
  EXPECT_TRUE(find_association(entities, "c1", "chem", "bob", "")->record.is_default);
  auto choose = ask(AccountingVerb::kModify, AccountingEntity::kUser, {"bob"}, {});
  choose.settings.default_account = "physics";
  choose.where.clusters = {"c1"};
  EXPECT_TRUE(refused(choose));
  EXPECT_FALSE(refused(choose, Actor{"bob", false}));
  EXPECT_TRUE(refused(choose, Actor{"paul", false}));
  // nor does a coordinator choose among accounts of hers: she could
  run(add_user({"paul"}, {"optics"}));
  choose.where.users = {"paul"};
  choose.settings.default_account = "optics";
  EXPECT_TRUE(refused(choose));
  EXPECT_FALSE(refused(choose, Actor{"paul", false}));
  // whoever adds nothing changes no default
  auto again = add_user({"bob"}, {"physics"});
  again.settings.default_account = "physics";
  again.where.clusters = {"c1"};
  EXPECT_TRUE(refused(again, Actor{"paul", false}));
}

std::vector<std::string> numbered(const char* name, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(name + std::to_string(i));
  return out;
}

TEST_F(Rights, WhoMayChangeNothingIsRefusedAtOnce) {
  const Actor mallory{"mallory", false};
  const std::clock_t begun = std::clock();
  const auto long_one = add_user(numbered("g", 5000), numbered("nosuch", 5000));
  EXPECT_FALSE(may_ask(entities, long_one, mallory));
  for (const Actor& actor : {mallory, kCara, Actor{}}) {
    const ChangeOutcome outcome = decide_change(entities, long_one, actor, Time{});
    EXPECT_TRUE(outcome.reply.refused);
    EXPECT_EQ(outcome.reply.errors.size(), 1U);
  }
  const std::string denied = " Problem adding users: Access/permission denied";
  EXPECT_EQ(denial(long_one).errors, std::vector<std::string>{denied});
  EXPECT_TRUE(denial(long_one).refused);
  const auto short_one = add_user({"g"}, {"nosuch"});
  EXPECT_EQ(decide_change(entities, short_one, mallory, Time{}).reply.errors,
            std::vector<std::string>{denied});
  EXPECT_LT(std::clock() - begun, CLOCKS_PER_SEC);
  // of each kind
  for (const auto verb : {AccountingVerb::kAdd, AccountingVerb::kModify, AccountingVerb::kDelete})
    for (const auto entity :
         {AccountingEntity::kAccount, AccountingEntity::kUser, AccountingEntity::kCoordinator,
          AccountingEntity::kCluster, AccountingEntity::kQos, AccountingEntity::kWckey})
      EXPECT_FALSE(may_ask(entities, ask(verb, entity, {"bob", "mallory"}, {"chem"}), mallory));
  const auto own = ask(AccountingVerb::kModify, AccountingEntity::kUser, {"bob"}, {});
  EXPECT_TRUE(may_ask(entities, own, Actor{"bob", false}));
  EXPECT_FALSE(may_ask(entities, own, mallory));
  EXPECT_TRUE(may_ask(entities, long_one, kCara));
  EXPECT_TRUE(may_ask(entities, long_one, kRoot));
  entities.rules.without_coordinators = true;
  EXPECT_FALSE(may_ask(entities, long_one, kCara));
}

TEST_F(Rights, OfACoordinatorsListsAreLimited) {
  EXPECT_TRUE(refused(add_user(numbered("g", 600), numbered("nosuch", 600))));
  EXPECT_TRUE(refused(add_user(numbered("g", 400), numbered("nosuch", 400))));
  EXPECT_TRUE(refused(
      ask(AccountingVerb::kDelete, AccountingEntity::kAccount, {}, numbered("nosuch", 1001))));
  auto sets = ask(AccountingVerb::kModify, AccountingEntity::kAccount, {}, {"physics"});
  sets.settings.limits.assign(1001, {protocol::LimitField::kMaxJobs, 3, {}, {}});
  EXPECT_TRUE(refused(sets));
  EXPECT_FALSE(run(add_user(numbered("g", 500), {"physics"}), kCara).refused);
}

// An operator's may be as long as a site is large.
TEST_F(Rights, ManyNamesAreNoSquareOfWork) {
  const std::clock_t begun = std::clock();
  std::vector<std::string> all = numbered("nosuch", 1000);
  all.push_back("physics");
  EXPECT_FALSE(run(add_user(numbered("g", 2000), all)).refused);
  EXPECT_FALSE(run(add_account(numbered("a", 1000), "physics")).refused);
  protocol::QueryAccountingRequest query;
  query.entity = AccountingEntity::kUser;
  query.where.accounts = {"physics"};
  EXPECT_EQ(answer_query(entities, query, kRoot, {}).users.size(), 2002U);
  query.entity = AccountingEntity::kAccount;
  query.where.accounts.clear();
  query.where.clusters = {"c2"};
  EXPECT_EQ(answer_query(entities, query, kRoot, {}).accounts.size(), 1002U);
  EXPECT_EQ(problems_of(entities, {}, [](const std::string&) { return true; }).size(), 2000U);
  EXPECT_FALSE(run(ask(AccountingVerb::kDelete, AccountingEntity::kUser, {}, {"physics"})).refused);
  EXPECT_FALSE(
      run(ask(AccountingVerb::kDelete, AccountingEntity::kAccount, {}, numbered("a", 1000)))
          .refused);
  EXPECT_LT(std::clock() - begun, 10 * CLOCKS_PER_SEC);
}

TEST_F(Rights, NamesMoveNoCursorAndTurnNoText) {
  for (const char* name : {"a\xc2\x80", "a\xc2\x9b", "a\xe2\x80\xaa",
                           "a\xe2\x80\xae"
                           "b",
                           "a\xe2\x81\xa6", "a\xe2\x81\xa9", "a\xed\xa0\x80", "a\xe0\x80\xaf"}) {
    EXPECT_TRUE(run(add_account({name}, "root")).refused) << name;
    EXPECT_TRUE(run(add_user({name}, {"physics"})).refused) << name;
    auto described = add_account({"fine"}, "root");
    described.settings.description = name;
    EXPECT_TRUE(run(described).refused) << name;
  }
  EXPECT_EQ(run(add_account({"a\x1b[31m"}, "root")).errors.at(0),
            " Names and texts cannot be like 'a\\x1b[31m'.");
  EXPECT_FALSE(run(add_account({"physik\xc3\xa4\xe2\x80\xa6"}, "root")).refused);
}

TEST_F(Rights, PrivateAccountsAndCoordinatorsAreNotNamed) {
  protocol::QueryAccountingRequest query;
  const Actor paul{"paul", false};
  query.entity = AccountingEntity::kAccount;
  for (const AccountRecord& account : answer_query(entities, query, paul, {true, false}).accounts)
    EXPECT_TRUE(account.coordinators.empty()) << account.name;
  EXPECT_EQ(answer_query(entities, query, paul, {false, false}).accounts.at(1).coordinators,
            std::vector<std::string>{"cara"});
  query.entity = AccountingEntity::kUser;
  const auto users = answer_query(entities, query, paul, {true, true});
  ASSERT_EQ(users.accounts.size(), 1U);
  EXPECT_EQ(users.accounts[0].name, "physics");
  EXPECT_TRUE(users.accounts[0].coordinators.empty());
}

}  // namespace
}  // namespace sluice::dbd
