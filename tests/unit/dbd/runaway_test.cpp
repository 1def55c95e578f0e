// Jobs without an end: they get one, with what their controller knows of them.
#include "dbd/history/runaway.hpp"

#include "common/model/history.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/history/ingest.hpp"
#include "dbd/history/query.hpp"
#include "dbd/store/usage_store.hpp"
#include "unit/dbd/storages.hpp"

namespace sluice::dbd {
namespace {

Time after_start(int64_t seconds) { return from_seconds(1'700'000'000 + seconds); }

// Job 1 runs, 2 waits, and 3 runs.
class RunawayTest : public test::WithStorage {
 protected:
  RunawayTest() {
    auto opened = Database::open(storage);
    EXPECT_TRUE(opened);
    database_ = std::move(*opened);
    protocol::StoreHistoryRequest request;
    request.cluster = "c";
    request.stream = "one";
    request.first = 1;
    for (const JobId id : {1U, 2U, 3U}) {
      JobHistory job;
      job.id = id;
      job.submit = job.eligible = after_start(0);
      if (id != 2) job.start = after_start(10);
      job.state = id == 2 ? JobState::kPending : JobState::kRunning;
      HistoryRecord record;
      record.job = std::make_shared<const JobHistory>(std::move(job));
      StepHistory step;
      step.id = {id, 0};
      step.job_submit = step.start = after_start(0);
      if (id != 2) record.step = std::make_shared<const StepHistory>(step);
      request.records.push_back(wire::encode(record));
    }
    EXPECT_TRUE(store_history(*database_, request, after_start(20)));
  }
  std::vector<protocol::RunawayRow> runaway() {
    protocol::QueryReportRequest request;
    request.report = protocol::UsageReport::kRunawayJobs;
    request.from = after_start(0);
    request.until = after_start(3600);
    const auto reply = query_usage(*database_, request, after_start(3600));
    EXPECT_TRUE(reply) << reply.error().text;
    return reply->runaway;
  }
  protocol::HistoryJob job(JobId id) {
    protocol::QueryHistoryRequest request;
    request.jobs = {{.job = id}};
    auto filter = history::Filter::make(std::move(request));
    auto found = HistoryQuery(*database_, std::move(*filter)).next(after_start(3600));
    EXPECT_TRUE(found && *found);
    return std::move((*found)->jobs.front());
  }

  std::unique_ptr<Database> database_;
};

TEST_P(RunawayTest, ThoseThatTheControllerKnowsGetWhatItSays) {
  const auto rows = runaway();
  ASSERT_EQ(rows.size(), 3U);
  protocol::EndRunawayJobsRequest request;
  request.indexes = {rows[2].index};
  protocol::RunawayEnd ran;
  ran.index = rows[0].index;
  ran.state = JobState::kFailed;
  ran.exit_status = 3 << 8;
  ran.eligible = after_start(0);
  ran.start = after_start(10);
  ran.end = after_start(100);
  protocol::RunawayEnd waited = ran;
  waited.index = rows[1].index;
  waited.state = JobState::kCompleted;
  waited.nodes = "n1";
  waited.node_count = 1;
  waited.cpus = 4;
  waited.allocated_tres = {{"cpu", 4}};
  request.known = {ran, waited};
  EXPECT_EQ(end_runaway_jobs(*database_, request).value_or(99), 3U);
  const auto first = job(1), second = job(2), third = job(3);
  EXPECT_EQ(first.job.state, JobState::kFailed);
  EXPECT_EQ(first.job.exit_status, 3 << 8);
  EXPECT_EQ(first.job.end, after_start(100));
  EXPECT_EQ(first.steps.at(0).end, after_start(100)) << "its step is over, too";
  EXPECT_EQ(first.steps.at(0).state, StepState::kCancelled);
  EXPECT_EQ(second.job.start, after_start(10));
  EXPECT_EQ(second.job.nodes, "n1");
  EXPECT_EQ(second.job.cpus, 4U);
  EXPECT_EQ(third.job.state, JobState::kCompleted);
  EXPECT_EQ(third.job.end, after_start(10)) << "when it ended nobody knows";
  EXPECT_TRUE(runaway().empty());
  request.known[0].end = after_start(500);
  EXPECT_EQ(end_runaway_jobs(*database_, request).value_or(99), 0U) << "who has an end keeps it";
  EXPECT_EQ(job(1).job.end, after_start(100));
}

TEST_P(RunawayTest, OthersGetTheStateThatIsAskedFor) {
  protocol::EndRunawayJobsRequest request;
  request.indexes = {runaway().at(0).index};
  request.state = JobState::kRunning;
  EXPECT_FALSE(end_runaway_jobs(*database_, request));
  request.state = JobState::kNodeFail;
  EXPECT_EQ(end_runaway_jobs(*database_, request).value_or(99), 1U);
  EXPECT_EQ(job(1).job.state, JobState::kNodeFail);
}

SLUICE_STORAGES(RunawayTest);

}  // namespace
}  // namespace sluice::dbd
