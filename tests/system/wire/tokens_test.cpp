// Tokens and launches that prove nothing, sent to a real controller and a real agent.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/base/text.hpp"
#include "common/auth/auth_slurm.hpp"
#include "common/os/clock.hpp"
#include "common/auth/signer.hpp"
#include "common/protocol/noded.hpp"
#include "system/launches.hpp"
#include "system/wire/cluster.hpp"

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;
using net::RequestDigest;

class Tokens : public ::testing::Test {
 protected:
  // How each daemon refuses a question with this token; "" when it answers.
  void refused(const TokenOf& token, std::initializer_list<std::string> words) {
    for (const Server server : {Server::kController, Server::kAgent}) {
      const std::string text = answer(server, token);
      for (const std::string& word : words)
        EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
    }
  }
  std::string answer(Server server, const TokenOf& token) {
    const auto client = cluster.client(server, token);
    const auto reply = cluster.ask(server, *client, question(server), {});
    if (reply) return "";
    EXPECT_EQ(reply.error().code, ErrorCode::kAuthentication);
    return reply.error().text;
  }
  static std::string question(Server server) {
    return server == Server::kController ? "Controller/QueryConfig" : "NodeAgent/ShowAgent";
  }

  WireCluster cluster;
  const net::TokenMaker maker = cluster.maker();
};

TEST_F(Tokens, AReplayedOneIsRefused) {
  for (const Server server : {Server::kController, Server::kAgent}) {
    std::string kept;
    const TokenOf same = [&](const RequestDigest& digest) {
      if (kept.empty()) kept = maker.make(0, 0, digest.bytes, net::now());
      return kept;
    };
    EXPECT_EQ(answer(server, same), "");
    const std::string text = answer(server, same);
    EXPECT_NE(text.find("the token was replayed: it was used before (issued "), std::string::npos)
        << text;
  }
}

// What somebody saw on its way to one daemon is of no use with another, not even once.
TEST_F(Tokens, AnotherDaemonsIsRefused) {
  for (const Server server : {Server::kController, Server::kAgent}) {
    const Server other = server == Server::kController ? Server::kAgent : Server::kController;
    const std::string method = question(server);
    const auto made_for = [&](const std::string& receiver) {
      const auto client = cluster.client(server, [&, receiver](const RequestDigest&) {
        return maker.make(0, 0, net::digest_request(receiver, method, "").bytes, net::now());
      });
      return cluster.ask(server, *client, method, "");
    };
    EXPECT_TRUE(made_for(cluster.receiver(server)));
    for (const std::string& receiver :
         {cluster.receiver(other), std::string("n2"), std::string()}) {
      const auto reply = made_for(receiver);
      ASSERT_FALSE(reply) << receiver;
      EXPECT_NE(reply.error().text.find("or to one to another daemon"), std::string::npos)
          << reply.error().text;
    }
  }
}

TEST_F(Tokens, AStaleOneAndOneOfTheFutureSayTheClockDifference) {
  refused(
      [&](const RequestDigest& d) { return maker.make(0, 0, d.bytes, net::now() - 500s); },
      {"has expired", "issued 50", "clocks of here and of this host", "clock difference up to 50"});
  refused([&](const RequestDigest& d) { return maker.make(0, 0, d.bytes, net::now() + 300s); },
          {"not valid yet", "clocks of here and of this host", "clock difference 29"});
}

TEST_F(Tokens, AForgedOneIsRefused) {
  // Bob's own token with his uid turned into root's
  refused(
      [&](const RequestDigest& d) {
        const std::string good = maker.make(kBob, kBob, d.bytes, net::now());
        auto claims =
            wire::decode<net::Token>(std::string_view(good).substr(1, good.size() - 33)).value();
        claims.uid = claims.gid = 0;
        return good.substr(0, 1) + wire::encode(claims) + good.substr(good.size() - 32);
      },
      {"signature is wrong: it was forged, or made with another key"});
  const net::TokenMaker other(net::ClusterKey::from_bytes(std::string(64, 'x')), "trial", "here");
  refused([&](const RequestDigest& d) { return other.make(0, 0, d.bytes, net::now()); },
          {"made with another key"});
  const net::TokenMaker foreign(net::ClusterKey::from_bytes(cluster.key()), "elsewhere", "here");
  refused([&](const RequestDigest& d) { return foreign.make(0, 0, d.bytes, net::now()); },
          {"for cluster 'elsewhere', not for 'trial'"});
  refused(
      [&](const RequestDigest&) {
        return maker.make(0, 0, net::digest_request(net::kController, "Controller/Ping", "").bytes,
                          net::now());
      },
      {"belongs to another request"});
  refused([](const RequestDigest&) { return std::string("nonsense"); }, {"malformed"});
}

TEST_F(Tokens, TheSocketVouchesForWhoAskedWhoeverUsesIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: acts as another user";
  const JobId job = cluster.held_job();
  protocol::UpdateJobRequest update;
  update.target = std::to_string(job);
  update.update.comment = "not Alice's";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {  // Bob asks for a token for a change of Alice's job …
    if (::setgid(kBob) != 0 || ::setuid(kBob) != 0) ::_exit(1);
    const auto token = net::make_socket_auth(cluster.dir() + "/sack.socket")
                           ->create_token(net::digest_request(
                               net::kController, "Controller/UpdateJob", wire::encode(update)));
    const bool sent = token && ::write(ends[1], token->data(), token->size()) ==
                                   static_cast<ssize_t>(token->size());
    ::_exit(sent ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  char buffer[4096];
  const ssize_t size = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_GT(size, 0);
  const std::string token(buffer, static_cast<size_t>(size));
  // … and root sends it: it is Bob who asks
  const auto client =
      cluster.client(Server::kController, [&](const RequestDigest&) { return token; });
  const auto reply =
      cluster.ask(Server::kController, *client, "Controller/UpdateJob", wire::encode(update));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kAccessDenied);
  EXPECT_TRUE(cluster.job(job).job.spec->comment.empty());
}

class Launches : public ::testing::Test {
 protected:
  Launches() {
    const auto loaded = net::CredentialSigner::load(cluster.dir() + "/state/credential.key");
    EXPECT_TRUE(loaded);
    signer = *loaded;
    JobSpec spec;
    spec.work_dir = cluster.dir() + "/work";
    spec.std_out = "/dev/null";
    // the controller knows the node before the node has read the answer to its registration
    EXPECT_TRUE(WireCluster::eventually([&] { return !cluster_id().empty(); }));
    launch = batch_launch_of(7777, cluster_id(), std::move(spec), "#!/bin/sh\necho ran >> ran\n");
  }
  std::string cluster_id() const { return std::string(trim(cluster.read("spool/n1/cluster_id"))); }
  protocol::LaunchStepRequest request() const {
    protocol::LaunchStepRequest out;
    out.launch = wire::encode(launch);
    out.signature = signer.sign(out.launch);
    return out;
  }
  // The agent knows the controller's key once it has heard that its registration was taken.
  Error send(const protocol::LaunchStepRequest& request, uint32_t uid = ::geteuid()) const {
    Error answer;
    EXPECT_TRUE(WireCluster::eventually([&] {
      const auto reply = cluster.call_as<protocol::Empty>(uid, request, Server::kAgent);
      answer = reply ? Error{ErrorCode::kOk, {}} : reply.error();
      return answer.text.find("not registered") == std::string::npos;
    }));
    return answer;
  }
  size_t runs() const { return cluster.read("work/ran").size() / 4; }
  void expect_none_ran() const {
    EXPECT_EQ(runs(), 0U);
    EXPECT_FALSE(std::filesystem::exists(cluster.dir() + "/spool/n1/steps/7777.4294967291.0.key"));
  }
  // The step has ended, and the agent holds nothing of it any more.
  bool forgotten() const {
    for (const auto& file :
         std::filesystem::directory_iterator(cluster.dir() + "/spool/n1/steps")) {
      if (file.path().filename().string().starts_with("7777.4294967291.0.")) return false;
    }
    return true;
  }

  static std::string question(Server server) {
    return server == Server::kController ? "Controller/QueryConfig" : "NodeAgent/ShowAgent";
  }

  WireCluster cluster;
  net::CredentialSigner signer = net::CredentialSigner::generate();
  protocol::StepLaunch launch;
};

TEST_F(Launches, OnlyTheControllersSignatureCounts) {
  auto unsigned_one = request();
  unsigned_one.signature.clear();
  EXPECT_EQ(send(unsigned_one).code, ErrorCode::kInvalidCredential);
  auto other_key = request();
  other_key.signature = net::CredentialSigner::generate().sign(other_key.launch);
  EXPECT_EQ(send(other_key).code, ErrorCode::kInvalidCredential);
  auto changed = request();
  launch.uid = 0;
  launch.script += "\n";
  changed.launch = wire::encode(launch);
  EXPECT_EQ(send(changed).code, ErrorCode::kInvalidCredential);
  EXPECT_EQ(send(request(), kNobody).code, ErrorCode::kAccessDenied);
  expect_none_ran();
}

TEST_F(Launches, OneForAnotherNodeOrClusterIsRefused) {
  launch.layout.nodes[0].name = "n2";
  EXPECT_EQ(send(request()).code, ErrorCode::kInvalidNodeName);
  launch.layout.nodes[0].name = "n1";
  launch.cluster_id = "another";
  EXPECT_EQ(send(request()).code, ErrorCode::kWrongCluster);
  expect_none_ran();
}

TEST_F(Launches, AnOldOneAndOneOfTheFutureAreRefused) {
  launch.issued = net::now() - 500s;
  const Error old = send(request());
  EXPECT_EQ(old.code, ErrorCode::kRetry) << "the controller may sign anew";
  EXPECT_NE(old.text.find("expired (signed 50"), std::string::npos) << old.text;
  launch.issued = net::now() + 300s;
  const Error early = send(request());
  EXPECT_EQ(early.code, ErrorCode::kRetry);
  EXPECT_NE(early.text.find("not valid yet (signed in 29"), std::string::npos) << early.text;
  expect_none_ran();
}

TEST_F(Launches, AReplayedOneDoesNotRunAgainNotEvenAfterARestart) {
  const auto once = request();
  ASSERT_EQ(send(once).code, ErrorCode::kOk);
  ASSERT_TRUE(WireCluster::eventually([&] { return runs() == 1 && forgotten(); }));
  EXPECT_EQ(send(once).code, ErrorCode::kAlreadyDone);
  cluster.kill_and_restart(Server::kAgent);
  const Error again = send(once);
  EXPECT_EQ(again.code, ErrorCode::kRetry) << again.text;
  EXPECT_NE(again.text.find("before this agent had last registered"), std::string::npos);
  EXPECT_EQ(runs(), 1U);
}

}  // namespace
}  // namespace sluice::testing
