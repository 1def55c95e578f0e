// What is said of jobs of the past changes by who may, and nothing else does.
#include <gtest/gtest.h>

#include "common/protocol/accounting_admin.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/history/amend.hpp"
#include "dbd/history/ingest.hpp"
#include "dbd/history/query.hpp"
#include "unit/dbd/storages.hpp"

namespace sluice::dbd {
namespace {

Time amend_time(int64_t seconds) { return from_seconds(1'000'000 + seconds); }

class Amend : public test::WithStorage {
 protected:
  Amend() {
    auto opened = Database::open(storage);
    if (opened) database_ = std::move(*opened);
    settings.comment = "changed";
    settings.derived_exit_status = 3;
    protocol::StoreHistoryRequest request;
    request.cluster = "c";
    request.stream = "one";
    request.first = 1;
    for (const JobId id : {1U, 2U, 3U}) {
      JobHistory job;
      job.id = id;
      job.uid = id == 3 ? 1001 : 1000;
      job.comment = "as it was";
      job.state = JobState::kCompleted;
      job.submit = job.eligible = job.start = amend_time(id);
      job.end = amend_time(10);
      HistoryRecord record;
      record.job = std::make_shared<const JobHistory>(std::move(job));
      request.records.push_back(wire::encode(record));
    }
    EXPECT_TRUE(store_history(*database_, request, amend_time(0)));
  }
  static Status by_all(const std::string&, const JobHistory&) { return {}; }
  Result<protocol::ChangeJobHistoryReply> amend(std::vector<JobId> jobs, bool commit,
                                                const MayAmend& may = by_all) {
    Amendment amendment;
    protocol::ChangeJobHistoryRequest& request = amendment.request;
    for (const JobId id : jobs) request.where.jobs.push_back({.job = id});
    request.settings = settings;
    request.commit = commit;
    amendment.actor = "alice";
    amendment.may = may;
    amendment.most_jobs = most_jobs;
    auto done = amend_jobs(*database_, amendment, amend_time(100));
    if (!done) return tl::unexpected<Error>(done.error());
    written = done->written;
    return std::move(done->reply);
  }
  protocol::TransactionRecord last_transaction() {
    protocol::TransactionRecord out;
    const Status read = database_->read([&](Session& sql) -> Status {
      std::string bytes;
      sql << "SELECT record FROM txn ORDER BY id DESC LIMIT 1", soci::into(bytes);
      if (auto t = wire::decode<protocol::TransactionRecord>(sql.read_bytes(bytes)))
        out = std::move(*t);
      return {};
    });
    EXPECT_TRUE(read);
    return out;
  }
  // "action|actor|info" of all of them.
  std::vector<std::string> transactions() {
    std::vector<std::string> out;
    const Status read = database_->read([&](Session& sql) -> Status {
      std::string bytes;
      soci::statement list =
          (sql.prepare << "SELECT record FROM txn ORDER BY id", soci::into(bytes));
      list.execute();
      while (list.fetch()) {
        const auto t = wire::decode<protocol::TransactionRecord>(sql.read_bytes(bytes));
        out.push_back(t ? t->action + "|" + t->actor + "|" + t->info : "damaged");
      }
      return {};
    });
    EXPECT_TRUE(read);
    return out;
  }
  JobHistory job(JobId id) {
    protocol::QueryHistoryRequest request;
    request.jobs.push_back({.job = id});
    HistoryQuery query(*database_, std::move(*history::Filter::make(request)));
    const auto chunk = query.next(amend_time(100));
    EXPECT_TRUE(chunk && *chunk);
    return chunk && *chunk ? (*chunk)->jobs.at(0).job : JobHistory{};
  }

  protocol::JobSettings settings;
  size_t most_jobs = kMostJobs;
  size_t written = 0;  // by the last one
  std::unique_ptr<Database> database_;
};
SLUICE_STORAGES(Amend);

TEST_P(Amend, WhatIsSetChangesAndTheRestStays) {
  JobHistory wanted = job(1);
  const auto reply = amend({1}, true);
  ASSERT_TRUE(reply) << reply.error().text;
  ASSERT_EQ(reply->jobs.size(), 1U);
  EXPECT_EQ(reply->jobs[0].job, 1U);
  EXPECT_EQ(reply->jobs[0].submit, amend_time(1));
  wanted.comment = "changed";
  wanted.derived_exit_status = 3;
  EXPECT_EQ(job(1), wanted);
  EXPECT_EQ(job(2).comment, "as it was");
  EXPECT_EQ(transactions(),
            std::vector<std::string>{"Modify Job|alice|comment='changed', derived_ec=3"});
}

TEST_P(Amend, WhatIsNoTextOrExitCodeIsRefused) {
  std::vector<protocol::JobSettings> bad(5);
  bad[0].comment = "two\nlines";
  bad[1].extra = "\x1b[2J";
  bad[2].admin_comment = std::string(5000, 'x');
  bad[3].derived_exit_status = -1;
  bad[4].derived_exit_status = 1 << 16;
  for (const protocol::JobSettings& one : bad) {
    settings = one;
    const auto refused = amend({1}, true);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kBadRequest);
  }
  EXPECT_EQ(job(1).comment, "as it was");
  EXPECT_TRUE(transactions().empty());
}

TEST_P(Amend, NothingChangesBeforeItIsCommitted) {
  EXPECT_EQ(amend({1, 2}, false)->jobs.size(), 2U);
  EXPECT_EQ(job(1).comment, "as it was");
  EXPECT_TRUE(amend({99}, true)->jobs.empty());
}

TEST_P(Amend, OneJobOfAnotherHasNoneChanged) {
  const auto own = [](const std::string&, const JobHistory& job) -> Status {
    return job.uid == 1000 ? Status() : failure(ErrorCode::kAccessDenied);
  };
  const auto refused = amend({1, 3}, true, own);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAccessDenied);
  EXPECT_EQ(job(1).comment, "as it was");
  EXPECT_EQ(amend({}, true, by_all)->jobs.size(), 3U) << "no condition: all of them";
}

TEST_P(Amend, ThoseThatAreNotMeantStay) {
  const auto some = [](const std::string&, const JobHistory& job) -> Status {
    return job.id == 2 ? failure(ErrorCode::kNotFound) : Status();
  };
  EXPECT_EQ(amend({1, 2}, true, some)->jobs.size(), 1U);
  EXPECT_EQ(job(2).comment, "as it was");
}

// A request of a line may mean very many jobs: what is told of it must not grow with them.
TEST_P(Amend, ManyJobsAreOneTransactionOfAFewWords) {
  settings.comment = std::string(1020, 'c');
  settings.extra = std::string(127, 'e') + "\xc3\xa9";
  ASSERT_TRUE(amend({1, 2, 3}, true));
  EXPECT_EQ(written, 3U);
  EXPECT_EQ(transactions(), std::vector<std::string>{"Modify Job|alice|comment='" +
                                                     std::string(128, 'c') + "...', extra='" +
                                                     std::string(127, 'e') + "...', derived_ec=3"});
  EXPECT_EQ(last_transaction().where, "3 jobs: job_db_inx=1-3");
  EXPECT_EQ(last_transaction().clusters, std::vector<std::string>{"c"});
  EXPECT_EQ(job(2).comment, settings.comment);
}

// As Slurm does they are answered: there is nothing to write of them.
TEST_P(Amend, JobsThatAreSoAlreadyAreNotWrittenAgain) {
  ASSERT_TRUE(amend({2}, true));
  EXPECT_EQ(amend({1, 2, 3}, true)->jobs.size(), 3U);
  EXPECT_EQ(written, 2U);
  EXPECT_EQ(last_transaction().where, "2 jobs: job_db_inx=1,3");
  EXPECT_EQ(amend({1, 2, 3}, true)->jobs.size(), 3U);
  EXPECT_EQ(written, 0U);
  EXPECT_EQ(transactions().size(), 2U);
}

TEST_P(Amend, MoreJobsThanOneRequestMayMeanAreRefused) {
  most_jobs = 2;
  const auto refused = amend({1, 2, 3}, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadRequest);
  EXPECT_EQ(job(1).comment, "as it was");
  EXPECT_EQ(amend({1, 2}, true)->jobs.size(), 2U);
}

}  // namespace
}  // namespace sluice::dbd
