// A flood of connections: who has too many gets no more, others are served, and all is well when it
// is over.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "common/net/address.hpp"
#include "common/net/http2_connection.hpp"
#include "common/os/back_off.hpp"
#include "common/os/clock.hpp"
#include "common/rpc/connection_quota.hpp"
#include "unit/rpc/rpc_fixture.hpp"

namespace sluice::net {
namespace {

// Connected sockets to a port of this host, from any of its loopback addresses.
class Flood {
 public:
  Flood() = default;
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;
  ~Flood() { stop(); }
  void add(int port, uint32_t from, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in own{
          .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(from)}, .sin_zero = {}};
      sockaddr_in there{.sin_family = AF_INET,
                        .sin_port = htons(static_cast<uint16_t>(port)),
                        .sin_addr = {htonl(INADDR_LOOPBACK)},
                        .sin_zero = {}};
      ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
      ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
      sockets_.push_back(fd);
    }
  }
  // How many the server closed already.
  [[nodiscard]] size_t refused() const {
    size_t count = 0;
    std::array<char, 1000> bytes{};
    for (const int fd : sockets_) {
      ssize_t got = 0;
      do { got = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT); } while (got > 0);
      count += got == 0 || (got < 0 && errno == ECONNRESET) ? 1 : 0;
    }
    return count;
  }
  void wait_refused(size_t count) const {
    const SteadyTime until = steady_now() + kPatience;
    while (refused() < count && steady_now() < until) ::usleep(1000);
    EXPECT_GE(refused(), count);
  }
  // As a client of HTTP/2 begins.
  void greet() const {
    constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    constexpr std::array<uint8_t, 9> kSettings{0, 0, 0, 4, 0, 0, 0, 0, 0};
    std::string bytes(kPreface);
    bytes.append(reinterpret_cast<const char*>(kSettings.data()), kSettings.size());
    for (const int fd : sockets_) (void)::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // The newest is taken, or closed.
  void wait_taken() const {
    pollfd newest{sockets_.back(), POLLIN, 0};
    (void)::poll(&newest, 1, 1000);
  }
  // What the server has sent on a connection until it closed it.
  [[nodiscard]] std::string heard(size_t index) const {
    std::string all;
    std::array<char, 1000> bytes{};
    ssize_t got = 0;
    while ((got = ::recv(sockets_[index], bytes.data(), bytes.size(), 0)) > 0)
      all.append(bytes.data(), static_cast<size_t>(got));
    return all;
  }
  // As gRPC names it.
  [[nodiscard]] std::string name(size_t index) const {
    sockaddr_in own{};
    socklen_t size = sizeof own;
    EXPECT_EQ(::getsockname(sockets_[index], reinterpret_cast<sockaddr*>(&own), &size), 0);
    return "ipv4:127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  }
  void stop() {
    for (const int fd : sockets_) ::close(fd);
    sockets_.clear();
  }

 private:
  std::vector<int> sockets_;
};

class Listening : public RpcFixture {
 protected:
  [[nodiscard]] bool answers() const {
    RpcClient client(to_server());
    return client.call<EchoReply>(EchoRequest{"hello", 1}, kPatience).has_value();
  }
};

TEST_F(Listening, AFloodFromOneHostLeavesOthersAlone) {
  serve({.connections_of_host = 20});
  start();
  Flood flood;
  flood.add(server->port(), INADDR_LOOPBACK + 1, 100);
  flood.wait_refused(80);
  EXPECT_TRUE(answers()) << "from 127.0.0.1";
}

TEST_F(Listening, IsThereAgainWhenAFloodIsOver) {
  serve({.connections = 200});  // and the process has some descriptors open
  start();
  Flood flood;
  for (uint32_t host = 1; host <= 10; ++host) flood.add(server->port(), INADDR_LOOPBACK + host, 30);
  flood.wait_refused(100);
  flood.stop();
  const SteadyTime until = steady_now() + kPatience;
  bool back = false;
  while (!back && steady_now() < until) back = answers();
  EXPECT_TRUE(back);
}

// Opens and opens, says hello and no more, as fast as they are taken.
class Flooder {
 public:
  explicit Flooder(int port)
      : thread_([this, port] {
          while (!over_) {
            Flood flood;
            for (int i = 0; i < 15 && !over_; ++i) {
              flood.add(port, INADDR_LOOPBACK, 100);
              flood.greet();
              flood.wait_taken();
              ++hundreds_;
            }
          }
        }) {}
  Flooder(const Flooder&) = delete;
  Flooder& operator=(const Flooder&) = delete;
  ~Flooder() {
    over_ = true;
    thread_.join();
  }
  void wait_for_more() const {
    const int begun = hundreds_;
    const SteadyTime until = steady_now() + kPatience;
    while (hundreds_ < begun + 20 && steady_now() < until) ::usleep(1000);
    EXPECT_GE(hundreds_, begun + 20);
  }

 private:
  std::atomic<bool> over_ = false;
  std::atomic<int> hundreds_ = 0;
  std::thread thread_;
};

// Whoever opened as many connections as a host may have kept everybody else of his host away.
TEST_F(Listening, AFloodOfWhoProvesNothingKeepsNobodyOut) {
  serve({.auth = test_auth(), .connections_of_host = 1000});
  start();
  RpcClient steady(to_server(test_auth()));
  const auto asks = [](RpcClient& client) {
    const auto reply = client.call<EchoReply>(EchoRequest{"hello", 1}, kPatience);
    EXPECT_TRUE(reply) << reply.error().text;
  };
  asks(steady);
  const Flooder flooder(server->port());
  flooder.wait_for_more();
  for (int i = 0; i < 50; ++i) {
    RpcClient fresh(to_server(test_auth()));
    asks(fresh);
    asks(steady);
  }
  flooder.wait_for_more();
  asks(steady);
}

// It said "the connection broke".
TEST_F(Listening, WhoIsSentAwayIsToldWhyAndAsksAgain) {
  serve({.auth = test_auth(), .connections_of_host = 1});
  start();
  auto first = std::make_unique<RpcClient>(to_server(test_auth()));
  ASSERT_TRUE(first->call<EchoReply>(EchoRequest{"hello", 1}, kPatience));
  Flood flood;
  flood.add(server->port(), INADDR_LOOPBACK, 1);
  flood.greet();
  EXPECT_TRUE(flood.heard(0).ends_with(kCrowdedHost));
  const auto refused = Http2Connection::open(
      address(), to_server(), Http2Connection::Greeting::kFirst, steady_now() + kPatience);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text,
            address() + " closed the connection: too many connections from this host");
  const auto leaves = [](std::unique_ptr<RpcClient> client) {
    return std::thread([client = std::move(client)]() mutable {
      ::usleep(200'000);
      client.reset();
    });
  };
  std::thread leaving = leaves(std::move(first));
  auto second = std::make_unique<RpcClient>(to_server(test_auth()));
  const auto reply = second->call<EchoReply>(EchoRequest{"hello", 1}, kPatience);
  EXPECT_TRUE(reply) << reply.error().text;
  leaving.join();
  leaving = leaves(std::move(second));
  RpcClient third(to_server(test_auth()));
  auto stream = third.open<CountChunk>(CountRequest{1, 10});
  ASSERT_TRUE(stream) << stream.error().text;
  CountChunk chunk;
  EXPECT_EQ(stream->read(chunk, kPatience), ReadState::kChunk) << stream->error().text;
  leaving.join();
}

class Accepting : public ::testing::Test {
 protected:
  using Verdict = ConnectionQuota::Verdict;
  void SetUp() override {
    const auto port = listen_at(*resolve("127.0.0.1:0"), "127.0.0.1:0");
    ASSERT_TRUE(port) << port.error().text;
    port_ = *port;
  }
  void TearDown() override {
    for (const int fd : accepted) ::close(fd);
    ::close(port_.fd);
  }
  Verdict take(ConnectionQuota& quota, uint32_t from = INADDR_LOOPBACK) {
    flood.add(port_.port, from, 1);
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const int fd = ::accept4(port_.fd, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC);
    accepted.push_back(fd);
    return quota.take(fd, peer);
  }
  void close(size_t index) { ::close(std::exchange(accepted[index], -1)); }

  ListeningSocket port_{};
  Flood flood;
  std::vector<int> accepted;
};

TEST_F(Accepting, CountsWhatIsOpenOnly) {
  ConnectionQuota quota(10'000, 3);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(take(quota), Verdict::kTaken);
    EXPECT_TRUE(quota.prove(flood.name(i), ConnectionQuota::kPrivileged));
  }
  EXPECT_EQ(take(quota), Verdict::kTooManyOfHost);
  for (const size_t gone : {0, 1, 3}) close(gone);
  const SteadyTime until = steady_now() + kPatience;
  Verdict verdict = take(quota);
  while (verdict != Verdict::kTaken && steady_now() < until) {
    close(accepted.size() - 1);
    verdict = take(quota);  // who is open is looked at again, but not all the time
  }
  EXPECT_EQ(verdict, Verdict::kTaken);
}

TEST_F(Accepting, TheOldestThatProvedNothingGoes) {
  ConnectionQuota quota(10'000, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(take(quota), Verdict::kTaken);
  EXPECT_TRUE(quota.prove(flood.name(0), ConnectionQuota::kPrivileged));
  EXPECT_EQ(take(quota), Verdict::kTaken);
  EXPECT_TRUE(flood.heard(1).ends_with(kCrowdedHost));
  EXPECT_FALSE(quota.prove(flood.name(1), ConnectionQuota::kPrivileged))
      << "its client knows that nothing was done";
  EXPECT_TRUE(quota.prove(flood.name(2), ConnectionQuota::kPrivileged));
  EXPECT_TRUE(quota.prove(flood.name(2), ConnectionQuota::kPrivileged)) << "again";
  EXPECT_TRUE(quota.prove(flood.name(3), ConnectionQuota::kPrivileged));
  EXPECT_EQ(take(quota), Verdict::kTooManyOfHost);
  EXPECT_TRUE(quota.prove("unix:", ConnectionQuota::kPrivileged))
      << "is no connection of a network";
}

TEST_F(Accepting, TheUserWithMostGivesOneBackWhereHeHasMoreThanHisPart) {
  ConnectionQuota quota(10'000, 64);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(take(quota), Verdict::kTaken);
    EXPECT_TRUE(quota.prove(flood.name(i), i < 4 ? 1000 : 1001));
  }
  EXPECT_EQ(take(quota), Verdict::kTaken);
  EXPECT_TRUE(flood.heard(4).ends_with(kCrowdedHost)) << "not the oldest of all";
  EXPECT_FALSE(quota.prove(flood.name(4), 1001));
  EXPECT_TRUE(quota.prove(flood.name(64), 1000));
}

TEST_F(Accepting, UsersWhoHaveTheirPartAtMostGiveNothing) {
  ConnectionQuota quota(10'000, 64);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(take(quota), Verdict::kTaken);
    EXPECT_TRUE(quota.prove(flood.name(i), 1000 + i / 4));
  }
  EXPECT_EQ(take(quota), Verdict::kTooManyOfHost);
}

TEST_F(Accepting, WithoutDescriptorsTheHostWithMostGivesOneBack) {
  const int next = ::dup(0);
  ::close(next);
  ConnectionQuota quota(static_cast<size_t>(next) + 8, 1000);  // a socket of ours to each of its
  EXPECT_EQ(take(quota, INADDR_LOOPBACK + 1), Verdict::kTaken);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(take(quota), Verdict::kTaken);
  EXPECT_TRUE(flood.heard(1).ends_with(kCrowded)) << "not the oldest of all";
}

TEST_F(Accepting, WhatAnotherHoldsNowIsLeftAlone) {
  ConnectionQuota quota(10'000, 1);
  EXPECT_EQ(take(quota), Verdict::kTaken);
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  ASSERT_EQ(::dup2(pair[0], accepted[0]), accepted[0]);
  EXPECT_EQ(take(quota), Verdict::kTaken);
  EXPECT_EQ(::send(pair[1], "x", 1, MSG_NOSIGNAL), 1);
  char byte = 0;
  EXPECT_EQ(::recv(accepted[0], &byte, 1, MSG_DONTWAIT), 1);
  ::close(pair[0]);
  ::close(pair[1]);
}

}  // namespace
}  // namespace sluice::net
