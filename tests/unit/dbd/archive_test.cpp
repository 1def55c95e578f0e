// What is purged is in a file first, and comes back from it.
#include "dbd/archive/archive_file.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/read_file.hpp"
#include "common/protocol/accounting_admin.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/archive/purge.hpp"
#include "dbd/history/ingest.hpp"
#include "dbd/store/entity_store.hpp"
#include "dbd/store/usage_store.hpp"
#include "unit/dbd/storages.hpp"

namespace sluice::dbd {
namespace {

const Time kNow = from_seconds(1'760'000'000);
Time days_ago(int days) { return day_of(kNow, -days) + std::chrono::hours(5); }

class Archive : public test::WithStorage {
 protected:
  Archive() {
    auto opened = Database::open(storage);
    EXPECT_TRUE(opened) << opened.error().text;
    database = std::move(*opened);
    rules.folder = folder.path();
    EXPECT_TRUE(EntityStore(*database, SiteRules{}).open());
  }
  void put(HistoryRecord record) { records.push_back(wire::encode(record)); }
  void job(JobId id, int ended, bool running = false, const std::string& script = {},
           const std::string& environment = {}) {
    JobHistory out;
    out.id = id;
    out.script_blob = script;
    out.environment_blob = environment;
    out.name = "x'; DROP TABLE job; --\xc3\xbc\\";
    out.account = "physics";
    out.cpus = 2;
    out.state = running ? JobState::kRunning : JobState::kCompleted;
    out.submit = out.eligible = out.start = days_ago(ended) - std::chrono::hours(2);
    if (!running) out.end = days_ago(ended);
    out.allocated_tres = {{"cpu", 2}};
    StepHistory step;
    step.id = {id, 0};
    step.job_submit = out.submit;
    step.start = out.start;
    step.end = out.end;
    HistoryRecord a, b;
    a.job = std::make_shared<const JobHistory>(out);
    b.step = std::make_shared<const StepHistory>(step);
    put(a);
    put(b);
  }
  void blob(const std::string& key, const std::string& bytes) {
    HistoryRecord record;
    record.blob = std::make_shared<const BlobHistory>(BlobHistory{key, bytes});
    put(record);
  }
  std::vector<std::string> blobs() {
    std::vector<std::string> out;
    EXPECT_TRUE(database->read([&](Session& sql) -> Status {
      std::string bytes;
      soci::statement list =
          (sql.prepare << "SELECT bytes FROM \"blob\" ORDER BY bytes", soci::into(bytes));
      list.execute();
      while (list.fetch()) out.push_back(sql.read_bytes(bytes));
      return {};
    }));
    return out;
  }
  void node_down(const std::string& name, int from, int to) {
    NodeHistory down;
    down.node = name;
    down.state = "DOWN";
    down.start = days_ago(from);
    HistoryRecord a, b;
    a.node = std::make_shared<const NodeHistory>(down);
    down.end = days_ago(to);
    b.node = std::make_shared<const NodeHistory>(down);
    put(a);
    put(b);
  }
  void store() {
    protocol::StoreHistoryRequest request;
    request.cluster = "c";
    request.stream = "s";
    request.first = 1;
    request.records = records;
    ASSERT_TRUE(store_history(*database, request, kNow));
    ASSERT_TRUE(roll_up(*database, kNow));
  }
  void rule(Purged kind, const std::string& age, bool archive = true) {
    rules.rules[static_cast<size_t>(kind)] = {parse_purge_age(age), archive};
  }
  int count(const std::string& table, const std::string& where = "") {
    int rows = 0;
    EXPECT_TRUE(database->read([&](Session& sql) -> Status {
      sql << "SELECT count(*) FROM " + table + where, soci::into(rows);
      return {};
    }));
    return rows;
  }

  std::unique_ptr<Database> database;
  std::vector<std::string> records;
  PurgeRules rules;
};
SLUICE_STORAGES(Archive);

TEST_P(Archive, OldJobsGoIntoAFileAndComeBack) {
  for (JobId id = 1; id <= 4; ++id) job(id, 40);
  job(5, 10);
  job(6, 60, true);
  store();
  const int usage = count("job_usage");
  ASSERT_GT(usage, 0);
  rule(Purged::kJobs, "30days");
  const auto done = purge(*database, rules, kNow);
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->rows, 4U);
  ASSERT_EQ(done->files.size(), 1U);
  EXPECT_EQ(count("job"), 2);
  EXPECT_EQ(count("step"), 2);
  EXPECT_EQ(count("job_usage"), usage);
  EXPECT_EQ(purge(*database, rules, kNow)->rows, 0U);
  EXPECT_EQ(*load_archive(*database, done->files[0], kNow, false), 8U);
  EXPECT_EQ(count("job"), 2) << "it was tried";
  EXPECT_EQ(*load_archive(*database, done->files[0], kNow), 8U);
  EXPECT_EQ(*load_archive(*database, done->files[0], kNow), 0U);
  EXPECT_EQ(count("job"), 6);
  EXPECT_EQ(count("step"), 6);
  ASSERT_TRUE(roll_up(*database, kNow));
  EXPECT_EQ(count("job_usage"), usage);
}

using BlobTexts = std::vector<std::string>;
const std::string kOld(32, '\x01'), kUsedAgain(32, '\x02'), kVariables(32, '\x03');

TEST_P(Archive, ScriptsThatNoJobHasUsedForLongGoAndComeBack) {
  blob(kOld, "#!old");
  job(1, 40, false, kOld);
  blob(kUsedAgain, "#!used again");
  job(2, 40, false, kUsedAgain);
  job(3, 10, false, kUsedAgain);
  blob(kVariables, "A=1");
  job(4, 40, false, {}, kVariables);
  store();
  rule(Purged::kJobScripts, "30days");
  const auto done = purge(*database, rules, kNow);
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->rows, 1U);
  EXPECT_EQ(blobs(), (BlobTexts{"#!used again", "A=1"}));
  EXPECT_EQ(count("job"), 4) << "jobs are purged by another rule";
  ASSERT_EQ(done->files.size(), 1U);
  EXPECT_NE(done->files[0].find("/c_job_script_archive_"), std::string::npos) << done->files[0];
  EXPECT_EQ(*load_archive(*database, done->files[0], kNow), 1U);
  EXPECT_EQ(*load_archive(*database, done->files[0], kNow), 0U);
  EXPECT_EQ(blobs(), (BlobTexts{"#!old", "#!used again", "A=1"}));
  EXPECT_EQ(purge(*database, rules, kNow)->rows, 1U) << "it is as old as it was";
  rule(Purged::kJobScripts, "12");
  rule(Purged::kJobEnvironments, "30days", false);
  const auto variables = purge(*database, rules, kNow);
  ASSERT_TRUE(variables) << variables.error().text;
  EXPECT_EQ(variables->rows, 1U);
  EXPECT_TRUE(variables->files.empty());
  EXPECT_EQ(blobs(), (BlobTexts{"#!used again"}));
}

TEST_P(Archive, AScriptThatIsAnEnvironmentToo) {
  blob(kOld, "A=1");
  job(1, 40, false, kOld, kOld);
  store();
  rule(Purged::kJobScripts, "30days", false);
  EXPECT_EQ(purge(*database, rules, kNow)->rows, 1U);
  EXPECT_EQ(blobs(), (BlobTexts{"A=1"}));
  rule(Purged::kJobEnvironments, "30days", false);
  EXPECT_EQ(purge(*database, rules, kNow)->rows, 1U);
  EXPECT_TRUE(blobs().empty());
}

// A database of an older version does not say whose they are.
TEST_P(Archive, WhatIsScriptOrEnvironmentGoesByBothRules) {
  blob(kOld, "#!old");
  job(1, 40, false, kOld);
  store();
  ASSERT_TRUE(database->write([](Session& sql) -> Status {
    sql << "UPDATE blob_use SET role = 0";
    return {};
  }));
  rule(Purged::kJobScripts, "30days");
  EXPECT_EQ(purge(*database, rules, kNow)->rows, 0U);
  rule(Purged::kJobEnvironments, "12");
  EXPECT_EQ(purge(*database, rules, kNow)->rows, 0U);
  rule(Purged::kJobEnvironments, "30days");
  EXPECT_EQ(purge(*database, rules, kNow)->rows, 1U);
  EXPECT_TRUE(blobs().empty());
}

TEST_P(Archive, WhatComesLateDoesNotTakeUsageOfPurgedJobsAway) {
  job(1, 40);
  store();
  const auto used =
      " WHERE period = 0 AND time < " + std::to_string(days_ago(35).time_since_epoch().count());
  const int before = count("job_usage", used);
  ASSERT_GT(before, 0);
  rule(Purged::kJobs, "30days", false);
  ASSERT_EQ(purge(*database, rules, kNow)->rows, 1U);
  job(2, 50);
  store();
  EXPECT_EQ(count("job_usage", used), before);
}

TEST_P(Archive, EventsOfOneMomentGoEachByItself) {
  node_down("n1", 50, 40);
  node_down("n2", 50, 40);
  node_down("n3", 50, 5);
  store();
  rule(Purged::kEvents, "1months");
  const auto done = purge(*database, rules, kNow);
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->rows, 0U);  // no usage yet of a cluster without jobs
  job(1, 1);
  records.erase(records.begin(), records.begin() + 6);
  protocol::StoreHistoryRequest request;
  request.cluster = "c";
  request.stream = "t";
  request.first = 1;
  request.records = records;
  ASSERT_TRUE(store_history(*database, request, kNow));
  const auto again = purge(*database, rules, kNow);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->rows, 2U);
  EXPECT_EQ(count("node_event"), 1);
  EXPECT_EQ(*load_archive(*database, again->files.at(0), kNow), 2U);
  EXPECT_EQ(count("node_event"), 3);
}

TEST_P(Archive, WithoutAFileNothingGoes) {
  job(1, 40);
  store();
  rule(Purged::kJobs, "30days");
  rules.folder = folder / "nowhere";
  const auto refused = purge(*database, rules, kNow);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("nowhere"), std::string::npos);
  EXPECT_EQ(count("job"), 1);
  EXPECT_EQ(count("step"), 1);
}

TEST_P(Archive, TransactionsAndUsageGoAndComeBack) {
  for (int days : {100, 70, 10}) job(static_cast<JobId>(days), days);
  store();
  const int usage = count("job_usage"), cluster = count("cluster_usage");
  ASSERT_TRUE(database->write([&](Session& sql) -> Status {
    const std::string bytes = sql.bytes(wire::encode(protocol::TransactionRecord{}));
    sql << "INSERT INTO txn(time, action, actor, subject, info, record) "
           "VALUES(1, '', '', '', '', :r)",
        soci::use(bytes);
    return {};
  }));
  rule(Purged::kTransactions, "1");
  rule(Purged::kUsage, "2months");
  const auto done = purge(*database, rules, kNow);
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(count("txn", " WHERE time = 1"), 0);
  EXPECT_LT(count("job_usage"), usage);
  ASSERT_GE(done->files.size(), 2U);
  for (const std::string& file : done->files) ASSERT_TRUE(load_archive(*database, file, kNow));
  EXPECT_EQ(count("job_usage"), usage);
  EXPECT_EQ(count("cluster_usage"), cluster);
  EXPECT_EQ(count("txn", " WHERE time = 1"), 1);
}

TEST(ArchiveFiles, OneIsNeverReplacedAndADamagedOneIsTold) {
  sluice::test::TempFolder folder;
  ArchiveFile file;
  file.cluster = "c";
  file.rows = {{"job", std::string("\0\xff", 2), {1}, {"x"}}};
  const auto first = write_archive(folder.path(), "job", file, kNow, kNow);
  const auto second = write_archive(folder.path(), "job", file, kNow, kNow);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(read_archive(*first)->rows, file.rows);
  const std::string whole = *read_file(*first);
  for (size_t size = 0; size < whole.size(); ++size) {
    { std::ofstream(*second, std::ios::trunc) << whole.substr(0, size); }
    EXPECT_FALSE(read_archive(*second)) << size;
  }
  EXPECT_EQ(read_archive(folder / "nothing").error().code, ErrorCode::kNotFound);
  EXPECT_NE(read_archive("/dev/zero").error().text.find("is no file"), std::string::npos);
}

// A user made the file that was to become the archive in /tmp: it was his, and he read and changed
// it.
TEST(ArchiveFiles, OneThatSomebodyElseMadeIsNotTaken) {
  sluice::test::TempFolder folder;
  const std::string planted = folder / (".archive-" + std::to_string(::getpid()));
  { std::ofstream(planted, std::ios::trunc) << "planted"; }
  ASSERT_EQ(::chmod(planted.c_str(), 0666), 0);
  ArchiveFile file;
  file.rows = {{"job", "x", {}, {}}};
  const auto path = write_archive(folder.path(), "job", file, kNow, kNow);
  ASSERT_TRUE(path) << path.error().text;
  EXPECT_EQ(*read_file(planted), "planted");
  struct stat made {};
  ASSERT_EQ(::stat(path->c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0600U);
  EXPECT_EQ(made.st_nlink, 1U);
}

TEST(ArchiveFiles, AFolderInWhichAllReplaceFilesIsRefused) {
  sluice::test::TempFolder folder;
  ArchiveFile file;
  file.rows = {{"job", "x", {}, {}}};
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const auto refused = write_archive(folder.path(), "job", file, kNow, kNow);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("no sticky bit"), std::string::npos) << refused.error().text;
  ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
  EXPECT_TRUE(write_archive(folder.path(), "job", file, kNow, kNow));
}

TEST(ArchiveFiles, OneThatOthersMayHaveWrittenIsNotRead) {
  sluice::test::TempFolder folder;
  ArchiveFile file;
  file.rows = {{"job", "x", {}, {}}};
  const auto path = write_archive(folder.path(), "job", file, kNow, kNow);
  ASSERT_TRUE(path);
  for (const mode_t mode : {0602, 0620}) {
    ASSERT_EQ(::chmod(path->c_str(), mode), 0);
    EXPECT_EQ(read_archive(*path).error().code, ErrorCode::kAccessDenied);
  }
  ASSERT_EQ(::chmod(path->c_str(), 0644), 0);
  EXPECT_TRUE(read_archive(*path));
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(path->c_str(), 4242, 4242), 0);
  EXPECT_EQ(read_archive(*path).error().code, ErrorCode::kAccessDenied);
}

TEST(PurgeAges, AreNumbersOfUnits) {
  EXPECT_EQ(parse_purge_age("12")->unit, PurgeAge::Unit::kMonths);
  EXPECT_EQ(parse_purge_age("12month")->unit, PurgeAge::Unit::kMonths);
  EXPECT_EQ(parse_purge_age("30Days")->count, 30);
  EXPECT_EQ(parse_purge_age("48hours")->unit, PurgeAge::Unit::kHours);
  for (const char* bad : {"", "0", "days", "-1", "1weeks", "99999999999", "1 days"})
    EXPECT_FALSE(parse_purge_age(bad)) << bad;
}

}  // namespace
}  // namespace sluice::dbd
