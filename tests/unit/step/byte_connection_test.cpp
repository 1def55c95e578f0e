#include "common/step/byte_connection.hpp"

#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using boost::asio::ip::tcp;
using boost::asio::local::stream_protocol;

// One end, and what it was told.
struct End {
  std::string received;
  int lost = 0;
  int finished = 0;
  bool may_read = true;
  std::shared_ptr<ByteConnection> connection;

  void make(ByteConnection::Socket socket) {
    connection = ByteConnection::make(
        std::move(socket),
        {[this](std::string_view bytes) { received += bytes; }, [this] { ++lost; },
         [this] { ++finished; }, [this] { return may_read; }});
  }
};

class ByteConnectionTest : public ::testing::Test {
 protected:
  void start_pair() {
    stream_protocol::socket one(io_);
    stream_protocol::socket other(io_);
    boost::asio::local::connect_pair(one, other);
    left_.make(std::move(one));
    right_.make(std::move(other));
    left_.connection->start();
    right_.connection->start();
  }

  boost::asio::io_context io_;
  End left_;
  End right_;
};

TEST_F(ByteConnectionTest, AllArrivesBeforeTheEnd) {
  start_pair();
  const std::string much(1U << 20, 'x');  // more than a socket holds
  left_.connection->send(much);
  left_.connection->send("end");
  left_.connection->finish();
  right_.connection->send("back");
  io_.run();
  EXPECT_TRUE(right_.received == much + "end");
  EXPECT_EQ(right_.lost, 1);
  EXPECT_EQ(right_.finished, 0);
  EXPECT_EQ(left_.received, "back");
  EXPECT_EQ(left_.finished, 1);
  EXPECT_EQ(left_.lost, 0);
}

TEST_F(ByteConnectionTest, ReadsOnlyWhileItMay) {
  right_.may_read = false;
  start_pair();
  left_.connection->send("words");
  io_.poll();
  EXPECT_EQ(left_.connection->queued_bytes(), 0U);
  EXPECT_EQ(right_.received, "");
  right_.may_read = true;
  right_.connection->resume();
  io_.poll();
  EXPECT_EQ(right_.received, "words");
}

TEST_F(ByteConnectionTest, SaysNothingOnceClosed) {
  start_pair();
  left_.connection->send("words");
  right_.connection->send("words");
  left_.connection->close();
  left_.connection->finish();
  io_.run();
  EXPECT_EQ(left_.received, "");
  EXPECT_EQ(left_.lost + left_.finished, 0);
  EXPECT_EQ(right_.lost, 1);
}

TEST_F(ByteConnectionTest, WhatWasSentBeforeItIsConnectedWaits) {
  tcp::acceptor acceptor(io_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  acceptor.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
    ASSERT_FALSE(error);
    right_.make(std::move(socket));
    right_.connection->start();
  });
  left_.make(ByteConnection::Socket(io_));
  left_.connection->send("early");
  left_.connection->finish();
  EXPECT_EQ(left_.finished, 0);
  left_.connection->connect(acceptor.local_endpoint());
  io_.run();
  EXPECT_EQ(right_.received, "early");
  EXPECT_EQ(left_.finished, 1);
}

TEST_F(ByteConnectionTest, APlaceThatNobodyListensAtIsLost) {
  left_.make(ByteConnection::Socket(io_));
  left_.connection->connect(stream_protocol::endpoint("/nonexistent/socket"));
  EXPECT_EQ(left_.lost, 0);
  io_.run();
  EXPECT_EQ(left_.lost, 1);
}

}  // namespace
}  // namespace sluice
