// Who may do what, over every request that the daemons answer. A method without a row here fails.
#include <unistd.h>

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/base/text.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/node_query.hpp"
#include "common/protocol/priority.hpp"
#include "common/protocol/broadcast.hpp"
#include "common/protocol/noded.hpp"
#include "common/protocol/protocol_version.hpp"
#include "system/wire/cluster.hpp"
#include "system/wire/rows.hpp"

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;

std::string name_of(const Row& row) {
  return (row.server == Server::kController ? "controller " : "agent ") + row.method;
}

class Permissions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: jobs of two users";
  }
};

// The methods that a daemon serves, as its log says.
std::set<std::string> served(const WireCluster& cluster, Server server) {
  const std::string log =
      cluster.read(server == Server::kController ? "log/sluicectld.log" : "log/n1.log");
  const size_t at = log.find("methods: ");
  if (at == std::string::npos) return {};
  const size_t from = at + std::string("methods: ").size();
  std::set<std::string> names;
  for (const auto& name : split(log.substr(from, log.find('\n', from) - from), ' '))
    names.emplace(name);
  return names;
}

TEST_F(Permissions, EveryMethodHasARow) {
  const WireCluster cluster;
  for (const Server server : {Server::kController, Server::kAgent}) {
    std::set<std::string> known;
    for (const Row& row : all_rows()) {
      if (row.server != server) continue;
      EXPECT_TRUE(known.insert(row.method).second) << row.method;
    }
    EXPECT_EQ(served(cluster, server), known);
  }
}

// All that others may not change, as bytes.
std::string present_state(const WireCluster& cluster, const std::vector<JobId>& jobs) {
  std::string bytes;
  for (const JobId id : jobs) bytes += wire::encode(cluster.job(id).job);
  const auto nodes = cluster.call_as<protocol::QueryNodesReply>(0, protocol::QueryNodesRequest{});
  EXPECT_TRUE(nodes);
  for (const auto& node : nodes->nodes) {
    Node record = node.node;
    record.jobs.clear();
    bytes += wire::encode(record);
  }
  for (const auto& partition : nodes->partitions) bytes += wire::encode(partition);
  return bytes;
}

// What a harmless answer must not hold: anything of Alice's jobs.
void expect_nothing_of_alice(const Row& row, const std::string& reply) {
  if (row.method == "NodeAgent/ListPids") {
    const auto pids = wire::decode<protocol::ListPidsReply>(reply);
    ASSERT_TRUE(pids);
    EXPECT_TRUE(pids->pids.empty());
  }
  if (row.method == "Controller/QueryPriorities") {
    const auto chunk = wire::decode<protocol::PriorityChunk>(reply);
    ASSERT_TRUE(chunk);
    EXPECT_TRUE(chunk->records.empty());
  }
}

TEST_F(Permissions, StrangersNeitherChangeNorSeeAnything) {
  const WireCluster cluster("PrivateData=jobs\n");
  const JobId running = cluster.running_job();
  const JobId held = cluster.held_job();
  const std::string before = present_state(cluster, {running, held});
  for (const Row& row : all_rows()) {
    SCOPED_TRACE(name_of(row));
    const auto bob = cluster.client_as(row.server, kBob);
    for (const JobId job : {running, held}) {
      if (row.server == Server::kAgent && job == held) continue;  // it is not there
      const auto reply = cluster.ask(row.server, *bob, row.method, row.request(job, nullptr, 0));
      if (row.stranger == Stranger::kHarmless) {
        ASSERT_TRUE(reply) << reply.error().text;
        expect_nothing_of_alice(row, *reply);
        if (row.method != "Controller/SubmitJob") continue;
        const auto submitted = wire::decode<protocol::SubmitJobReply>(*reply);
        ASSERT_TRUE(submitted);
        EXPECT_EQ(cluster.job(submitted->job).job.spec->uid, kBob);
        EXPECT_EQ(cluster.job(submitted->job).job.spec->user_name.str(), "bin");
        continue;
      }
      ASSERT_FALSE(reply) << "was answered";
      EXPECT_EQ(reply.error().code,
                row.stranger == Stranger::kHidden ? ErrorCode::kInvalidJobId : row.refusal)
          << reply.error().text;
    }
    const auto unproved = cluster.client(row.server, nullptr);
    const auto reply =
        cluster.ask(row.server, *unproved, row.method, row.request(running, nullptr, 0));
    ASSERT_EQ(reply.has_value(), row.anyone);
    EXPECT_TRUE(reply || reply.error().code == ErrorCode::kAuthentication) << reply.error().text;
  }
  EXPECT_EQ(present_state(cluster, {running, held}), before);
}

// The bug: whoever sent a node orders wrote a line of its agent's log with each.
TEST_F(Permissions, RefusedOrdersFillNoLog) {
  const WireCluster cluster;
  const auto bob = cluster.client_as(Server::kAgent, kBob);
  constexpr int kMany = 500;
  for (int i = 0; i < kMany; ++i) {
    const auto reply =
        bob->call<protocol::PingNodeReply>(protocol::PingNodeRequest{}, std::chrono::seconds(20));
    ASSERT_FALSE(reply);
    ASSERT_EQ(reply.error().code, ErrorCode::kAccessDenied);
    const auto block =
        bob->call<protocol::SendBlockReply>(protocol::SendBlockRequest{}, std::chrono::seconds(20));
    ASSERT_FALSE(block);
    ASSERT_EQ(block.error().code, ErrorCode::kInvalidCredential);
  }
  const std::string log = cluster.read("log/n1.log");
  size_t all = 0;
  for (size_t at = log.find("error: "); at != std::string::npos; at = log.find("error: ", at + 1))
    ++all;
  EXPECT_NE(log.find("Security violation, PingNode RPC from uid=2 "), std::string::npos) << log;
  EXPECT_LE(all, size_t{2 * kMany})
      << "the server's own lines, of which there are some each second, and no others";
}

// The other way round: what was refused above was refused for who asked, not for what was asked.
void expect_all_allowed(Server server) {
  const WireCluster cluster("PrivateData=jobs\n");
  // refused for what they say
  const std::set<std::pair<std::string, ErrorCode>> reasons{
      {"NodeAgent/LaunchStep", ErrorCode::kInvalidCredential},
      {"NodeAgent/PingNode", ErrorCode::kWrongCluster},
      {"Controller/ReportSteps", ErrorCode::kWrongCluster},
      {"Controller/ReportCleaned", ErrorCode::kWrongCluster},
      {"Controller/ReportPrologs", ErrorCode::kWrongCluster},
      {"Controller/RegisterNode", ErrorCode::kInvalidNodeName},
      {"Controller/CreateNodes", ErrorCode::kInvalidNodeName},
      {"Controller/CreateHetStep", ErrorCode::kBadRequest},
      {"NodeAgent/SendBlock", ErrorCode::kInvalidCredential},
      {"NodeAgent/WriteBlock", ErrorCode::kInvalidCredential},
      // what the configuration leaves out
      {"Controller/QueryCrontab", ErrorCode::kDisabled},
      {"Controller/ReplaceCrontab", ErrorCode::kDisabled},
      {"Controller/CreateUserToken", ErrorCode::kNotSupported},
      {"Controller/RebootNodes", ErrorCode::kDisabled}};
  for (const Row& row : all_rows()) {
    // its empty configuration ends a node
    if (row.server != server || row.method == "NodeAgent/ReconfigureNode") continue;
    SCOPED_TRACE(name_of(row));
    const auto client = cluster.client_as(row.server, row.allowed);
    const auto reply = cluster.ask(row.server, *client, row.method,
                                   row.request(cluster.running_job(), nullptr, 0));
    EXPECT_TRUE(reply || reasons.contains({row.method, reply.error().code})) << reply.error().text;
    if (row.ends) {
      const std::string pid_file =
          server == Server::kController ? "run/sluicectld.pid" : "run/n1.pid";
      EXPECT_TRUE(WireCluster::eventually([&] { return cluster.read(pid_file).empty(); }));
    }
  }
}

TEST_F(Permissions, AgentsOfAnotherProtocolAreRefusedByItsVersion) {
  const WireCluster cluster;
  const auto root = cluster.client_as(Server::kController, 0);
  protocol::RegisterNodeRequest request;
  request.name = "n1";
  for (const auto& [version, advice] :
       {std::pair(0U, "update slurmd on this node"),
        std::pair(protocol::kProtocolVersion + 1, "update slurmctld before slurmd")}) {
    request.protocol_version = version;
    const auto reply = root->call<protocol::RegisterNodeReply>(request, std::chrono::seconds(20));
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, ErrorCode::kIncompatibleVersion);
    EXPECT_NE(reply.error().text.find(advice), std::string::npos) << reply.error().text;
  }
}

TEST_F(Permissions, ThoseWhoMayAskTheController) { expect_all_allowed(Server::kController); }
TEST_F(Permissions, ThoseWhoMayAskTheAgent) { expect_all_allowed(Server::kAgent); }

TEST_F(Permissions, OthersJobsAreListedWithoutPrivateDataButNotTheKeysOfTheirSteps) {
  const WireCluster cluster;
  const JobId job = cluster.running_job();
  protocol::CreateStepRequest step;
  step.job = job;
  step.spec.arguments = {"sleep", "1000"};
  step.spec.num_tasks = 1;
  step.spec.overlap = OverlapKind::kOverlap;
  step.spec.io = {"127.0.0.1", 9, "the secret of srun's port"};
  ASSERT_TRUE(cluster.call_as<protocol::CreateStepReply>(kAlice, step));
  protocol::QueryJobsRequest query;
  query.ids = {std::to_string(job)};
  query.steps = true;
  const auto bob = cluster.client_as(Server::kController, kBob);
  const auto reply =
      cluster.ask(Server::kController, *bob, "Controller/QueryJobs", wire::encode(query));
  ASSERT_TRUE(reply) << reply.error().text;
  const auto chunk = wire::decode<protocol::JobChunk>(*reply);
  ASSERT_TRUE(chunk && chunk->jobs.size() == 1 && chunk->jobs[0].job.steps.size() == 2);
  EXPECT_EQ(reply->find("the secret of srun's port"), std::string::npos);
}

}  // namespace
}  // namespace sluice::testing
