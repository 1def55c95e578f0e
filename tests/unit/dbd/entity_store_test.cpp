// Entities survive in their database as they are, whoever changes them, and however often.
#include "dbd/store/entity_store.hpp"

#include <gtest/gtest.h>

#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/history/ingest.hpp"
#include "unit/dbd/storages.hpp"

namespace sluice::dbd {
namespace {

using protocol::AccountingEntity;
using protocol::AccountingVerb;
using protocol::ChangeAccountingRequest;

const Actor kRoot{"root", true};
constexpr const char* kHostile = "x'); DROP TABLE account; --\"\\ \xc3\xbc ; :n ?1";

Time at(int64_t seconds) { return from_seconds(1'700'000'000 + seconds); }

ChangeAccountingRequest add(AccountingEntity entity, const std::string& name) {
  ChangeAccountingRequest out;
  out.entity = entity;
  out.commit = true;
  if (entity == AccountingEntity::kCluster) out.where.clusters = {name};
  if (entity == AccountingEntity::kAccount) out.where.accounts = {name};
  if (entity == AccountingEntity::kUser) out.where.users = {name};
  if (entity == AccountingEntity::kQos) out.where.names = {name};
  return out;
}

class Store : public test::WithStorage {
 protected:
  Store() { open(); }
  void open() {
    store.reset();
    database.reset();
    auto opened = Database::open(storage);
    ASSERT_TRUE(opened) << opened.error().text;
    database = std::move(*opened);
    store.emplace(*database, SiteRules{});
    ASSERT_TRUE(store->open());
  }
  bool run(const ChangeAccountingRequest& request, EntityStore* on = nullptr) {
    const auto reply = (on != nullptr ? on : &*store)->change(request, kRoot, at(++second));
    return reply && reply->committed;
  }

  std::unique_ptr<Database> database;
  std::optional<EntityStore> store;
  int second = 0;
};
SLUICE_STORAGES(Store);

TEST_P(Store, RulesOfTheSiteMayChange) {
  const auto before = store->current();
  store->use({{"normal"}, true, true});
  EXPECT_FALSE(before->rules.without_coordinators);
  EXPECT_TRUE(store->current()->rules.without_coordinators);
  ASSERT_TRUE(run(add(AccountingEntity::kCluster, "demo")));
  EXPECT_TRUE(store->current()->rules.without_default_account);
}

TEST_P(Store, WhatWasCommittedIsReadAgain) {
  ASSERT_TRUE(run(add(AccountingEntity::kCluster, "demo")));
  auto account = add(AccountingEntity::kAccount, "physics");
  account.settings.description = kHostile;
  account.settings.comment = kHostile;
  ASSERT_TRUE(run(account));
  ASSERT_TRUE(run(add(AccountingEntity::kQos, "high")));
  auto user = add(AccountingEntity::kUser, "alice");
  user.where.accounts = {"physics"};
  user.where.wckeys = {"key"};
  user.settings.qos = {{{"high"}, protocol::SetChange::kAdd}};
  ASSERT_TRUE(run(user));
  const Entities before = *store->current();
  open();
  EXPECT_EQ(*store->current(), before);
  EXPECT_EQ(find_account(*store->current(), "physics")->description, kHostile);
  EXPECT_EQ(find_association(*store->current(), "demo", "physics", "", "")->record.comment,
            kHostile);
  protocol::AccountingConditions where;
  where.actions = {"Add Accounts"};
  const auto transactions = store->transactions(where, 0);
  ASSERT_TRUE(transactions);
  ASSERT_EQ(transactions->records.size(), 1U);
  EXPECT_NE(transactions->records[0].info.find(kHostile), std::string::npos);
  EXPECT_EQ(transactions->more_after, 0U);
  where.actions = {kHostile};
  EXPECT_TRUE(store->transactions(where, 0)->records.empty());
}

// No answer is too long to be sent, however much there is.
TEST_P(Store, TransactionsComeInPages) {
  constexpr size_t kMany = 6000;
  const Status written = store->update([&](Entities& entities, auto& transactions) {
    ++entities.version;
    entities.users["new"].record.name = "new";
    for (size_t i = 0; i < kMany; ++i) {
      protocol::TransactionRecord t;
      t.time = at(static_cast<int64_t>(i));
      t.action = "Modify Job";
      t.where = std::to_string(i);
      t.info = std::string(2000, 'x');
      transactions.push_back(std::move(t));
    }
    return true;
  });
  ASSERT_TRUE(written);
  protocol::AccountingConditions where;
  where.actions = {"Modify Job"};
  size_t pages = 0, next = 0;
  uint64_t after = 0;
  do {
    const auto page = store->transactions(where, after);
    ASSERT_TRUE(page);
    size_t bytes = 0;
    for (const protocol::TransactionRecord& t : page->records) {
      EXPECT_EQ(t.where, std::to_string(next++));
      bytes += wire::encode(t).size();
    }
    EXPECT_LT(bytes, size_t{8} << 20);
    after = page->more_after;
    ++pages;
  } while (after != 0);
  EXPECT_EQ(next, kMany);
  EXPECT_GT(pages, 1U);
  // by their time
  where.start = at(10);
  where.end = at(12);
  EXPECT_EQ(store->transactions(where, 0)->records.size(), 3U);
}

TEST_P(Store, WhatIsAsItWasIsNoNewVersion) {
  ASSERT_TRUE(run(add(AccountingEntity::kCluster, "demo")));
  ASSERT_TRUE(run(add(AccountingEntity::kAccount, "physics")));
  auto user = add(AccountingEntity::kUser, "alice");
  user.where.accounts = {"physics"};
  ASSERT_TRUE(run(user));
  int told = 0;
  store->on_change([&](const auto&) { ++told; });
  const uint64_t version = store->current()->version;
  const size_t transactions = store->transactions({}, 0)->records.size();
  ChangeAccountingRequest modify;
  modify.verb = protocol::AccountingVerb::kModify;
  modify.entity = AccountingEntity::kUser;
  modify.where.users = {"alice"};
  modify.settings.default_account = "physics";
  modify.commit = true;
  const auto same = store->change(modify, Actor{"alice", false}, at(99));
  ASSERT_TRUE(same);
  EXPECT_FALSE(same->refused);
  EXPECT_EQ(same->shown, " Modified users...\n  alice\n") << "as Slurm says";
  EXPECT_EQ(same->version, version);
  EXPECT_EQ(store->current()->version, version);
  EXPECT_EQ(store->transactions({}, 0)->records.size(), transactions);
  EXPECT_EQ(told, 0);
  protocol::LoadAccountingRequest load;
  load.commit = true;
  load.changes = {wire::encode(modify)};
  ASSERT_TRUE(store->load(load, kRoot, at(99)));
  EXPECT_EQ(store->current()->version, version);
}

TEST_P(Store, APreviewAndARefusalWriteNothing) {
  ASSERT_TRUE(run(add(AccountingEntity::kCluster, "demo")));
  const Entities before = *store->current();
  auto preview = add(AccountingEntity::kAccount, "physics");
  preview.commit = false;
  const auto shown = store->change(preview, kRoot, at(50));
  ASSERT_TRUE(shown);
  EXPECT_FALSE(shown->committed);
  EXPECT_NE(shown->shown.find("  physics\n"), std::string::npos);
  const auto denied =
      store->change(add(AccountingEntity::kAccount, "physics"), Actor{"bob", false}, at(51));
  ASSERT_TRUE(denied);
  EXPECT_TRUE(denied->refused);
  open();
  EXPECT_EQ(*store->current(), before);
}

// Each decides on what the other has written.
TEST_P(Store, OfTwoDaemonsNeitherLosesAChange) {
  if (is_file()) return;  // it has one daemon
  ASSERT_TRUE(run(add(AccountingEntity::kCluster, "demo")));
  auto other_database = Database::open(storage);
  ASSERT_TRUE(other_database);
  EntityStore other(**other_database, SiteRules{});
  ASSERT_TRUE(other.open());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(run(add(AccountingEntity::kAccount, "mine" + std::to_string(i))));
    ASSERT_TRUE(run(add(AccountingEntity::kAccount, "theirs" + std::to_string(i)), &other));
  }
  open();
  EXPECT_EQ(store->current()->accounts.size(), 21U);
  EXPECT_EQ(store->current()->associations.size(), 22U);
}

TEST_P(Store, ManyChangesAreAllOrNothing) {
  ASSERT_TRUE(run(add(AccountingEntity::kCluster, "demo")));
  const Entities before = *store->current();
  protocol::LoadAccountingRequest load;
  load.commit = true;
  load.changes = {wire::encode(add(AccountingEntity::kAccount, "a")),
                  wire::encode(add(AccountingEntity::kAccount, "a b"))};
  auto reply = store->load(load, kRoot, at(90));
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->committed);
  EXPECT_EQ(*store->current(), before);
  load.changes.pop_back();
  reply = store->load(load, kRoot, at(91));
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->committed);
  open();
  EXPECT_NE(find_account(*store->current(), "a"), nullptr);
}

// What a dump of ten thousand short lines comes to was more than a request of its size may be.
TEST_P(Store, ALongLoadIsDecoded) {
  ASSERT_TRUE(run(add(AccountingEntity::kCluster, "demo")));
  protocol::LoadAccountingRequest load;
  for (int i = 0; i < 10'000; ++i)
    load.changes.push_back(wire::encode(add(AccountingEntity::kAccount, "a" + std::to_string(i))));
  const auto sent = wire::decode<protocol::LoadAccountingRequest>(wire::encode(load));
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->changes.size(), 10'000U);
  load.changes = {"\xff nothing"};
  EXPECT_FALSE(store->load(load, kRoot, at(90)));
}

// As sacctmgr load clean does: who comes back in the same file was never gone.
TEST_P(Store, ALoadTakesNobodyAwayWhoseJobsRun) {
  ASSERT_TRUE(run(add(AccountingEntity::kCluster, "demo")));
  ASSERT_TRUE(run(add(AccountingEntity::kAccount, "physics")));
  auto user = add(AccountingEntity::kUser, "ann");
  user.where.accounts = {"physics"};
  ASSERT_TRUE(run(user));
  JobHistory job;
  job.id = 7;
  job.user = "ann";
  job.account = "physics";
  job.state = JobState::kRunning;
  job.submit = job.eligible = job.start = at(1);
  HistoryRecord record;
  record.job = std::make_shared<const JobHistory>(job);
  protocol::StoreHistoryRequest history;
  history.cluster = "demo";
  history.stream = "one";
  history.records = {wire::encode(record)};
  ASSERT_TRUE(store_history(*database, history, at(2)));
  auto gone = user;
  gone.verb = AccountingVerb::kDelete;
  gone.where.accounts.clear();
  protocol::LoadAccountingRequest load;
  load.changes = {wire::encode(gone)};
  for (const bool commit : {false, true}) {
    load.commit = commit;
    const auto reply = store->load(load, kRoot, at(90));
    ASSERT_TRUE(reply);
    EXPECT_FALSE(reply->committed);
    ASSERT_FALSE(reply->replies.back().errors.empty());
    EXPECT_TRUE(reply->replies.back().errors[0].starts_with(
        " Error with request: Job(s) active, cancel job(s) before remove\n  JobID = 7"));
  }
  load.changes = {wire::encode(gone), wire::encode(user)};
  const auto reply = store->load(load, kRoot, at(91));
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->replies.back().refused);
  EXPECT_NE(find_association(*store->current(), "demo", "physics", "ann", ""), nullptr);
}

TEST_P(Store, VersionsOfANewDatabaseAreNoneOfAnother) {
  ASSERT_TRUE(run(add(AccountingEntity::kCluster, "demo")));
  const uint64_t version = store->current()->version;
  EXPECT_GT(version, 1'000'000'000'000U);  // of the clock
  ASSERT_TRUE(run(add(AccountingEntity::kAccount, "a")));
  EXPECT_GT(store->current()->version, version);
}

}  // namespace
}  // namespace sluice::dbd
