// What reports tell to whom, and how much may be asked for.
#include <gtest/gtest.h>

#include "common/os/clock.hpp"
#include "common/protocol/accounting_usage.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/history/ingest.hpp"
#include "dbd/rpc/admin_methods.hpp"
#include "dbd/store/usage_store.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::dbd {
namespace {

using protocol::QueryReportReply;
using protocol::QueryReportRequest;
using protocol::UsageReport;

constexpr uint32_t kDaemonUser = 1;  // has a name on each host

// A cluster whose one job ran for an hour, yesterday: what was long ago takes long to sum up.
class Reports : public ::testing::Test {
 protected:
  Reports()
      : database(std::move(*Database::open(sqlite_file(folder / "accounting.db")))),
        store(*database, SiteRules{}),
        archiver(*database, PurgeRules{}),
        parts{config, *database, store, statistics, followers, archiver, {}},
        server(net::ServerOptions{}) {
    EXPECT_TRUE(store.open());
    add_usage_methods(server, parts);
    JobHistory job;
    job.id = 1;
    job.account = "physics";
    job.user = "somebody";
    job.cpus = 2;
    job.state = JobState::kCompleted;
    job.submit = job.eligible = job.start = yesterday + std::chrono::hours(5);
    job.end = job.start + std::chrono::hours(1);
    job.allocated_tres = {{"cpu", 2}};
    HistoryRecord record, cluster;
    record.job = std::make_shared<const JobHistory>(job);
    ClusterHistory size;
    size.time = job.start - std::chrono::hours(1);
    size.tres = {{"cpu", 4}};
    cluster.cluster = std::make_shared<const ClusterHistory>(size);
    protocol::StoreHistoryRequest stored;
    stored.cluster = "c";
    stored.stream = "s";
    stored.records = {wire::encode(cluster), wire::encode(record)};
    EXPECT_TRUE(store_history(*database, stored, job.end));
    request.from = yesterday;
    request.until = day_of(yesterday, 1);
  }
  Result<QueryReportReply> ask(UsageReport report, uint32_t uid = kDaemonUser) {
    struct Keep final : net::ReplySink {
      Result<std::string> bytes;
      void complete(Result<std::string> reply) override { bytes = std::move(reply); }
    };
    auto keep = std::make_shared<Keep>();
    net::CallContext context;
    context.identity.authenticated = true;
    context.identity.uid = uid;
    request.report = report;
    server.dispatch(context, QueryReportRequest::kMethod, wire::encode(request),
                    net::RawResponder(keep));
    if (!keep->bytes) return tl::unexpected<Error>(keep->bytes.error());
    return wire::decode<QueryReportReply>(*keep->bytes);
  }
  ErrorCode refusal(UsageReport report, uint32_t uid = kDaemonUser) {
    const auto reply = ask(report, uid);
    return reply ? ErrorCode::kOk : reply.error().code;
  }

  const Time yesterday = day_of(net::now(), -1);
  sluice::test::TempFolder folder;
  void make_private(std::vector<std::string> data) {
    DbdConfig next;
    next.private_data = std::move(data);
    config.set(std::make_shared<const DbdConfig>(std::move(next)));
  }
  LiveConfig config{std::make_shared<const DbdConfig>()};
  std::unique_ptr<Database> database;
  EntityStore store;
  Statistics statistics{kNoTime};
  Followers followers;
  Archiver archiver;
  AdminParts parts;
  net::RpcServer server;
  QueryReportRequest request;
};

// PrivateData=reservations was read and did nothing.
TEST_F(Reports, OfReservationsAreOfOperatorsWherePrivate) {
  EXPECT_EQ(refusal(UsageReport::kReservations), ErrorCode::kOk);
  make_private({"reservations"});
  EXPECT_EQ(refusal(UsageReport::kReservations), ErrorCode::kAccessDenied);
  EXPECT_EQ(refusal(UsageReport::kReservations, 0), ErrorCode::kOk);
  EXPECT_EQ(refusal(UsageReport::kCluster), ErrorCode::kOk);
}

// With PrivateData=usage the sums of the cluster, which were refused, came along with one's own.
TEST_F(Reports, HaveNoSumsOfTheClusterWhereUsageIsPrivate) {
  for (const UsageReport report : {UsageReport::kJobs, UsageReport::kJobSizes}) {
    make_private({});
    EXPECT_FALSE(ask(report)->cluster.empty());
    make_private({"usage"});
    const auto own = ask(report);
    ASSERT_TRUE(own) << own.error().text;
    EXPECT_TRUE(own->cluster.empty());
    EXPECT_TRUE(own->jobs.empty());
    EXPECT_TRUE(own->sizes.empty());
    request.users.clear();
    EXPECT_FALSE(ask(report, 0)->cluster.empty());
  }
  EXPECT_EQ(refusal(UsageReport::kCluster), ErrorCode::kAccessDenied);
}

// It was the most of all hours.
TEST_F(Reports, TellTheAverageOfWhatAClusterHad) {
  ClusterHistory more;
  more.time = yesterday + std::chrono::hours(14);
  more.tres = {{"cpu", 12}};
  HistoryRecord record;
  record.cluster = std::make_shared<const ClusterHistory>(more);
  protocol::StoreHistoryRequest stored;
  stored.cluster = "c";
  stored.stream = "s";
  stored.first = 3;
  stored.records = {wire::encode(record)};
  ASSERT_TRUE(store_history(*database, stored, more.time));
  request.from = yesterday + std::chrono::hours(10);
  request.until = yesterday + std::chrono::hours(18);
  EXPECT_EQ(ask(UsageReport::kCluster)->cluster.at(0).count, 8U);
  request.from = yesterday + std::chrono::hours(16);
  EXPECT_EQ(ask(UsageReport::kCluster)->cluster.at(0).count, 12U);
}

// A megabyte of sizes made gigabytes of numbers.
TEST_F(Reports, TakeAHundredSizesAndAThousandNames) {
  request.sizes.assign(100, 1);
  ASSERT_TRUE(ask(UsageReport::kJobSizes));
  EXPECT_EQ(ask(UsageReport::kJobSizes)->sizes.at(0).jobs.size(), 101U);
  request.sizes.assign(101, 1);
  EXPECT_EQ(refusal(UsageReport::kJobSizes, 0), ErrorCode::kBadRequest);
  request.sizes.clear();
  request.accounts.assign(600, "physics");
  request.names.assign(401, "maintenance");
  EXPECT_EQ(refusal(UsageReport::kJobs), ErrorCode::kBadRequest);
  EXPECT_EQ(refusal(UsageReport::kJobs, 0), ErrorCode::kOk);
  request.names.pop_back();
  EXPECT_EQ(refusal(UsageReport::kJobs), ErrorCode::kOk);
}

}  // namespace
}  // namespace sluice::dbd
