// What sacctmgr's requests change, who may, and what they are answered.
#include <limits>

#include "common/wire/codec.hpp"
#include "dbd/entities/query.hpp"
#include "unit/entities/change_fixture.hpp"

namespace sluice::dbd {
namespace {

TEST_F(Change, ANewClusterHasRootAndItsUser) {
  EXPECT_EQ(of("root").lineage, "/");
  EXPECT_EQ(of("root").qos, std::vector<QosId>{1});
  EXPECT_EQ(of("root", "root").lineage, "/0-root/");
  EXPECT_TRUE(of("root", "root").is_default);
}

TEST_F(Change, AccountsAreAddedUnderTheirParent) {
  auto what = add_account({"physics"});
  what.settings.description = "phys";
  what.settings.organization = "science";
  EXPECT_EQ(shown(what),
            " Adding Account(s)\n  physics\n Settings\n  Description     = phys\n"
            "  Organization    = science\n Associations\n  A = physics    C = demo      \n"
            " Settings\n  Parent        = root\n");
  auto more = add_account({"chem", "bio"}, "physics");
  more.settings.limits = {count(LimitField::kFairshare, 5),
                          tres(LimitField::kGrpTres, {{1, 100}, {2, 10240}}),
                          count(LimitField::kGrpJobs, 7), count(LimitField::kMaxWall, 86400)};
  EXPECT_EQ(shown(more),
            " Adding Account(s)\n  chem\n  bio\n Settings\n  Description     = Account Name\n"
            "  Organization    = Parent/Account Name\n Associations\n"
            "  A = chem       C = demo      \n  A = bio        C = demo      \n Settings\n"
            "  Fairshare     = 5\n  GrpJobs       = 7\n  GrpTRES       = cpu=100,mem=10G\n"
            "  MaxWall       = 1-00:00:00\n  Parent        = physics\n");
  EXPECT_EQ(of("chem").lineage, "/physics/chem/");
  EXPECT_EQ(find_account(entities, "chem")->organization, "physics");
  EXPECT_EQ(shown(add_account({"physics"})), " Nothing new added.\n");
  EXPECT_EQ(shown(add_account({"x"}, "nope")),
            " Parent account 'nope' doesn't exist on cluster demo\n        Contact your admin to "
            "add this account.\n No associations created.\n");
}

TEST_F(Change, LimitsAndQosAreInherited) {
  run(add_qos("high"));
  run(add_account({"physics"}));
  run(add_account({"chem"}, "physics"));
  run(add_user({"alice"}, {"chem"}));
  auto parent = modify_account("physics");
  parent.settings.limits = {count(LimitField::kMaxJobs, 3),
                            tres(LimitField::kMaxTresPerJob, {{1, 8}, {4, 2}}),
                            count(LimitField::kGrpJobs, 50)};
  parent.settings.qos = {{{"high"}, SetChange::kAdd}};
  EXPECT_EQ(shown(parent),
            " Modified account associations...\n  C = demo       A = physics of root\n"
            "  C = demo       A = chem                 U = alice    \n");
  EXPECT_EQ(of("chem", "alice").member.jobs, 3U);
  EXPECT_EQ(of("chem", "alice").group.jobs, std::nullopt);  // of the group, which is physics'
  EXPECT_EQ(of("chem", "alice").qos, (std::vector<QosId>{1, 2}));
  auto own = modify_user("alice");
  own.settings.limits = {tres(LimitField::kMaxTresPerJob, {{1, 4}}),
                         count(LimitField::kMaxJobs, 9)};
  own.settings.qos = {{{"high"}, SetChange::kRemove}};
  run(own);
  EXPECT_EQ(of("chem", "alice").job.tres, (TresAmounts{{1, 4}, {4, 2}}));
  EXPECT_EQ(of("chem", "alice").member.jobs, 9U);
  EXPECT_EQ(of("chem", "alice").qos, std::vector<QosId>{1});
  auto clear = modify_user("alice");
  clear.settings.limits = {tres(LimitField::kMaxTresPerJob, {{1, protocol::kClearTres}}),
                           count(LimitField::kMaxJobs, std::nullopt)};
  run(clear);
  EXPECT_EQ(of("chem", "alice").job.tres, (TresAmounts{{1, 8}, {4, 2}}));
  EXPECT_EQ(of("chem", "alice").member.jobs, 3U);
}

// As in Slurm: of what is below the users alone, and not those below an account with a value of its
// own. Such accounts and their users were named, too.
TEST_F(Change, UsersAreNamedWhomAChangeReaches) {
  run(add_qos("high"));
  run(add_account({"physics"}));
  run(add_account({"chem"}, "physics"));
  run(add_account({"lab"}, "chem"));
  run(add_user({"alice"}, {"physics"}));
  run(add_user({"bob"}, {"lab"}));
  const std::string top =
      " Modified account associations...\n  C = demo       A = physics of root\n"
      "  C = demo       A = physics              U = alice    \n";
  const std::string below = "  C = demo       A = lab                  U = bob      \n";
  auto own = modify_account("chem");
  own.settings.limits = {count(LimitField::kMaxJobs, 9)};
  run(own);
  auto jobs = modify_account("physics");
  jobs.settings.limits = {count(LimitField::kMaxJobs, 3)};
  EXPECT_EQ(shown(jobs), top);
  jobs.settings.limits.push_back(count(LimitField::kMaxWall, 3600));
  EXPECT_EQ(shown(jobs), top + below);
  auto signs = modify_account("chem");
  signs.settings.qos = {{{"high"}, SetChange::kAdd}};
  run(signs);
  auto qos = modify_account("physics");
  qos.settings.qos = {{{"normal", "high"}, SetChange::kReplace}};
  EXPECT_EQ(shown(qos), top + below);
  auto list = modify_account("lab");
  list.settings.qos = {{{"normal"}, SetChange::kReplace}};
  run(list);
  EXPECT_EQ(shown(qos), top);
}

TEST_F(Change, ADefaultQosMustBeThere) {
  run(add_qos("high"));
  run(add_account({"physics"}));
  run(add_user({"alice"}, {"physics"}));
  auto what = modify_user("alice");
  what.settings.default_qos = "high";
  EXPECT_TRUE(run(what).refused);
  what.settings.qos = {{{"high", "normal"}, SetChange::kReplace}};
  EXPECT_FALSE(run(what).refused);
  EXPECT_EQ(of("physics", "alice").default_qos, 2U);
  auto without = modify_user("alice");
  without.settings.qos = {{{"high"}, SetChange::kRemove}};
  EXPECT_NE(shown(without).find("  DefQOS = high       C = demo       A = physics              U = "
                                "alice    "),
            std::string::npos);
  auto gone = request(AccountingVerb::kDelete, AccountingEntity::kQos);
  gone.where.names = {"high"};
  EXPECT_TRUE(run(gone).refused);
}

TEST_F(Change, WhatIsDeletedComesBackWithItsId) {
  run(add_account({"physics"}));
  run(add_user({"bob"}, {"physics"}));
  const AssociationId id = of("physics", "bob").id;
  auto gone = request(AccountingVerb::kDelete, AccountingEntity::kUser);
  gone.where.users = {"bob"};
  EXPECT_EQ(shown(gone), " Deleting users...\n  bob\n");
  EXPECT_EQ(of("physics", "bob").id, 0U);
  EXPECT_EQ(shown(gone), " Nothing deleted\n");
  run(add_user({"bob"}, {"physics"}));
  EXPECT_EQ(of("physics", "bob").id, id);
  EXPECT_TRUE(of("physics", "bob").is_default);
}

TEST_F(Change, DefaultAccountsAreNotTakenAway) {
  run(add_account({"physics", "chem"}));
  run(add_user({"bob"}, {"physics", "chem"}));
  auto account = request(AccountingVerb::kDelete, AccountingEntity::kAccount);
  account.where.accounts = {"physics"};
  EXPECT_TRUE(run(account).refused);
  auto association = request(AccountingVerb::kDelete, AccountingEntity::kUser);
  association.where.users = {"bob"};
  association.where.accounts = {"physics"};
  EXPECT_TRUE(run(association).refused);
  association.where.accounts = {"chem"};
  EXPECT_EQ(shown(association),
            " Deleting user associations...\n  C = demo       A = chem       U = bob      \n");
  account.where.accounts = {"chem"};
  EXPECT_EQ(shown(account), " Deleting accounts...\n  chem\n");
  account.where.accounts = {"root"};
  EXPECT_TRUE(run(account).refused);
}

TEST_F(Change, ATreeHasNoCircle) {
  run(add_account({"a"}));
  run(add_account({"b"}, "a"));
  auto what = modify_account("a");
  what.settings.parent = "b";
  EXPECT_TRUE(run(what).refused);
  auto up = modify_account("b");
  up.settings.parent = "root";
  run(up);
  EXPECT_EQ(of("b").lineage, "/b/");
  EXPECT_FALSE(run(what).refused);
  EXPECT_EQ(of("a").lineage, "/b/a/");
}

TEST_F(Change, PreemptionHasNoCircle) {
  run(add_qos("low"));
  auto high = add_qos("high");
  high.settings.preempt = {{{"low"}, SetChange::kReplace}};
  EXPECT_EQ(shown(high),
            " Adding QOS(s)\n  high\n Settings\n  Description    = high\n"
            "  Preempt                  = low\n");
  auto what = request(AccountingVerb::kModify, AccountingEntity::kQos);
  what.where.names = {"low"};
  what.settings.preempt = {{{"high"}, SetChange::kAdd}};
  EXPECT_TRUE(run(what).refused);
  // that it was modified was told as well
  EXPECT_EQ(shown(what),
            "sacctmgr: error: QOS Preemption loop detected\n"
            " Error with request: QOS Preemption loop detected\n");
}

// As Slurm 22.05 printed them: other names, other digits and another order were told.
TEST_F(Change, SettingsOfAQosAreNamedAsSlurmDoes) {
  auto what = add_qos("odd");
  protocol::LimitSetting factor;
  factor.field = LimitField::kUsageFactor;
  factor.real = 2.5;
  what.settings.limits = {factor,
                          count(LimitField::kMinPrioThreshold, 5),
                          tres(LimitField::kMaxTresMinsPerJob, {{1, 100}}),
                          count(LimitField::kMaxJobs, 4),
                          count(LimitField::kMaxJobsPerAccount, 3),
                          count(LimitField::kPreemptExemptTime, 600)};
  what.settings.preempt_mode = QosPreemptMode::kRequeue;
  EXPECT_EQ(shown(what),
            " Adding QOS(s)\n  odd\n Settings\n  Description    = odd\n"
            "  MaxJobsPerAccount        = 3\n"
            "  MaxJobsPerUser           = 4\n"
            "  MinPrioThresh            = 5\n"
            "  MaxTRESMins              = cpu=100\n"
            "  PreemptMode              = REQUEUE\n"
            "  PreemptExemptTime        = 00:10:00\n"
            "  UsageFactor              = 2.5000\n");
}

TEST_F(Change, WhatANewAccountIsBelowIsToldBesideItsLimits) {
  auto what = add_account({"physics"});
  what.settings.limits = {count(LimitField::kGrpJobs, 3)};
  EXPECT_TRUE(shown(what).ends_with(" Settings\n  GrpJobs       = 3\n  Parent        = root\n"));
}

TEST_F(Change, ClustersAreToldWithTheirRoot) {
  auto what = request(AccountingVerb::kModify, AccountingEntity::kCluster);
  what.settings.limits = {count(LimitField::kGrpJobs, 1000)};
  EXPECT_EQ(shown(what),
            " Setting\n  Default Limits:\n  GrpJobs       = 1000\n"
            " Modified cluster defaults for associations...\n  C = demo       A = root\n");
  // and with the users whom it reaches
  what.settings.limits = {count(LimitField::kMaxJobs, 5)};
  EXPECT_TRUE(shown(what).ends_with(
      "  C = demo       A = root\n  C = demo       A = root                 U = root     \n"));
}

TEST_F(Change, OnlyThoseWhoMayChange) {
  run(add_account({"physics", "other"}));
  run(add_account({"chem"}, "physics"));
  run(add_user({"alice", "carol", "bob"}, {"physics"}));
  auto level = modify_user("carol");
  level.settings.admin_level = AdminLevel::kOperator;
  run(level);
  auto coordinator = request(AccountingVerb::kAdd, AccountingEntity::kCoordinator);
  coordinator.where.users = {"alice"};
  coordinator.where.accounts = {"physics"};
  EXPECT_EQ(shown(coordinator),
            " Adding Coordinator User(s)\n  alice\n To Account(s) and all sub-accounts\n"
            "  physics\n");
  const Actor alice{"alice", false};
  const Actor bob{"bob", false};
  const Actor carol{"carol", false};

  // a plain user: nothing, but his own default account
  EXPECT_TRUE(run(add_account({"x"}), bob).refused);
  EXPECT_TRUE(run(add_user({"x"}, {"physics"}), bob).refused);
  EXPECT_TRUE(run(add_qos("x"), bob).refused);
  auto own = modify_user("bob");
  own.settings.limits = {count(LimitField::kMaxJobs, 100)};
  EXPECT_EQ(shown(own, bob),
            "sacctmgr: error: You can only change your own default account, default wckey nothing "
            "else\n Error with request: Access/permission denied\n");
  auto others = own;
  others.where.users = {"carol"};
  EXPECT_EQ(shown(others, bob),
            "sacctmgr: error: Your user doesn't have privilege to perform this action\n"
            " Error with request: Access/permission denied\n");
  own.settings.limits.clear();
  own.settings.default_account = "physics";
  EXPECT_FALSE(run(own, bob).refused);
  auto become = modify_user("bob");
  become.settings.admin_level = AdminLevel::kAdministrator;
  EXPECT_TRUE(run(become, bob).refused);
  EXPECT_TRUE(run(become, Actor{"", false}).refused);

  // a coordinator: below his account, without more QOS than it has
  EXPECT_FALSE(run(add_account({"new"}, "chem"), alice).refused);
  EXPECT_FALSE(run(add_user({"dave"}, {"chem"}), alice).refused);
  EXPECT_TRUE(run(add_user({"dave"}, {"other"}), alice).refused);
  EXPECT_TRUE(run(add_account({"new2"}), alice).refused);
  run(add_qos("high"));
  auto give = modify_user("dave");
  give.settings.qos = {{{"high"}, SetChange::kAdd}};
  EXPECT_TRUE(run(give, alice).refused);
  give.settings.qos.clear();
  give.settings.limits = {count(LimitField::kMaxJobs, 2)};
  EXPECT_FALSE(run(give, alice).refused);

  // an operator: all but levels, QOS and new clusters
  EXPECT_FALSE(run(add_account({"x"}), carol).refused);
  become.where.users = {"carol"};
  EXPECT_TRUE(run(become, carol).refused);
  become.settings.admin_level = AdminLevel::kNone;
  become.where.users = {"root"};
  EXPECT_TRUE(run(become, carol).refused);
  auto cluster = request(AccountingVerb::kAdd, AccountingEntity::kCluster);
  cluster.where.clusters = {"two"};
  EXPECT_TRUE(run(cluster, carol).refused);
  EXPECT_FALSE(run(cluster).refused);
}

TEST_F(Change, EveryChangeIsATransaction) {
  run(add_account({"physics"}));
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(last[0].action, "Add Accounts");
  EXPECT_EQ(last[0].actor, "root");
  EXPECT_EQ(last[0].where, "physics");
  EXPECT_EQ(last[0].info, "description='physics', organization='physics', flags='0'");
  EXPECT_EQ(last[1].action, "Add Associations");
  EXPECT_EQ(last[1].accounts, std::vector<std::string>{"physics"});
  EXPECT_EQ(last[1].info,
            "mod_time=1700000001, acct='physics', is_def=0, parent_acct='root', user='', "
            "id_parent='1', lineage='/physics/', shares=1, grp_jobs=NULL, grp_jobs_accrue=NULL, "
            "grp_submit_jobs=NULL, grp_wall=NULL, max_jobs=NULL, max_jobs_accrue=NULL, "
            "max_submit_jobs=NULL, max_wall_pj=NULL, min_prio_thresh=NULL, priority=NULL, "
            "def_qos_id=NULL, qos=''");
  protocol::AccountingConditions where;
  where.users = {"nobody"};
  EXPECT_FALSE(matches(last[1], where));
  where.users.clear();
  where.actions = {"add associations"};
  EXPECT_TRUE(matches(last[1], where));
}

TEST_F(Change, HostileTextsAreRefusedOrKeptAsTheyAre) {
  const std::string hostile[] = {"a'; DROP TABLE account; --",
                                 "a\"b",
                                 "a b",
                                 "a,b",
                                 "a/b",
                                 "a\nb",
                                 "a|b",
                                 std::string("a\0b", 3),
                                 "\xff\xfe",
                                 "",
                                 "a`b",
                                 "%s%n",
                                 std::string(251, 'x')};
  for (const std::string& name : hostile) {
    EXPECT_TRUE(run(add_account({name})).refused) << name;
    EXPECT_TRUE(run(add_user({name}, {"root"})).refused) << name;
    EXPECT_TRUE(run(add_qos(name.c_str())).refused ||
                name.size() != std::string(name.c_str()).size())
        << name;
    auto partition = add_user({"eve"}, {"root"});
    partition.where.partitions = {name};
    EXPECT_TRUE(run(partition).refused) << name;
    auto cluster = request(AccountingVerb::kAdd, AccountingEntity::kCluster);
    cluster.where.clusters = {name};
    EXPECT_TRUE(run(cluster).refused) << name;
  }
  auto what = add_account({"fine"});
  what.settings.description = "Robert'); DROP TABLE account;-- \"quoted\" \\ é";
  EXPECT_FALSE(run(what).refused);
  EXPECT_EQ(find_account(entities, "fine")->description, *what.settings.description);
  what = add_account({"fine2"});
  what.settings.description = "two\nlines";
  EXPECT_TRUE(run(what).refused);
  what.settings.description = std::string(1025, 'x');
  EXPECT_TRUE(run(what).refused);
}

TEST_F(Change, RulesOfTheSite) {
  run(add_qos("usual"));
  run(add_account({"physics", "chem"}));
  run(add_user({"alice"}, {"physics", "chem"}));
  auto coordinator = request(AccountingVerb::kAdd, AccountingEntity::kCoordinator);
  coordinator.where.users = {"alice"};
  coordinator.where.accounts = {"physics"};
  run(coordinator);
  auto none = modify_user("alice");
  none.settings.default_account = "";
  EXPECT_TRUE(run(none).refused);
  EXPECT_FALSE(run(add_account({"one"}, "physics"), Actor{"alice", false}).refused);
  entities.rules = {{"Usual"}, true, true};
  EXPECT_TRUE(run(add_account({"two"}, "physics"), Actor{"alice", false}).refused);
  auto gone = request(AccountingVerb::kDelete, AccountingEntity::kUser);
  gone.where.users = {"alice"};
  gone.where.accounts = {"physics"};
  EXPECT_FALSE(run(gone).refused);
  EXPECT_FALSE(run(none).refused);
  auto cluster = request(AccountingVerb::kAdd, AccountingEntity::kCluster);
  cluster.where.clusters = {"two"};
  run(cluster);
  EXPECT_EQ(find_association(entities, "two", "root", "", "")->record.qos, std::vector<QosId>{2});
  EXPECT_EQ(of("root").qos, std::vector<QosId>{1});
}

TEST_F(Change, ValuesThatAreNoneAreRefused) {
  run(add_account({"physics"}));
  auto level = modify_user("root");
  level.settings.admin_level = static_cast<AdminLevel>(9);
  EXPECT_TRUE(run(level).refused);
  auto what = modify_account("physics");
  what.settings.limits = {count(static_cast<LimitField>(99), 1)};
  EXPECT_TRUE(run(what).refused);
  what.settings.limits = {tres(LimitField::kGrpTres, {{4711, 1}})};
  EXPECT_TRUE(run(what).refused);
  what.settings.limits = {tres(LimitField::kGrpTres, {{4, 1}, {1, 2}, {1, 3}})};
  EXPECT_FALSE(run(what).refused);
  EXPECT_EQ(of("physics").group.tres, (TresAmounts{{1, 3}, {4, 1}}));
  auto qos = add_qos("odd");
  protocol::LimitSetting factor;
  factor.field = LimitField::kUsageFactor;
  factor.real = std::numeric_limits<double>::quiet_NaN();
  qos.settings.limits = {factor};
  EXPECT_TRUE(run(qos).refused);
  what.entity = static_cast<AccountingEntity>(77);
  EXPECT_TRUE(run(what).refused);
}

TEST_F(Change, DifferencesAreWhatChangedAlone) {
  const Entities before = entities;
  run(add_account({"physics"}));
  const EntityDiff diff = difference(before, entities);
  EXPECT_EQ(diff.accounts.size(), 1U);
  EXPECT_EQ(diff.associations.size(), 1U);
  EXPECT_TRUE(diff.users.empty());
  EXPECT_TRUE(diff.qos.empty());
  EXPECT_EQ(diff.version, before.version + 1);
}

TEST_F(Change, PrivateDataHidesOthers) {
  run(add_account({"physics", "other"}));
  run(add_user({"alice", "bob"}, {"physics"}));
  protocol::QueryAccountingRequest query;
  query.entity = AccountingEntity::kUser;
  const Actor alice{"alice", false};
  EXPECT_EQ(answer_query(entities, query, alice, {}).users.size(), 3U);
  const auto hidden = answer_query(entities, query, alice, {true, true});
  ASSERT_EQ(hidden.users.size(), 1U);
  EXPECT_EQ(hidden.users[0].name, "alice");
  query.entity = AccountingEntity::kAccount;
  const auto accounts = answer_query(entities, query, alice, {true, true});
  ASSERT_EQ(accounts.accounts.size(), 1U);
  EXPECT_EQ(accounts.accounts[0].name, "physics");
  EXPECT_EQ(answer_query(entities, query, kRoot, {true, true}).accounts.size(), 3U);
}

TEST_F(Change, ProblemsAreAccountsWithoutUsersAndUsersWithoutUid) {
  run(add_account({"physics", "empty"}));
  run(add_user({"alice"}, {"physics"}));
  const auto problems =
      problems_of(entities, {}, [](const std::string& name) { return name == "root"; });
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].account, "empty");
  EXPECT_EQ(problems[0].problem, "Account has no users");
  EXPECT_EQ(problems[1].user, "alice");
  EXPECT_EQ(problems[1].problem, "User does not have a uid");
}

TEST_F(Change, ATresKeepsItsNumber) {
  EXPECT_EQ(tres_id(entities, "gres", "gpu"), 1001U);
  EXPECT_EQ(tres_id(entities, "license", "matlab"), 1002U);
  EXPECT_EQ(tres_id(entities, "gres", "gpu"), 1001U);
  EXPECT_EQ(tres_id(entities, "cpu", ""), 1U);
}

}  // namespace
}  // namespace sluice::dbd
