// Who may ask the accounting daemon what.
#include <unistd.h>

#include <gtest/gtest.h>

#include "common/os/clock.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/accounting_admin.hpp"
#include "common/protocol/accounting_archive.hpp"
#include "common/protocol/accounting_daemon.hpp"
#include "common/protocol/accounting_jobs.hpp"
#include "common/protocol/accounting_usage.hpp"
#include "system/wire/cluster.hpp"

namespace sluice::testing {
namespace {

using namespace protocol;  // NOLINT(google-build-using-namespace): all it holds is named here

enum class May { kAnyone, kUsers, kAdministrators };
struct Row {
  std::string method;
  std::string request;
  May may = May::kUsers;
};

template <class Request>
Row row(May may, const Request& request = {}) {
  return {std::string(Request::kMethod), wire::encode(request), may};
}

StoreHistoryRequest forged(JobId id, uint32_t uid) {
  JobHistory job;
  job.id = id;
  job.uid = uid;
  job.state = JobState::kFailed;
  job.submit = job.start = job.end = from_seconds(1'700'000'000);
  HistoryRecord record;
  record.job = std::make_shared<const JobHistory>(job);
  StoreHistoryRequest request;
  request.cluster = "forged";
  request.stream = "s";
  request.records = {wire::encode(record)};
  return request;
}

ChangeAccountingRequest change() {
  ChangeAccountingRequest request;
  request.where.accounts = {"strange"};
  request.commit = true;
  return request;
}
ChangeJobHistoryRequest change_jobs(uint32_t uid) {
  ChangeJobHistoryRequest request;
  request.where.uids = {uid};
  request.settings.comment = "changed";
  request.commit = true;
  return request;
}
QueryReportRequest report(UsageReport kind) {
  QueryReportRequest request;
  request.report = kind;
  request.from = from_seconds(1'700'000'000);
  request.until = from_seconds(1'700'003'600);
  return request;
}

// Of what is decided by what is asked for, here is what anybody may ask.
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      row<PingAccountingRequest>(May::kAnyone),
      row<StoreHistoryRequest>(May::kAdministrators, forged(1, kAlice)),
      row<QueryHistoryRequest>(May::kUsers),
      // his own jobs; of others' see system:sacctmgr
      row<ChangeJobHistoryRequest>(May::kUsers, change_jobs(kBob)),
      row<QueryAccountingRequest>(May::kUsers),
      // what is refused is answered as well (AStrangersChangeIsRefused)
      row<ChangeAccountingRequest>(May::kUsers, change()),
      row<LoadAccountingRequest>(May::kAdministrators),
      row<QueryAccountingRecordsRequest>(May::kAdministrators, {"trial", 0}),
      row<QueryReportRequest>(May::kUsers, report(UsageReport::kJobs)),
      row<QueryReportRequest>(May::kAdministrators, report(UsageReport::kRunawayJobs)),
      row<EndRunawayJobsRequest>(May::kAdministrators),
      row<DumpArchiveRequest>(May::kAdministrators),
      row<QueryAccountingDaemonRequest>(May::kUsers),
      row<QueryAccountingDaemonRequest>(May::kAdministrators, {true, false, false}),
      row<QueryAccountingDaemonRequest>(May::kAdministrators, {false, true, false}),
      row<QueryAccountingDaemonRequest>(May::kAdministrators, {false, false, false, true}),
  };
  return kRows;
}

class Accounting : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: jobs of two users";
  }
};

TEST_F(Accounting, WhoMayAskWhat) {
  const WireCluster cluster;
  const auto nobody = cluster.client(Server::kAccounting, TokenOf());
  const auto bob = cluster.client_as(Server::kAccounting, kBob);
  const auto root = cluster.client_as(Server::kAccounting, 0);
  for (const Row& one : rows()) {
    SCOPED_TRACE(one.method);
    const auto without = cluster.ask(Server::kAccounting, *nobody, one.method, one.request);
    EXPECT_EQ(without.has_value(), one.may == May::kAnyone);
    if (!without) { EXPECT_EQ(without.error().code, ErrorCode::kAuthentication); }
    const auto of_bob = cluster.ask(Server::kAccounting, *bob, one.method, one.request);
    EXPECT_EQ(of_bob.has_value(), one.may != May::kAdministrators);
    if (!of_bob) { EXPECT_EQ(of_bob.error().code, ErrorCode::kAccessDenied); }
    EXPECT_TRUE(cluster.ask(Server::kAccounting, *root, one.method, one.request));
  }
}

TEST_F(Accounting, AStrangersChangeIsRefused) {
  const WireCluster cluster;
  const auto of_bob = cluster.call_as<ChangeAccountingReply>(kBob, change(), Server::kAccounting);
  ASSERT_TRUE(of_bob);
  EXPECT_TRUE(of_bob->refused);
  EXPECT_FALSE(of_bob->committed);
  // as soon as the controller has told of its cluster
  EXPECT_TRUE(WireCluster::eventually([&] {
    const auto of_root = cluster.call_as<ChangeAccountingReply>(0, change(), Server::kAccounting);
    return of_root && of_root->committed;
  }));
}

// Who may not load an archive does not learn which files there are.
TEST_F(Accounting, AStrangersArchiveIsRefused) {
  const WireCluster cluster;
  for (const char* file : {"/nowhere", "/etc/passwd"}) {
    const LoadArchiveRequest request{file, true};
    const auto of_bob = cluster.call_as<LoadArchiveReply>(kBob, request, Server::kAccounting);
    ASSERT_FALSE(of_bob);
    EXPECT_EQ(of_bob.error().code, ErrorCode::kAccessDenied);
    EXPECT_FALSE(cluster.call_as<LoadArchiveReply>(0, request, Server::kAccounting));
  }
}

// One that was made for the controller proves nothing to the daemon.
TEST_F(Accounting, ATokenIsForOneDaemon) {
  const WireCluster cluster;
  const auto maker = std::make_shared<net::TokenMaker>(cluster.maker());
  const auto client = cluster.client(Server::kAccounting, [&](const net::RequestDigest&) {
    const std::string request = wire::encode(QueryHistoryRequest{});
    const auto digest =
        net::digest_request(net::kController, QueryHistoryRequest::kMethod, request);
    return maker->make(0, 0, digest.bytes, net::now());
  });
  const auto answer =
      cluster.ask(Server::kAccounting, *client, std::string(QueryHistoryRequest::kMethod),
                  wire::encode(QueryHistoryRequest{}));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kAuthentication);
}

TEST_F(Accounting, AScriptIsItsOwnersAndTheOperators) {
  const WireCluster cluster;
  const JobId job = cluster.running_job();
  QueryJobTextRequest request;
  request.cluster = "trial";
  request.job.job = job;
  ASSERT_TRUE(WireCluster::eventually([&] {
    return cluster.call_as<QueryJobTextReply>(kAlice, request, Server::kAccounting).has_value();
  }));
  const auto of_bob = cluster.call_as<QueryJobTextReply>(kBob, request, Server::kAccounting);
  ASSERT_FALSE(of_bob);
  EXPECT_EQ(of_bob.error().code, ErrorCode::kInvalidJobId) << "as if there were none";
  const auto of_root = cluster.call_as<QueryJobTextReply>(0, request, Server::kAccounting);
  ASSERT_TRUE(of_root);
  EXPECT_NE(of_root->text.find("sleep 1000"), std::string::npos);
}

}  // namespace
}  // namespace sluice::testing
