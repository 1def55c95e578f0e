// A site of one cluster that requests of sacctmgr change, and how tests write such requests.
#pragma once

#include <gtest/gtest.h>

#include "dbd/entities/change.hpp"

namespace sluice::dbd {

using protocol::AccountingEntity;
using protocol::AccountingVerb;
using protocol::ChangeAccountingReply;
using protocol::ChangeAccountingRequest;
using protocol::LimitField;
using protocol::SetChange;

inline const Actor kRoot{"root", true};

inline ChangeAccountingRequest request(AccountingVerb verb, AccountingEntity entity) {
  ChangeAccountingRequest out;
  out.verb = verb;
  out.entity = entity;
  return out;
}
inline ChangeAccountingRequest add_account(std::vector<std::string> names,
                                           const char* parent = nullptr) {
  auto out = request(AccountingVerb::kAdd, AccountingEntity::kAccount);
  out.where.accounts = std::move(names);
  if (parent != nullptr) out.settings.parent = parent;
  return out;
}
inline ChangeAccountingRequest add_user(std::vector<std::string> names,
                                        std::vector<std::string> accounts) {
  auto out = request(AccountingVerb::kAdd, AccountingEntity::kUser);
  out.where.users = std::move(names);
  out.where.accounts = std::move(accounts);
  return out;
}
inline ChangeAccountingRequest add_qos(const char* name) {
  auto out = request(AccountingVerb::kAdd, AccountingEntity::kQos);
  out.where.names = {name};
  return out;
}
inline ChangeAccountingRequest modify_user(const char* name) {
  auto out = request(AccountingVerb::kModify, AccountingEntity::kUser);
  out.where.users = {name};
  return out;
}
inline ChangeAccountingRequest modify_account(const char* name) {
  auto out = request(AccountingVerb::kModify, AccountingEntity::kAccount);
  out.where.accounts = {name};
  return out;
}
inline protocol::LimitSetting count(LimitField field, std::optional<int64_t> number) {
  protocol::LimitSetting out;
  out.field = field;
  out.number = number;
  return out;
}
inline protocol::LimitSetting tres(LimitField field, TresAmounts amounts) {
  protocol::LimitSetting out;
  out.field = field;
  out.tres = std::move(amounts);
  return out;
}

// A site of one cluster, changed by one request after the other.
class Change : public ::testing::Test {
 protected:
  Change() : entities(new_entities()) {
    protocol::ClusterRecord cluster;
    cluster.name = "demo";
    std::vector<protocol::TransactionRecord> transactions;
    EXPECT_TRUE(register_cluster(entities, cluster, "root", at(0), transactions));
  }
  static Time at(int second) { return Time(std::chrono::seconds(1'700'000'000 + second)); }
  ChangeAccountingReply run(const ChangeAccountingRequest& what, const Actor& actor = kRoot) {
    ChangeOutcome outcome = decide_change(entities, what, actor, at(++second));
    last = std::move(outcome.transactions);
    if (outcome.reply.refused) EXPECT_EQ(outcome.after, entities);
    else EXPECT_GT(outcome.after.version, entities.version);
    entities = std::move(outcome.after);
    return outcome.reply;
  }
  std::string shown(const ChangeAccountingRequest& what, const Actor& actor = kRoot) {
    const ChangeAccountingReply reply = run(what, actor);
    std::string out;
    for (const std::string& line : reply.errors) out += line + "\n";
    return out + reply.shown;
  }
  AssociationRecord of(const char* account, const char* user = "", const char* partition = "") {
    const StoredAssociation* found = find_association(entities, "demo", account, user, partition);
    return found == nullptr ? AssociationRecord{} : effective(entities, *found);
  }

  Entities entities;
  std::vector<protocol::TransactionRecord> last;
  int second = 0;
};

}  // namespace sluice::dbd
