// Records come in once, whatever is repeated, and are found again.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/history/ingest.hpp"
#include "dbd/history/query.hpp"
#include "unit/dbd/storages.hpp"

namespace sluice::dbd {
namespace {

namespace fs = std::filesystem;
using protocol::QueryHistoryRequest;
using protocol::StoreHistoryRequest;

Time at(int64_t seconds) { return from_seconds(1'000'000 + seconds); }

JobHistory job(JobId id, JobState state = JobState::kCompleted) {
  JobHistory out;
  out.id = id;
  out.uid = 1000;
  out.name = "it's; DROP TABLE job; --";
  out.account = "physics";
  out.state = state;
  out.submit = out.eligible = out.start = at(0);
  if (is_terminal(state)) out.end = at(10);
  return out;
}
std::string record(const JobHistory& history) {
  HistoryRecord out;
  out.job = std::make_shared<const JobHistory>(history);
  return wire::encode(out);
}
std::string record(const StepHistory& history) {
  HistoryRecord out;
  out.step = std::make_shared<const StepHistory>(history);
  return wire::encode(out);
}

class History : public test::WithStorage {
 protected:
  History() { open(); }
  void open() {
    database_.reset();
    auto opened = Database::open(storage);
    ASSERT_TRUE(opened) << opened.error().text;
    database_ = std::move(*opened);
  }
  Result<protocol::StoreHistoryReply> store(uint64_t first, std::vector<std::string> records,
                                            const std::string& stream = "one") {
    StoreHistoryRequest request;
    request.cluster = "c";
    request.stream = stream;
    request.first = first;
    request.records = std::move(records);
    return store_history(*database_, request, at(0));
  }
  std::vector<protocol::HistoryJob> ask(const QueryHistoryRequest& request = {}) {
    auto filter = history::Filter::make(request);
    HistoryQuery query(*database_, std::move(*filter));
    std::vector<protocol::HistoryJob> out;
    while (true) {
      auto chunk = query.next(at(100));
      EXPECT_TRUE(chunk);
      if (!chunk || !*chunk) return out;
      for (auto& one : (*chunk)->jobs) out.push_back(std::move(one));
    }
  }

  std::unique_ptr<Database> database_;
};
SLUICE_STORAGES(History);

TEST_P(History, WhatIsRepeatedCountsOnce) {
  EXPECT_EQ(store(1, {record(job(1)), record(job(2))})->last, 2U);
  EXPECT_EQ(store(1, {record(job(1)), record(job(2)), record(job(3))})->last, 3U);
  EXPECT_EQ(store(3, {record(job(3))})->last, 3U);
  const auto jobs = ask();
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[0].job, job(1));
}

TEST_P(History, WhatWasCancelledBeforeItWasEligibleIsFound) {
  JobHistory later = job(1, JobState::kCancelled);
  later.eligible = at(5000);
  later.start = kNoTime;
  ASSERT_TRUE(store(1, {record(later)}));
  QueryHistoryRequest request;
  request.states = {JobState::kCancelled};
  request.from = at(5);
  request.until = at(20);
  EXPECT_EQ(ask(request).size(), 1U);
  request.until = at(9);
  EXPECT_EQ(ask(request).size(), 0U);
}

// What is summed up is summed up again from where a job's times have changed, not from 1970.
TEST_P(History, AHoldThatIsReleasedPutsSumsBackToItsTime) {
  JobHistory held = job(1, JobState::kPending), released = held, held_again = held;
  held.eligible = held.start = held_again.eligible = held_again.start = kNoTime;
  released.start = kNoTime;
  released.eligible = at(7200);
  ASSERT_TRUE(store(1, {record(held)}));
  const auto rolled_after = [&](uint64_t number, const JobHistory& next) {
    long long rolled = 0;
    const long long now = micros(at(10'000));
    EXPECT_TRUE(database_->write([&](Session& sql) -> Status {
      sql << "DELETE FROM usage_state";
      sql << "INSERT INTO usage_state(cluster, rolled) SELECT id, coalesce(:n, id) FROM cluster",
          soci::use(now);
      return {};
    }));
    EXPECT_TRUE(store(number, {record(next)}));
    EXPECT_TRUE(database_->read([&](Session& sql) -> Status {
      sql << "SELECT rolled FROM usage_state", soci::into(rolled);
      return {};
    }));
    return Time(Duration(rolled));
  };
  EXPECT_EQ(rolled_after(2, released), at(7200));
  EXPECT_EQ(rolled_after(3, held_again), at(7200));
}

// That of a job's end, which does not know it, came behind that of its start.
TEST_P(History, WhatAJobWaitedForStays) {
  JobHistory started = job(1, JobState::kRunning), ended = job(1);
  started.reason = "BeginTime";
  ended.reason = "None";
  ASSERT_TRUE(store(1, {record(started), record(ended)}));
  ASSERT_EQ(ask().size(), 1U);
  EXPECT_EQ(ask()[0].job.state, JobState::kCompleted);
  EXPECT_EQ(ask()[0].job.reason, "BeginTime");
  // a job that waits may do so for nothing any more
  JobHistory held = job(2, JobState::kPending), released = held;
  held.reason = "JobHeldUser";
  released.reason = "None";
  ASSERT_TRUE(store(3, {record(held), record(released)}));
  EXPECT_EQ(ask().at(1).job.reason, "None");
}

// The database was put back from a copy: what comes next is not lost with what was in between.
TEST_P(History, AGapIsPassedOver) {
  ASSERT_TRUE(store(1, {record(job(1))}));
  const auto later = store(3, {record(job(3))});
  ASSERT_TRUE(later);
  EXPECT_EQ(later->last, 3U);
  EXPECT_EQ(ask().size(), 2U);
}

TEST_P(History, AnotherStreamBeginsWhereItBegins) {
  ASSERT_TRUE(store(1, {record(job(1)), record(job(2))}));
  EXPECT_EQ(store(2, {record(job(2)), record(job(3))}, "restored")->last, 3U);
  EXPECT_EQ(ask().size(), 3U);
}

TEST_P(History, ItStaysAfterAnEnd) {
  ASSERT_TRUE(store(1, {record(job(1))}));
  open();
  EXPECT_EQ(store(1, {record(job(1)), record(job(2))})->last, 2U);
  EXPECT_EQ(ask().size(), 2U);
}

TEST_P(History, WhatCannotBeReadIsPassedOver) {
  EXPECT_EQ(store(1, {"\xff\xff nothing", record(job(2))})->last, 2U);
  EXPECT_EQ(ask().size(), 1U);
}

TEST_P(History, ANewerRecordOfARunReplacesTheOneBefore) {
  ASSERT_TRUE(store(1, {record(job(1, JobState::kRunning)), record(job(1))}));
  const auto jobs = ask();
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].job.state, JobState::kCompleted);
}

// The bug: a controller whose state was put back sent it as one that runs, and then as failed after
// all the time since.
TEST_P(History, ARunEndsOnce) {
  StepHistory step;
  step.id = {1, 0};
  step.job_submit = at(0);
  step.end = at(9);
  ASSERT_TRUE(store(1, {record(job(1)), record(step)}));
  JobHistory failed = job(1, JobState::kFailed);
  failed.end = at(5000);
  StepHistory running = step;
  running.end = kNoTime;
  ASSERT_TRUE(
      store(1, {record(job(1, JobState::kRunning)), record(running), record(failed)}, "older"));
  const auto jobs = ask();
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].job, job(1));
  ASSERT_EQ(jobs[0].steps.size(), 1U);
  EXPECT_EQ(jobs[0].steps[0].end, at(9));
  JobHistory changed = job(1);
  changed.comment = "said later";
  ASSERT_TRUE(store(4, {record(changed)}, "older"));
  EXPECT_EQ(ask()[0].job, changed);
}

TEST_P(History, EarlierRunsAreThereWhenAskedFor) {
  JobHistory again = job(1);
  again.restarts = 1;
  again.submit = at(20);
  ASSERT_TRUE(store(1, {record(job(1)), record(again)}));
  ASSERT_EQ(ask().size(), 1U);
  EXPECT_EQ(ask()[0].job.restarts, 1U);
  QueryHistoryRequest all;
  all.duplicates = true;
  EXPECT_EQ(ask(all).size(), 2U);
}

TEST_P(History, PartsOfAStepAddUp) {
  StepHistory step;
  step.id = {1, 0};
  step.job_submit = at(0);
  step.usage.tasks = 2;
  step.usage.memory = {100, 50, 150, "n1", "n1", 1, 0};
  StepHistory end = step;
  end.end = at(9);
  end.usage.memory = {80, 20, 100, "n2", "n2", 2, 3};
  ASSERT_TRUE(store(1, {record(job(1)), record(step), record(end)}));
  const auto jobs = ask();
  ASSERT_EQ(jobs.size(), 1U);
  ASSERT_EQ(jobs[0].steps.size(), 1U);
  const UsageHistory& usage = jobs[0].steps[0].usage;
  EXPECT_EQ(usage.tasks, 4U);
  EXPECT_EQ(usage.memory, (UsageExtent{100, 20, 250, "n1", "n2", 1, 3}));
}

// As if the disk had no room for one page more, or for very many.
void limit_pages(Database& database, int64_t pages) {
  const Status done = database.write([&](soci::session& sql) -> Status {
    sql << "PRAGMA max_page_count = " + std::to_string(pages);
    return {};
  });
  ASSERT_TRUE(done);
}

TEST_P(History, WhatAFullDiskRefusedIsTakenLater) {
  if (!is_file()) return;  // its disk is not ours
  ASSERT_TRUE(store(1, {record(job(1))}));
  std::vector<std::string> many;
  for (JobId id = 2; id < 3000; ++id) many.push_back(record(job(id)));
  limit_pages(*database_, 1);
  const auto refused = store(2, many);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStorageFull);
  EXPECT_NE(refused.error().text.find("accounting.db"), std::string::npos);
  EXPECT_EQ(ask().size(), 1U);
  limit_pages(*database_, 1'000'000);
  EXPECT_EQ(store(2, many)->last, 2999U);
  EXPECT_EQ(ask().size(), 2999U);
}

TEST_P(History, ANodeThatIsDownIsToldOfOnce) {
  NodeHistory down;
  down.node = "n1";
  down.start = at(0);
  down.state = "DOWN";
  down.reason = "broken";
  HistoryRecord first, again, up;
  first.node = std::make_shared<const NodeHistory>(down);
  down.start = at(50);
  again.node = std::make_shared<const NodeHistory>(down);
  NodeHistory back;
  back.node = "n1";
  back.end = at(90);
  up.node = std::make_shared<const NodeHistory>(back);
  ASSERT_TRUE(store(1, {wire::encode(first), wire::encode(again), wire::encode(up)}));
  std::vector<std::pair<int64_t, int64_t>> spans;
  const Status read = database_->read([&](soci::session& sql) -> Status {
    int64_t start = 0, ended = 0;
    soci::statement all = (sql.prepare << "SELECT start, ended FROM node_event", soci::into(start),
                           soci::into(ended));
    all.execute();
    while (all.fetch()) spans.emplace_back(start, ended);
    return {};
  });
  ASSERT_TRUE(read);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].first, at(0).time_since_epoch().count());
  EXPECT_EQ(spans[0].second, at(90).time_since_epoch().count());
}

TEST_P(History, AnyBytesSurvive) {
  std::string all;
  for (int round = 0; round < 3; ++round)
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  JobHistory one = job(1);
  one.account = one.name = "\\x41'; \"--\\' :n ? $1 \xff\xc3\xbc\x01";
  one.comment = "\\x41 \xf0\x9f\x8c\x8a";
  one.script_blob = "\\x4\0'\xff\\";
  one.script_blob += std::string("\0\\", 2);
  HistoryRecord blob;
  blob.blob = std::make_shared<const BlobHistory>(BlobHistory{one.script_blob, "\\x" + all});
  ASSERT_TRUE(store(1, {record(one), wire::encode(blob), wire::encode(blob)}));
  open();
  ASSERT_EQ(ask().size(), 1U);
  EXPECT_EQ(ask()[0].job, one);
  protocol::QueryJobTextRequest asked;
  asked.cluster = "c";
  asked.job.job = 1;
  const auto text = job_text(*database_, asked, [](const JobHistory&) { return true; });
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_EQ(*text, "\\x" + all);
}

TEST_P(History, NamesOfOtherCaseAreOtherNames) {
  for (const char* name : {"n1", "N1", "n1 "}) {
    NodeHistory down;
    down.node = name;
    down.start = at(0);
    down.state = "DOWN";
    HistoryRecord one;
    one.node = std::make_shared<const NodeHistory>(down);
    ASSERT_TRUE(store(1, {wire::encode(one)}, name));
  }
  int rows = 0;
  ASSERT_TRUE(database_->read([&](Session& sql) -> Status {
    sql << "SELECT count(*) FROM node_event", soci::into(rows);
    return {};
  }));
  EXPECT_EQ(rows, 3);
}

TEST_P(History, WhoAndWhenNarrowTheSearch) {
  JobHistory other = job(2);
  other.uid = 2000;
  ASSERT_TRUE(store(1, {record(job(1)), record(other)}));
  QueryHistoryRequest request;
  request.uids = {2000};
  ASSERT_EQ(ask(request).size(), 1U);
  EXPECT_EQ(ask(request)[0].job.id, 2U);
  request.from = at(11);
  EXPECT_TRUE(ask(request).empty());
  QueryHistoryRequest named;
  named.jobs = {{.job = 1}};
  EXPECT_EQ(ask(named).size(), 1U);
  named.clusters = {"another'; --"};
  EXPECT_TRUE(ask(named).empty());
}

TEST_P(History, LongListsAreNoBurdenOfSql) {
  ASSERT_TRUE(store(1, {record(job(1)), record(job(2))}));
  QueryHistoryRequest request;
  for (JobId id = 2; id < 50'000; ++id) request.jobs.push_back({.job = id});
  EXPECT_EQ(ask(request).size(), 1U);
  request.jobs.clear();
  for (uint32_t task = 0; task < 50'000; ++task) request.jobs.push_back({.job = 1, .task = task});
  EXPECT_TRUE(ask(request).empty());
  request.jobs.clear();
  for (uint32_t uid = 0; uid < 50'000; ++uid) request.uids.push_back(uid);
  EXPECT_EQ(ask(request).size(), 2U);
}

// The daemon went on with rows that matched nothing when the asker was gone, and could not end.
TEST_P(History, NothingIsReadForNobody) {
  ASSERT_TRUE(store(1, {record(job(1)), record(job(2)), record(job(3))}));
  QueryHistoryRequest request;
  request.accounts = {"nobody's"};
  HistoryQuery query(*database_, *history::Filter::make(request));
  int asked = 0;
  query.end_when([&] { return ++asked == 5; });
  const auto chunk = query.next(at(100));
  ASSERT_FALSE(chunk);
  EXPECT_EQ(chunk.error().code, ErrorCode::kConnectionLost);
  EXPECT_EQ(asked, 5);
}

TEST(LongRequests, AreThoseThatNameTooMuch) {
  QueryHistoryRequest request;
  for (JobId id = 0; id < 10'000; ++id) request.jobs.push_back({.job = id});
  request.accounts.assign(1000, "physics");
  EXPECT_FALSE(is_long(request));
  request.states = {JobState::kFailed};
  EXPECT_TRUE(is_long(request));
  request.states.clear();
  request.uids = {7};
  EXPECT_TRUE(is_long(request));
}

// A time before all others passed, since the difference did not fit; so did any name of a job.
TEST(WideRequests, AreNotPassedByTimesThatDoNotFit) {
  const Duration most = std::chrono::hours(48);
  const Time now = at(0);
  const auto is_wide = [&](Time from, Time until) {
    QueryHistoryRequest request;
    request.from = from;
    request.until = until;
    return is_too_wide(request, most, now);
  };
  EXPECT_FALSE(is_wide(now - most, kNever));
  EXPECT_TRUE(is_wide(now - most - Duration(1), kNever));
  EXPECT_TRUE(is_wide(Time::min(), Time::max()));
  EXPECT_TRUE(is_wide(Time::min(), now));
  EXPECT_FALSE(is_wide(Time::min(), Time::min()));
  EXPECT_FALSE(is_wide(Time::max(), Time::min()));
  QueryHistoryRequest named;
  named.jobs.assign(2000, {.job = 1});
  EXPECT_FALSE(is_too_wide(named, most, now + most + most));
  named.jobs.assign(2001, {.job = 1});
  EXPECT_TRUE(is_too_wide(named, most, now + most + most)) << "all jobs are read for it";
}

// A file of SQLite as a daemon leaves it that is killed: its log beside it.
class KilledDaemon : public ::testing::Test {
 protected:
  KilledDaemon() {
    write(1);
    fs::copy_file(file(), folder / "copy.db");  // of a daemon that ended
    auto running = open(file());
    put(*running, 2);
    for (const char* name : {"accounting.db", "accounting.db-wal", "accounting.db-mark"})
      fs::copy_file(folder / name, left(name));
    // cp keeps no times, and what a killed daemon leaves has the time of its last write
    fs::last_write_time(left("accounting.db"), fs::last_write_time(file()));
  }
  [[nodiscard]] std::string file() const { return folder / "accounting.db"; }
  [[nodiscard]] fs::path left(const std::string& name) {
    fs::create_directories(folder / "left");
    return folder.path() / "left" / name;
  }
  static std::unique_ptr<Database> open(const std::string& path) {
    auto opened = Database::open(sqlite_file(path));
    EXPECT_TRUE(opened) << opened.error().text;
    return opened ? std::move(*opened) : nullptr;
  }
  static void put(Database& database, JobId id) {
    StoreHistoryRequest request;
    request.cluster = "c";
    request.stream = "one";
    request.first = id;
    request.records = {record(job(id))};
    EXPECT_TRUE(store_history(database, request, at(0)));
  }
  void write(JobId id) { put(*open(file()), id); }
  static int jobs(const Database& database) {
    int rows = 0;
    EXPECT_TRUE(database.read([&](Session& sql) -> Status {
      sql << "SELECT count(*) FROM job", soci::into(rows);
      return {};
    }));
    return rows;
  }
  sluice::test::TempFolder folder;
};

TEST_F(KilledDaemon, WhatItLeftIsTakenUp) {
  ASSERT_GT(fs::file_size(left("accounting.db-wal")), 0U);
  EXPECT_EQ(jobs(*open(left("accounting.db"))), 2);
  EXPECT_EQ(jobs(*open(left("accounting.db"))), 2);
}

// The log of the file that was there before became a part of the copy.
TEST_F(KilledDaemon, ItsLogIsNotTakenIntoACopy) {
  std::ofstream(left("accounting.db"), std::ios::trunc)
      << std::ifstream(folder / "copy.db").rdbuf();  // as cp does
  const auto refused = Database::open(sqlite_file(left("accounting.db")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDamaged);
  EXPECT_NE(refused.error().text.find("remove " + left("accounting.db-wal").string()),
            std::string::npos)
      << refused.error().text;
  fs::remove(left("accounting.db-wal"));
  EXPECT_EQ(jobs(*open(left("accounting.db"))), 1);
}

TEST_F(KilledDaemon, AFileThatGrewIsKnownAgain) {
  auto running = open(file());
  const std::string large(20'000, 'x');
  ASSERT_TRUE(running->write([&](Session& sql) -> Status {
    sql << "CREATE TABLE large(text TEXT)";
    for (int row = 0; row < 1000; ++row) sql << "INSERT INTO large VALUES(:t)", soci::use(large);
    return {};
  }));
  ASSERT_GT(fs::file_size(file()), 10'000'000U) << "the log was brought into the file";
  put(*running, 3);
  for (const char* name : {"accounting.db", "accounting.db-wal", "accounting.db-mark"})
    fs::copy_file(folder / name, left(name), fs::copy_options::overwrite_existing);
  fs::last_write_time(left("accounting.db"), fs::last_write_time(file()));
  EXPECT_EQ(jobs(*open(left("accounting.db"))), 3);
}

TEST(Opening, ALogThatIsRemovedIsNoticed) {
  sluice::test::TempFolder folder;
  const std::string file = folder / "accounting.db";
  StoreHistoryRequest request;
  request.cluster = "c";
  request.stream = "one";
  request.records = {record(job(1))};
  {
    auto opened = Database::open(sqlite_file(file));
    ASSERT_TRUE(opened);
    ASSERT_TRUE(store_history(**opened, request, at(0)));
    fs::remove(file + "-wal");
    request.first = 2;
    const auto refused = store_history(**opened, request, at(0));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("accounting.db-wal was removed"), std::string::npos);
  }
  auto again = Database::open(sqlite_file(file));
  ASSERT_TRUE(again);
  int rows = 0;
  EXPECT_TRUE((*again)->read([&](Session& sql) -> Status {
    sql << "SELECT count(*) FROM job", soci::into(rows);
    return {};
  }));
  EXPECT_EQ(rows, 1) << "its end brought the log into the file";
}

// The bug: two daemons with different ports shared a file.
TEST(Opening, AFileThatIsOpenIsRefused) {
  sluice::test::TempFolder folder;
  const std::string file = folder / "accounting.db";
  {
    const auto first = Database::open(sqlite_file(file));
    ASSERT_TRUE(first);
    const auto second = Database::open(sqlite_file(file));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().text, file + " is in use by process " + std::to_string(::getpid()) +
                                       "; two slurmdbd cannot share a file of SQLite");
  }
  EXPECT_TRUE(Database::open(sqlite_file(file)));
}

TEST(Opening, AFileOfAnotherKindIsRefused) {
  sluice::test::TempFolder folder;
  const auto path = folder.path() / "accounting.db";
  { std::ofstream(path) << std::string(5000, 'x'); }
  const auto opened = Database::open(sqlite_file(path));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDamaged);
  EXPECT_NE(opened.error().text.find(path.string()), std::string::npos);
}

}  // namespace
}  // namespace sluice::dbd
