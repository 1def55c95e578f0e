// Floods of calls, cancelled calls and pings: a peer that had proved nothing took gigabytes of
// every daemon by one connection. What is honest is far from what is cut off.
#include "common/rpc/guard/open_streams.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "common/os/clock.hpp"
#include "common/rpc/guard/connection_frames.hpp"
#include "common/rpc/guard/served_calls.hpp"
#include "unit/rpc/rpc_fixture.hpp"

namespace sluice::net {
namespace {

constexpr SteadyTime kStart{std::chrono::hours(1)};
constexpr auto kMostCancelled = static_cast<uint32_t>(OpenStreams::kMostCancelled);
constexpr auto kMostAsked = static_cast<uint32_t>(OpenStreams::kMostAsked);
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload = "") {
  std::string out;
  const auto add = [&out](size_t value, int bytes) {
    for (int at = bytes - 1; at >= 0; --at) out += static_cast<char>(value >> (8 * at) & 0xff);
  };
  add(payload.size(), 3);
  add(type, 1);
  add(flags, 1);
  add(stream, 4);
  return out + payload;
}

std::string begin(uint32_t call) {
  return frame(FrameHead::kHeaders, FrameHead::kEndHeaders, 2 * call + 1, "x");
}
std::string cancel(uint32_t call) {
  return frame(FrameHead::kReset, 0, 2 * call + 1, std::string("\0\0\0\x8", 4));
}
std::string answer(uint32_t call) {
  return frame(FrameHead::kHeaders, FrameHead::kEndHeaders, 2 * call + 1, "200") +
         frame(FrameHead::kData, 0, 2 * call + 1, "reply") +
         frame(FrameHead::kHeaders, FrameHead::kEndHeaders | FrameHead::kEndStream, 2 * call + 1,
               "0");
}
const std::string kPing = frame(FrameHead::kPing, 0, 0, "12345678");

class Followed {
 public:
  Followed() { EXPECT_TRUE(take(kPreface + frame(FrameHead::kSettings, 0, 0))); }
  bool take(const std::string& bytes, size_t most = OpenStreams::kMost) {
    return frames_.receive(bytes, now, most).empty();
  }
  void send(const std::string& bytes) { frames_.send(bytes, now); }
  SteadyTime now = kStart;

 private:
  ConnectionFrames frames_;
};

TEST(OpenStreams, AreBounded) {
  Followed flood;
  uint32_t calls = 0;
  while (calls < 1'000'000 && flood.take(begin(calls))) ++calls;
  EXPECT_EQ(calls, OpenStreams::kMost);
  EXPECT_FALSE(flood.take(frame(FrameHead::kPing, FrameHead::kAck, 0, "12345678")))
      << "it is cut off for good";
  Followed few;
  EXPECT_TRUE(few.take(begin(0) + begin(1), 2));
  EXPECT_FALSE(few.take(begin(2), 2)) << "there are many elsewhere";
  Followed cancels;
  for (uint32_t call = 0; call < 64; ++call)
    ASSERT_TRUE(cancels.take(begin(call) + cancel(call), 64));
  EXPECT_FALSE(cancels.take(begin(64), 64)) << "where they are many it gets no room by cancelling";
}

TEST(OpenStreams, EndWithTheirAnswers) {
  Followed honest;
  for (uint32_t call = 0; call < 100'000; ++call) {
    ASSERT_TRUE(honest.take(
        begin(call) + frame(FrameHead::kData, FrameHead::kEndStream, 2 * call + 1, "request")));
    if (call >= 1000) honest.send(answer(call - 1000));
  }
}

TEST(OpenStreams, WhatEndsARequestBeginsNoCall) {
  Followed one;
  for (uint32_t i = 0; i < 2 * OpenStreams::kMost; ++i) ASSERT_TRUE(one.take(begin(0)));
}

TEST(OpenStreams, AreCancelledNowAndThen) {
  Followed flood;
  uint32_t calls = 0;
  while (calls < 1'000'000 && flood.take(begin(calls) + cancel(calls))) ++calls;
  EXPECT_EQ(calls, kMostCancelled);
  Followed slow;  // who gives up a hundred each second
  for (uint32_t call = 0; call < 50'000; ++call) {
    ASSERT_TRUE(slow.take(begin(call) + cancel(call)));
    slow.now += std::chrono::milliseconds(10);
  }
  Followed busy;  // who gives up every second one
  for (uint32_t call = 0; call < 50'000; call += 2) {
    ASSERT_TRUE(busy.take(begin(call) + begin(call + 1) + cancel(call)));
    busy.send(answer(call + 1));
  }
}

TEST(OpenStreams, ACancelOfWhatIsOverIsNone) {
  Followed late;
  for (uint32_t call = 0; call < 10'000; ++call) {
    ASSERT_TRUE(late.take(begin(call)));
    late.send(answer(call));
    ASSERT_TRUE(late.take(cancel(call) + cancel(call)));
  }
}

TEST(OpenStreams, AreCancelledByTheServerWherePeersBreakRules) {
  Followed hostile;
  uint32_t calls = 0;
  while (calls < 1'000'000 && hostile.take(begin(calls))) hostile.send(cancel(calls++));
  EXPECT_EQ(calls, kMostCancelled + 1);
}

TEST(OpenStreams, PingsAndSettingsAreBounded) {
  Followed flood;
  uint32_t pings = 0;
  while (pings < 1'000'000 && flood.take(kPing)) ++pings;
  EXPECT_EQ(pings, kMostAsked - 1) << "one of its allowance went for its SETTINGS";
  Followed quiet;  // keepalive of a client in a hurry
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(quiet.take(kPing));
    quiet.now += std::chrono::milliseconds(100);
  }
  Followed reader;  // who measures the way of what it is sent
  for (uint32_t i = 0; i < 10'000; ++i) {
    reader.send(frame(FrameHead::kData, 0, 1, "chunk"));
    ASSERT_TRUE(reader.take(kPing + frame(FrameHead::kSettings, 0, 0)));
  }
  Followed answering;
  for (int i = 0; i < 10'000; ++i)
    ASSERT_TRUE(answering.take(frame(FrameHead::kPing, FrameHead::kAck, 0, "12345678") +
                               frame(FrameHead::kSettings, FrameHead::kAck, 0)));
}

TEST(OpenStreams, AreFewerWhereThereAreMany) {
  EXPECT_GT(most_open(Trust::kNobody, 1000), 1000U) << "what a client may begin at once";
  EXPECT_LT(most_open(Trust::kNobody, 1000), OpenStreams::kMost);
  EXPECT_LT(most_open(Trust::kNobody, 4000), 100U);
  EXPECT_LT(most_open(Trust::kNobody, 10'000), 20U);
  EXPECT_GE(most_open(Trust::kNobody, 1'000'000), 2U) << "a command is answered";
  EXPECT_EQ(most_open(Trust::kUser, 20'000), OpenStreams::kMost);
  EXPECT_LT(most_open(Trust::kUser, 100'000), 100U);
  EXPECT_EQ(most_open(Trust::kPrivileged, 1'000'000), OpenStreams::kMost);
}

class Flooded : public RpcFixture {
 protected:
  // How much of what has no end a server takes before it closes the connection; it answers
  // whatever it likes.
  [[nodiscard]] size_t taken(const std::string& first,
                             const std::vector<std::string>& parts) const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in there = loopback(server->port());
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);
    size_t sent = 0;
    const auto send_all = [&](const std::string& text) {
      std::array<char, 4096> answers;
      while (::recv(fd, answers.data(), answers.size(), MSG_DONTWAIT) > 0) {}
      size_t at = 0;
      while (at < text.size()) {
        const ssize_t size = ::send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (size <= 0) return false;
        at += static_cast<size_t>(size);
      }
      sent += text.size();
      return true;
    };
    bool open = send_all(first);
    for (size_t i = 0; open && i < parts.size(); ++i) open = send_all(parts[i]);
    ::close(fd);
    return sent;
  }
  // Calls of a method that is there, without a token.
  [[nodiscard]] static std::string headers(uint32_t call) {
    std::string block;
    const auto field = [&block](const std::string& name, const std::string& value) {
      block += '\0';
      block += static_cast<char>(name.size()) + name;
      block += static_cast<char>(value.size()) + value;
    };
    field(":method", "POST");
    field(":scheme", "http");
    field(":path", "/sluice.v1.Test/Echo");
    field(":authority", "x");
    field("content-type", "application/grpc");
    field("te", "trailers");
    return frame(FrameHead::kHeaders, FrameHead::kEndHeaders, 2 * call + 1, block);
  }
  static constexpr uint32_t kFlood = 400'000;
};

TEST_F(Flooded, ByCancelledCalls) {
  serve({.auth = test_auth()});
  start();
  std::vector<std::string> parts;
  size_t all = 0;
  for (uint32_t call = 0; call < kFlood;) {
    std::string& part = parts.emplace_back();
    for (int i = 0; i < 100; ++i, ++call) part += headers(call) + cancel(call);
    all += part.size();
  }
  EXPECT_LT(taken(kPreface + frame(FrameHead::kSettings, 0, 0), parts), all / 2);
  AsyncClient client(to_server(test_auth()));
  std::promise<bool> good;
  client.call<EchoReply>(EchoRequest{"x"}, kPatience, [&](const Result<EchoReply>& reply) {
    good.set_value(reply.has_value());
  });
  EXPECT_TRUE(good.get_future().get());
  const SteadyTime until = steady_now() + kPatience;
  while (served_calls() > 0 && steady_now() < until) ::usleep(1000);
  EXPECT_EQ(served_calls(), 0U) << "what is counted comes to an end";
}

TEST_F(Flooded, ByPings) {
  serve({.auth = test_auth()});
  start();
  std::string part;
  for (int i = 0; i < 1000; ++i) part += kPing;
  const std::vector<std::string> parts(10'000, part);
  EXPECT_LT(taken(kPreface + frame(FrameHead::kSettings, 0, 0), parts), size_t{64} << 20);
  RpcClient client(to_server(test_auth()));
  EXPECT_TRUE(client.call<EchoReply>(EchoRequest{"x"}, kPatience));
}

// Whoever has a token and asks a thousand things at a time, again and again, is answered.
TEST_F(Flooded, ByNobodyWhoAsksMuch) {
  serve({.auth = test_auth(), .slurm_user = ::geteuid()});
  start();
  AsyncClient client(to_server(test_auth()));
  constexpr int kCalls = 20'000;
  std::atomic<int> good{0}, left{kCalls};
  std::promise<void> all;
  for (int i = 0; i < kCalls; ++i) {
    client.call<EchoReply>(EchoRequest{"x"}, std::chrono::seconds(60),
                           [&](const Result<EchoReply>& reply) {
                             if (reply) ++good;
                             if (--left == 0) all.set_value();
                           });
  }
  all.get_future().wait();
  EXPECT_EQ(good, kCalls);
}

}  // namespace
}  // namespace sluice::net
