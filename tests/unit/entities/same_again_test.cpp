// What is set to what it is already is no difference: nothing is written then, and no controller
// has to look.
#include <gtest/gtest.h>

#include "dbd/entities/change.hpp"

namespace sluice::dbd {
namespace {

using protocol::AccountingEntity;
using protocol::AccountingVerb;
using protocol::ChangeAccountingRequest;
using protocol::LimitField;
using protocol::SetChange;

class SameAgain : public ::testing::Test {
 protected:
  SameAgain() : entities(new_entities()) {
    run(request(AccountingVerb::kAdd, AccountingEntity::kCluster, "demo"));
    run(request(AccountingVerb::kAdd, AccountingEntity::kAccount, "physics"));
    run(request(AccountingVerb::kAdd, AccountingEntity::kAccount, "chem"));
    run(request(AccountingVerb::kAdd, AccountingEntity::kQos, "high"));
    run(request(AccountingVerb::kAdd, AccountingEntity::kQos, "low"));
    auto user = request(AccountingVerb::kAdd, AccountingEntity::kUser, "alice");
    user.where.accounts = {"physics", "chem"};
    user.where.wckeys = {"first", "key"};
    run(user);
  }
  static ChangeAccountingRequest request(AccountingVerb verb, AccountingEntity entity,
                                         const char* name) {
    ChangeAccountingRequest out;
    out.verb = verb;
    out.entity = entity;
    if (entity == AccountingEntity::kAccount) out.where.accounts = {name};
    if (entity == AccountingEntity::kUser) out.where.users = {name};
    if (entity == AccountingEntity::kQos) out.where.names = {name};
    if (entity == AccountingEntity::kCluster) out.where.clusters = {name};
    return out;
  }
  EntityDiff run(const ChangeAccountingRequest& what) {
    ChangeOutcome outcome =
        decide_change(entities, what, Actor{"root", true}, Time(Duration(++moment)));
    EXPECT_FALSE(outcome.reply.refused) << outcome.reply.shown;
    EntityDiff diff = difference(entities, outcome.after);
    entities = std::move(outcome.after);
    return diff;
  }
  void expect_change_once(const ChangeAccountingRequest& what) {
    EXPECT_FALSE(run(what).empty());
    EXPECT_TRUE(run(what).empty());
  }

  Entities entities;
  int64_t moment = 0;
};

TEST_F(SameAgain, OfAUser) {
  auto what = request(AccountingVerb::kModify, AccountingEntity::kUser, "alice");
  what.settings.default_account = "chem";
  expect_change_once(what);
  what.settings.default_wckey = "key";
  expect_change_once(what);
  what.settings.admin_level = AdminLevel::kOperator;
  what.settings.limits = {{LimitField::kMaxJobs, 5, {}, {}},
                          {LimitField::kMaxTresPerJob, {}, {}, {{1, 4}, {2, 100}}}};
  expect_change_once(what);
}

TEST_F(SameAgain, OfAnAccount) {
  auto what = request(AccountingVerb::kModify, AccountingEntity::kAccount, "physics");
  what.settings.description = "words";
  what.settings.users_are_coordinators = true;
  expect_change_once(what);
  what.settings.parent = "chem";
  what.settings.comment = "words";
  expect_change_once(what);
}

TEST_F(SameAgain, OfQosThatAreInherited) {
  auto what = request(AccountingVerb::kModify, AccountingEntity::kUser, "alice");
  what.settings.qos = {{{"high", "low"}, SetChange::kAdd}};
  expect_change_once(what);
  what.settings.qos = {{{"high"}, SetChange::kAdd}};
  EXPECT_TRUE(run(what).empty());
  what.settings.qos = {{{"low"}, SetChange::kRemove}};
  expect_change_once(what);
  what.settings.qos = {{{"low", "high"}, SetChange::kReplace}};
  expect_change_once(what);
  what.settings.default_qos = "high";
  expect_change_once(what);
}

TEST_F(SameAgain, OfAQos) {
  auto what = request(AccountingVerb::kModify, AccountingEntity::kQos, "high");
  what.settings.description = "fast";
  what.settings.preempt = {{{"low"}, SetChange::kAdd}};
  what.settings.limits = {{LimitField::kGrpJobs, 7, {}, {}}};
  expect_change_once(what);
}

TEST_F(SameAgain, OfACluster) {
  auto what = request(AccountingVerb::kModify, AccountingEntity::kCluster, "demo");
  what.settings.limits = {{LimitField::kFairshare, 7, {}, {}}};
  expect_change_once(what);
}

}  // namespace
}  // namespace sluice::dbd
