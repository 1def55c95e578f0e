// How deep a tree of accounts may be.
#include <ctime>

#include <gtest/gtest.h>

#include "dbd/entities/change.hpp"
#include "dbd/entities/query.hpp"

namespace sluice::dbd {
namespace {

using protocol::AccountingEntity;
using protocol::AccountingVerb;

const Actor kRoot{"root", true};
const Time kWhen(std::chrono::seconds(1'700'000'000));
constexpr int kMostLevels = kDeepestTree - 2;  // below root, with room for users

class Depth : public ::testing::Test {
 protected:
  Depth() {
    protocol::ClusterRecord cluster;
    cluster.name = "demo";
    std::vector<protocol::TransactionRecord> transactions;
    register_cluster(entities, cluster, "root", kWhen, transactions);
  }
  static std::string account(int level) { return "a" + std::to_string(level); }
  static protocol::ChangeAccountingRequest below(const std::string& name,
                                                 const std::string& parent) {
    protocol::ChangeAccountingRequest out;
    out.where.accounts = {name};
    out.settings.parent = parent;
    return out;
  }
  // root > a1 > a2 > … as far as it goes; the first that is refused.
  int grow(int most, std::string& error) {
    std::vector<protocol::TransactionRecord> transactions;
    for (int level = 1; level <= most; ++level) {
      const auto add = below(account(level), level == 1 ? "root" : account(level - 1));
      Entities before = level > kMostLevels ? entities : Entities();
      protocol::ChangeAccountingReply reply;
      if (change_in_place(entities, add, kRoot, kWhen, reply, transactions)) continue;
      entities = std::move(before);
      error = reply.errors.at(0);
      return level;
    }
    return 0;
  }
  std::string refusal(const protocol::ChangeAccountingRequest& request) {
    ChangeOutcome outcome = decide_change(entities, request, kRoot, kWhen);
    entities = std::move(outcome.after);
    return outcome.reply.errors.empty() ? "" : outcome.reply.errors.front();
  }
  static protocol::ChangeAccountingRequest move(const std::string& name,
                                                const std::string& parent) {
    protocol::ChangeAccountingRequest out = below(name, parent);
    out.verb = AccountingVerb::kModify;
    return out;
  }

  Entities entities = new_entities();
};

const std::string kTooDeep =
    " Account 'a63' would be more than 62 levels below root on cluster demo: that is the most.";

TEST_F(Depth, TenThousandLevelsAreRefused) {
  const std::clock_t begun = std::clock();
  std::string error;
  EXPECT_EQ(grow(10'000, error), kMostLevels + 1);
  EXPECT_EQ(error, kTooDeep);
  EXPECT_LT(std::clock() - begun, 2 * CLOCKS_PER_SEC);
}

TEST_F(Depth, TheDeepestAccountHasUsersWhoInheritAllOfIt) {
  std::string error;
  EXPECT_EQ(grow(kMostLevels, error), 0) << error;
  protocol::ChangeAccountingRequest user;
  user.entity = AccountingEntity::kUser;
  user.where.users = {"ann"};
  user.where.accounts = {account(kMostLevels)};
  EXPECT_EQ(refusal(user), "");
  protocol::ChangeAccountingRequest limit;
  limit.verb = AccountingVerb::kModify;
  limit.where.accounts = {"a1"};
  limit.settings.limits = {{protocol::LimitField::kMaxJobs, 3, {}, {}}};
  EXPECT_EQ(refusal(limit), "");
  const auto* ann = find_association(entities, "demo", account(kMostLevels), "ann", "");
  ASSERT_NE(ann, nullptr);
  EXPECT_EQ(depth_of(entities, ann->record.id), kDeepestTree);
  EXPECT_EQ(effective(entities, *ann).member.jobs, 3U);
  EXPECT_TRUE(ann->record.lineage.starts_with("/a1/a2/"));
  EXPECT_TRUE(ann->record.lineage.ends_with("/a62/0-ann/"));
}

TEST_F(Depth, WhatMovesTakesWhatIsBelowAlong) {
  std::string error;
  EXPECT_EQ(grow(40, error), 0) << error;
  EXPECT_EQ(refusal(below("b1", "root")), "");
  for (int level = 2; level <= 30; ++level)
    EXPECT_EQ(refusal(below("b" + std::to_string(level), "b" + std::to_string(level - 1))), "");
  EXPECT_EQ(refusal(move("b1", "a33")),
            " Account 'b1' would be more than 62 levels below root on cluster demo: that is the "
            "most.");
  EXPECT_EQ(find_association(entities, "demo", "b1", "", "")->record.lineage, "/b1/");
  EXPECT_EQ(refusal(move("b1", "a32")), "");
  EXPECT_EQ(refusal(move("a1", "b30")),
            " Account 'b30' is 'a1' or below it: it cannot be its parent.");
}

}  // namespace
}  // namespace sluice::dbd
