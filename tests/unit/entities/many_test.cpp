// Thousands of changes, as a flat file of a large site makes them.
#include <ctime>

#include <gtest/gtest.h>

#include "dbd/entities/change.hpp"
#include "dbd/entities/query.hpp"

namespace sluice::dbd {
namespace {

TEST(ManyChanges, AreMadeInPlaceAndAreTheSame) {
  Entities in_place = new_entities();
  std::vector<protocol::TransactionRecord> transactions;
  protocol::ClusterRecord cluster;
  cluster.name = "demo";
  const Time now(std::chrono::seconds(1'700'000'000));
  ASSERT_TRUE(register_cluster(in_place, cluster, "root", now, transactions));
  Entities one_by_one = in_place;
  const Actor root{"root", true};
  std::vector<protocol::ChangeAccountingRequest> changes;
  for (int account = 0; account < 20; ++account) {
    protocol::ChangeAccountingRequest add;
    add.where.accounts = {"account" + std::to_string(account)};
    if (account > 0) add.settings.parent = "account" + std::to_string(account / 2);
    changes.push_back(add);
    add.entity = protocol::AccountingEntity::kUser;
    add.settings.parent.reset();
    for (int user = 0; user < 10; ++user) {
      add.where.users = {"user" + std::to_string((account * 10 + user) % 150)};
      changes.push_back(add);
    }
  }
  std::vector<protocol::TransactionRecord> from_place;
  for (const auto& change : changes) {
    protocol::ChangeAccountingReply reply;
    ASSERT_TRUE(change_in_place(in_place, change, root, now, reply, from_place));
    ChangeOutcome outcome = decide_change(one_by_one, change, root, now);
    EXPECT_EQ(outcome.reply.shown, reply.shown);
    one_by_one = std::move(outcome.after);
  }
  EXPECT_EQ(in_place, one_by_one);
  EXPECT_EQ(in_place.associations.size(), 2U + 20 + 200);
  EXPECT_EQ(default_qos_problem(in_place), "");
  Entities again = in_place;
  renew_places(again);
  EXPECT_EQ(again, in_place);
}

// Each user was compared with each wckey.
TEST(ManyUsers, AreFoundByTheirWckeys) {
  constexpr uint32_t kMany = 40000;
  Entities entities = new_entities();
  for (uint32_t i = 1; i <= kMany; ++i) {
    const std::string name = "user" + std::to_string(i);
    UserRecord user;
    user.name = name;
    entities.users[name] = {user, false};
    WckeyRecord wckey;
    wckey.id = i;
    wckey.cluster = "demo";
    wckey.user = name;
    wckey.name = i % 1000 == 0 ? "thesis" : "paper";
    entities.wckeys[i] = {wckey, false};
  }
  protocol::QueryAccountingRequest query;
  query.entity = protocol::AccountingEntity::kUser;
  query.where.wckeys = {"thesis"};
  const std::clock_t begun = std::clock();
  EXPECT_EQ(answer_query(entities, query, Actor{"root", true}, {false, false}).users.size(), 40U);
  EXPECT_LT(std::clock() - begun, 2 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace sluice::dbd
