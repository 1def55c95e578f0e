// Records come in once, whatever is repeated, and are found again.
#include <fstream>

#include <gtest/gtest.h>

#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/history/ingest.hpp"
#include "dbd/history/query.hpp"
#include "unit/dbd/storages.hpp"

namespace sluice::dbd {
namespace {

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
