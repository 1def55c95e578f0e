// What a step's daemon tells to whom: nothing to who does not know the step's key.
#include "stepd/io/listeners.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "common/step/io_proof.hpp"
#include "common/wire/codec.hpp"

namespace sluice::stepd {
namespace {

using boost::asio::ip::tcp;
using protocol::FrameType;

constexpr auto kPatience = std::chrono::seconds(20);
const std::string kKey = "the key of the step, which only its own srun knows";

class ListenersTest : public ::testing::Test {
 protected:
  // Whoever listens at the port that srun had.
  struct Peer {
    std::shared_ptr<FrameConnection> connection;
    std::vector<Frame> frames;
    bool closed = false;
  };
  void SetUp() override { accept(); }
  void TearDown() override {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    for (const auto& peer : peers) peer->connection->close();
    io.poll();
  }
  void accept() {
    acceptor.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (error) return;
      auto peer = std::make_shared<Peer>();
      peer->connection = FrameConnection::make(std::move(socket));
      peer->connection->start({[peer](Frame frame) { peer->frames.push_back(std::move(frame)); },
                               [peer] { peer->closed = true; }, nullptr});
      peers.push_back(peer);
      accept();
    });
  }
  [[nodiscard]] IoEndpoint endpoint() const {
    return {"127.0.0.1", acceptor.local_endpoint().port(), kKey};
  }
  void answer(Peer& peer, const std::string& key) {
    ASSERT_TRUE(until([&] { return !peer.frames.empty(); }));
    ASSERT_EQ(peer.frames[0].type, FrameType::kHello);
    const std::string nonce = make_io_nonce();
    peer.connection->send(FrameType::kChallenge, kNoTask,
                          wire::encode(protocol::IoChallenge{
                              nonce, io_proof(IoSide::kSrun, key, peer.frames[0].body, nonce)}));
  }
  template <class Condition>
  bool until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition() && std::chrono::steady_clock::now() < end)
      io.run_one_for(std::chrono::milliseconds(100));
    return condition();
  }

  boost::asio::io_context io{1};
  tcp::acceptor acceptor{io, tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"), 0)};
  std::vector<std::shared_ptr<Peer>> peers;
  int settled = 0, lost = 0;
  std::vector<std::string> strangers;
  std::vector<FrameType> heard;
  Listeners listeners{io,
                      {{StepId{7, 0}, 0}, "n1", 0, {}},
                      {[this](const Frame& frame) { heard.push_back(frame.type); },
                       [this] { ++settled; }, [this](bool) { ++lost; }, [] {},
                       [this](const std::string& text) { strangers.push_back(text); }}};
};

TEST_F(ListenersTest, OutputGoesToWhoProvesThatHeKnowsTheKey) {
  listeners.connect(endpoint(), true, true);
  listeners.send(FrameType::kStdout, 0, "secret of the user");
  ASSERT_TRUE(until([&] { return peers.size() == 1; }));
  Peer& srun = *peers[0];
  answer(srun, kKey);
  ASSERT_TRUE(until([&] { return srun.frames.size() == 3; }));
  EXPECT_EQ(srun.frames[0].body.find(kKey), std::string::npos);
  EXPECT_EQ(srun.frames[1].type, FrameType::kProof);
  EXPECT_EQ(srun.frames[2].body, "secret of the user")
      << "with the proof: it waits for no further answer";
  EXPECT_EQ(settled, 1);
  srun.connection->send(FrameType::kStdin, 0, "input");
  EXPECT_TRUE(until([&] { return heard.size() == 1; }));
}

TEST_F(ListenersTest, WhoTookADeadSrunsPortGetsNothing) {
  listeners.connect(endpoint(), true, true);
  listeners.send(FrameType::kStdout, 0, "secret of the user");
  ASSERT_TRUE(until([&] { return peers.size() == 1; }));
  answer(*peers[0], "a guess");
  EXPECT_TRUE(until([&] { return peers[0]->closed; }));
  EXPECT_EQ(peers[0]->frames.size(), 1u) << "more than the hello came";
  EXPECT_EQ(settled, 1) << "the step goes on";
  EXPECT_EQ(lost, 0);
  ASSERT_EQ(strangers.size(), 1u);
  EXPECT_NE(strangers[0].find("does not know the step's key"), std::string::npos);
  EXPECT_FALSE(listeners.has_owner());
}

// The key is what the user's command says it is: none must not end the daemon, and the step with
// it.
TEST_F(ListenersTest, WhoNamesNoKeyIsNotConnectedTo) {
  IoEndpoint without = endpoint();
  without.key.clear();
  for (const bool encrypted : {false, true}) {
    listeners.encrypt(encrypted);
    listeners.connect(without, true, true);
    for (int i = 0; i < 10; ++i) io.run_one_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(peers.empty());
    EXPECT_FALSE(listeners.has_owner());
    EXPECT_EQ(settled, encrypted ? 2 : 1) << "the step goes on";
  }
}

TEST_F(ListenersTest, AMirrorIsNotBelieved) {
  listeners.connect(endpoint(), true, true);
  ASSERT_TRUE(until([&] { return peers.size() == 1 && !peers[0]->frames.empty(); }));
  peers[0]->connection->send(FrameType::kHello, kNoTask, peers[0]->frames[0].body);
  EXPECT_TRUE(until([&] { return peers[0]->closed; }));
  EXPECT_TRUE(heard.empty());
}

TEST_F(ListenersTest, OnlySoManyWatchersAreHeard) {
  for (int i = 0; i < 100; ++i) listeners.connect(endpoint(), false, false);
  EXPECT_TRUE(until([&] { return peers.size() >= 16; }));
  for (int i = 0; i < 20; ++i) io.run_one_for(std::chrono::milliseconds(10));
  EXPECT_EQ(peers.size(), 16u) << "that have proved nothing yet";
}

// A watcher sees what was written last before it came: so many pieces, and so many bytes of them.
TEST_F(ListenersTest, AWatcherBeginsWithTheLastOutput) {
  listeners.send(FrameType::kStdout, 0, "forgotten");
  for (int i = 1; i < 128; ++i) listeners.send(FrameType::kStderr, 1, std::to_string(i));
  listeners.send(FrameType::kStarted, kNoTask, "no output");
  listeners.send(FrameType::kStdout, 0, "last");
  listeners.send(FrameType::kStdout, 0, {});
  listeners.connect(endpoint(), false, false);
  listeners.send(FrameType::kStdout, 0, "new");
  ASSERT_TRUE(until([&] { return peers.size() == 1; }));
  Peer& watcher = *peers[0];
  answer(watcher, kKey);
  constexpr size_t before = 2;  // the hello and the proof
  ASSERT_TRUE(until([&] { return watcher.frames.size() == before + 128 + 1; }));
  EXPECT_EQ(watcher.frames[before].body, "1");
  EXPECT_EQ(watcher.frames[before].type, FrameType::kStderr);
  EXPECT_EQ(watcher.frames[before].task, 1u);
  EXPECT_EQ(watcher.frames[before + 127].body, "last");
  EXPECT_EQ(watcher.frames.back().body, "new");
}

TEST_F(ListenersTest, TheLastOutputIsBounded) {
  const std::string piece(32768, 'x');
  for (int i = 0; i < 10; ++i) listeners.send(FrameType::kStdout, 0, piece);
  listeners.send(FrameType::kStdout, 0, "end");
  listeners.connect(endpoint(), false, false);
  ASSERT_TRUE(until([&] { return peers.size() == 1; }));
  answer(*peers[0], kKey);
  ASSERT_TRUE(
      until([&] { return !peers[0]->frames.empty() && peers[0]->frames.back().body == "end"; }));
  EXPECT_EQ(peers[0]->frames.size(), 2u + 3 + 1) << "128 KiB with their headers";
}

TEST_F(ListenersTest, ConnectionsThatAreClosedUnheardAreTriedAgain) {
  listeners.connect(endpoint(), true, true);
  ASSERT_TRUE(until([&] { return peers.size() == 1; }));
  peers[0]->connection->close();
  ASSERT_TRUE(until([&] { return peers.size() == 2; }));
  answer(*peers[1], kKey);
  EXPECT_TRUE(until([&] { return settled == 1; }));
  EXPECT_TRUE(listeners.has_owner());
}

}  // namespace
}  // namespace sluice::stepd
