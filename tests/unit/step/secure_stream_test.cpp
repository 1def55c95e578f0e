// Frames over an encrypted connection: by the same key on both ends, and by nothing else.
#include "common/step/secure_stream.hpp"

#include <array>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <gtest/gtest.h>

#include "common/step/frame_connection.hpp"

namespace sluice {
namespace {

using boost::asio::local::stream_protocol;
using protocol::FrameType;

const std::string kKey = "a secret of two";

class SecureFrames : public ::testing::Test {
 protected:
  void SetUp() override { boost::asio::local::connect_pair(one_, other_); }
  struct End {
    std::shared_ptr<FrameConnection> link;
    std::string heard;
    bool closed = false;
  };
  static void begin(End& end, stream_protocol::socket socket, SecureStream::Side side,
                    const std::string& key) {
    end.link = FrameConnection::make(std::move(socket));
    if (!key.empty()) end.link->secure(side, key);
    end.link->start({[&end](const Frame& frame) { end.heard += frame.body; },
                     [&end] { end.closed = true; }, nullptr});
  }
  void run_both(const std::string& key, const std::string& other_key) {
    begin(daemon_, std::move(one_), SecureStream::Side::kConnected, key);
    begin(srun_, std::move(other_), SecureStream::Side::kAccepted, other_key);
    daemon_.link->send(FrameType::kStdout, 0, "output");  // before hands are shaken
  }
  boost::asio::io_context io_{1};
  stream_protocol::socket one_{io_}, other_{io_};
  End daemon_, srun_;
};

TEST_F(SecureFrames, CarryBothWays) {
  run_both(kKey, kKey);
  const std::string big(900000, 'x');
  srun_.link->send(FrameType::kStdin, 0, big);
  while (daemon_.heard.size() < big.size() || srun_.heard.empty())
    ASSERT_GT(io_.run_one_for(std::chrono::seconds(20)), 0U);
  EXPECT_EQ(srun_.heard, "output");
  EXPECT_EQ(daemon_.heard, big);
  daemon_.link->send(FrameType::kStdout, 0, ", the last");
  daemon_.link->finish_after_peer();
  while (!srun_.closed) ASSERT_GT(io_.run_one_for(std::chrono::seconds(20)), 0U);
  EXPECT_EQ(srun_.heard, "output, the last");
  EXPECT_TRUE(srun_.link->closed_by_peer());
  EXPECT_EQ(srun_.link->handshake_problem(), "");
  srun_.link->close();
  io_.run();
}

TEST_F(SecureFrames, NeedTheSameKey) {
  run_both(kKey, "another");
  io_.run();
  EXPECT_TRUE(daemon_.closed && srun_.closed);
  EXPECT_EQ(srun_.heard, "");
  EXPECT_EQ(srun_.link->handshake_problem(), "it does not have the step's key");
}

TEST_F(SecureFrames, TakeNoPlainText) {
  run_both("", kKey);
  io_.run();
  EXPECT_TRUE(daemon_.closed && srun_.closed);
  EXPECT_EQ(srun_.heard, "");
  EXPECT_EQ(srun_.link->handshake_problem(), "it does not speak TLS, which TLSType asks for here");
}

TEST_F(SecureFrames, AreNotSaidToWhoSpeaksPlainText) {
  run_both(kKey, "");
  io_.run();
  EXPECT_TRUE(daemon_.closed && srun_.closed);
  EXPECT_EQ(srun_.heard, "");
  EXPECT_NE(daemon_.link->handshake_problem(), "");
}

TEST_F(SecureFrames, WhatIsSetUpAheadChangesNothing) {
  SecureStream::prepare();
  run_both(kKey, kKey);
  while (srun_.heard != "output") ASSERT_GT(io_.run_one_for(std::chrono::seconds(20)), 0U);
  daemon_.link->close();
  srun_.link->close();
  io_.run();
}

TEST_F(SecureFrames, AreNotReadableOnTheWay) {
  begin(daemon_, std::move(one_), SecureStream::Side::kConnected, kKey);
  daemon_.link->send(FrameType::kStdout, 0, "output of the job");
  std::string seen;
  std::array<char, 4096> room{};
  other_.async_read_some(
      boost::asio::buffer(room),
      [&](const boost::system::error_code&, size_t bytes) { seen.assign(room.data(), bytes); });
  while (seen.empty()) ASSERT_GT(io_.run_one_for(std::chrono::seconds(20)), 0U);
  // the beginning of a handshake, and nothing else before hands are shaken
  EXPECT_EQ(seen[0], '\x16');
  EXPECT_EQ(seen.find("output"), std::string::npos);
  daemon_.link->close();
  io_.run();
}

}  // namespace
}  // namespace sluice
