// Who may speak to srun's port: nobody but the daemons of its step.
#include "cli/step/step_link.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "common/step/io_proof.hpp"
#include "common/wire/codec.hpp"

namespace sluice::cli {
namespace {

using boost::asio::ip::tcp;
using protocol::FrameType;

constexpr auto kPatience = std::chrono::seconds(20);

// Somebody who connects, from any address of this host.
struct Peer {
  std::shared_ptr<FrameConnection> connection;
  std::vector<Frame> frames;
  bool closed = false;
  std::string hello;
};

class StepLinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto made = link.listen("127.0.0.1", "", false);
    ASSERT_TRUE(made);
    endpoint = *made;
    StepLayout layout;
    layout.nodes.resize(2);
    layout.nodes[0].tasks = {0};
    layout.nodes[1].tasks = {1};
    link.start({{StepId{7, 0}, 2}}, layout,
               {[this](size_t node) { connected.push_back(node); },
                [this](size_t, const Frame& frame) { received.push_back(frame.body); },
                [this](size_t node) { lost.push_back(node); }});
  }
  void TearDown() override {
    link.stop();
    for (const auto& peer : peers) peer->connection->close();
    io.poll();
  }

  std::shared_ptr<Peer> connect(const char* from = "127.0.0.1") {
    tcp::socket socket(io, tcp::endpoint(boost::asio::ip::make_address(from), 0));
    socket.connect(tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"),
                                 static_cast<uint16_t>(endpoint.port)));
    auto peer = std::make_shared<Peer>();
    peer->connection = FrameConnection::make(std::move(socket));
    peer->connection->start({[peer](Frame frame) { peer->frames.push_back(std::move(frame)); },
                             [peer] { peer->closed = true; }, nullptr});
    peers.push_back(peer);
    return peer;
  }
  std::shared_ptr<Peer> greet(uint32_t node, const char* from = "127.0.0.1") {
    const auto peer = connect(from);
    peer->hello = wire::encode(protocol::StepHello{{StepId{7, 0}, 0}, "n", node, make_io_nonce()});
    peer->connection->send(FrameType::kHello, kNoTask, peer->hello);
    return peer;
  }
  protocol::IoChallenge challenge_of(const std::shared_ptr<Peer>& peer) {
    EXPECT_TRUE(until([&] { return !peer->frames.empty() || peer->closed; }));
    if (peer->frames.empty()) return {};
    EXPECT_EQ(peer->frames[0].type, FrameType::kChallenge);
    return wire::decode<protocol::IoChallenge>(peer->frames[0].body)
        .value_or(protocol::IoChallenge{});
  }
  void prove(const std::shared_ptr<Peer>& peer, const std::string& key) {
    const auto challenge = challenge_of(peer);
    peer->connection->send(FrameType::kProof, kNoTask,
                           io_proof(IoSide::kDaemon, key, peer->hello, challenge.nonce));
  }
  template <class Condition>
  bool until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition() && std::chrono::steady_clock::now() < end)
      io.run_one_for(std::chrono::milliseconds(100));
    return condition();
  }

  boost::asio::io_context io{1};
  StepLink link{io};
  IoEndpoint endpoint;
  std::vector<std::shared_ptr<Peer>> peers;
  std::vector<size_t> connected, lost;
  std::vector<std::string> received;
};

TEST_F(StepLinkTest, ADaemonAndSrunProveThatTheyKnowTheKeyAndNeitherSendsIt) {
  const auto daemon = greet(1);
  const auto challenge = challenge_of(daemon);
  EXPECT_TRUE(
      is_io_proof(challenge.proof, IoSide::kSrun, endpoint.key, daemon->hello, challenge.nonce));
  EXPECT_EQ(daemon->frames[0].body.find(endpoint.key), std::string::npos);
  EXPECT_TRUE(connected.empty()) << "before its proof";
  prove(daemon, endpoint.key);
  daemon->connection->send(FrameType::kStdout, 1, std::string(100000, 'x'));
  ASSERT_TRUE(until([&] { return !received.empty(); }));
  EXPECT_EQ(connected, std::vector<size_t>{1});
  EXPECT_EQ(received[0].size(), 100000u);
}

TEST_F(StepLinkTest, WhoDoesNotKnowTheKeyIsNotHeard) {
  const auto forger = greet(0);
  prove(forger, "another key");
  forger->connection->send(FrameType::kStdout, 0, "forged");
  EXPECT_TRUE(until([&] { return forger->closed; }));
  const auto mirror = greet(0);  // sends srun's own proof back
  const auto challenge = challenge_of(mirror);
  mirror->connection->send(FrameType::kProof, kNoTask, challenge.proof);
  EXPECT_TRUE(until([&] { return mirror->closed; }));
  const auto hasty = greet(0);  // as if it were known already
  hasty->connection->send(FrameType::kStdout, 0, "forged");
  EXPECT_TRUE(until([&] { return hasty->closed; }));
  EXPECT_TRUE(connected.empty());
  EXPECT_TRUE(received.empty());
}

TEST_F(StepLinkTest, AProofIsOfNoUseInAnotherConnection) {
  const auto daemon = greet(0);
  const auto challenge = challenge_of(daemon);
  const std::string proof = io_proof(IoSide::kDaemon, endpoint.key, daemon->hello, challenge.nonce);
  const auto replayer = connect();
  replayer->hello = daemon->hello;
  replayer->connection->send(FrameType::kHello, kNoTask, daemon->hello);
  static_cast<void>(challenge_of(replayer));
  replayer->connection->send(FrameType::kProof, kNoTask, proof);
  EXPECT_TRUE(until([&] { return replayer->closed; }));
  daemon->connection->send(FrameType::kProof, kNoTask, proof);
  EXPECT_TRUE(until([&] { return connected.size() == 1; }));
}

TEST_F(StepLinkTest, AStrangerMaySendLittle) {
  const auto peer = connect();
  peer->connection->send(FrameType::kHello, kNoTask, std::string(kMaxUnprovedFrame + 1, 'x'));
  EXPECT_TRUE(until([&] { return peer->closed; }));
}

TEST_F(StepLinkTest, AFloodOfStrangersDoesNotPushADaemonOut) {
  const auto daemon = greet(0, "127.0.0.1");
  static_cast<void>(challenge_of(daemon));
  std::vector<std::shared_ptr<Peer>> flood;
  for (int i = 0; i < 200; ++i) flood.push_back(connect("127.0.0.2"));
  EXPECT_TRUE(until([&] {
    return static_cast<size_t>(std::ranges::count_if(
               flood, [](const auto& peer) { return peer->closed; })) >= 200 - 66;
  }));
  prove(daemon, endpoint.key);
  EXPECT_TRUE(until([&] { return connected.size() == 1; }));
  EXPECT_FALSE(daemon->closed);
}

}  // namespace
}  // namespace sluice::cli
