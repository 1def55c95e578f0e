// The relay between a node's programs and the user's display, which is a socket of the test here.
#include "cli/step/x11_relay.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "unit/temp_folder.hpp"

namespace sluice::cli {
namespace {

using boost::asio::local::stream_protocol;

constexpr size_t kNode = 3;
constexpr uint32_t kNumber = 7;

// The first message of a program, with this cookie of 16 bytes.
std::string setup_message(const std::string& cookie) {
  std::string message("l\0\x0b\0\0\0\x12\0\x10\0\0\0", 12);
  return message.append(kX11CookieName).append(2, '\0').append(cookie);
}

struct Sent {
  size_t node = 0;
  uint32_t number = 0;
  std::string bytes;
  bool operator==(const Sent&) const = default;
};

class X11RelayTest : public ::testing::Test {
 protected:
  // A connection of the node's that reached the display.
  void open() {
    relay_.opened(kNode, kNumber);
    run_until([&] { return connected_; });
  }
  template <class Condition>
  void run_until(Condition condition) {
    io_.restart();  // it may have run out of work before
    while (!condition() && io_.run_one_for(std::chrono::seconds(5)) > 0) {}
    EXPECT_TRUE(condition());
  }
  std::string read_at_display(size_t bytes) {
    std::string text(bytes, '\0');
    bool done = false;
    boost::asio::async_read(display_, boost::asio::buffer(text),
                            [&](const boost::system::error_code& error, size_t) {
                              EXPECT_FALSE(error);
                              done = true;
                            });
    run_until([&] { return done; });
    return text;
  }
  bool display_sees_the_end() {
    char byte = 0;
    bool ended = false, done = false;
    display_.async_read_some(boost::asio::buffer(&byte, 1),
                             [&](const boost::system::error_code& error, size_t) {
                               ended = error == boost::asio::error::eof;
                               done = true;
                             });
    run_until([&] { return done; });
    return ended;
  }

  const test::TempFolder folder_;
  const std::string path_ = (folder_ / "X0").string();
  const std::string users_cookie_ = std::string(16, 'u');
  boost::asio::io_context io_;
  stream_protocol::acceptor acceptor_{io_, stream_protocol::endpoint(path_)};
  stream_protocol::socket display_{io_};
  bool connected_ = false;
  std::vector<Sent> sent_;
  X11Relay relay_{io_, X11Target{.display = {.path = path_}, .cookie = users_cookie_},
                  [this](size_t node, uint32_t number, std::string_view bytes) {
                    sent_.push_back({node, number, std::string(bytes)});
                  }};

  void SetUp() override {
    acceptor_.async_accept(display_,
                           [this](const boost::system::error_code& error) { connected_ = !error; });
  }
};

TEST_F(X11RelayTest, TheUsersCookieTakesThePlaceOfTheNodes) {
  open();
  const std::string message = setup_message(std::string(16, 'n')) + "more";
  relay_.received(kNode, kNumber, message.substr(0, 20));
  relay_.received(kNode, kNumber, message.substr(20));
  EXPECT_EQ(read_at_display(message.size()), setup_message(users_cookie_) + "more");
  relay_.received(kNode, kNumber, "later");
  EXPECT_EQ(read_at_display(5), "later");
  boost::asio::write(display_, boost::asio::buffer("answer", 6));
  run_until([&] { return !sent_.empty(); });
  EXPECT_EQ(sent_, (std::vector<Sent>{{kNode, kNumber, "answer"}}));
}

TEST_F(X11RelayTest, EachSideHearsThatTheOtherEnded) {
  open();
  display_.close();
  run_until([&] { return !sent_.empty(); });
  EXPECT_EQ(sent_, (std::vector<Sent>{{kNode, kNumber, ""}}));
  relay_.received(kNode, kNumber, "nobody reads this");
  EXPECT_EQ(sent_.size(), 1U);
}

TEST_F(X11RelayTest, TheLastWordsArriveBeforeTheEnd) {
  open();
  const std::string message = setup_message(std::string(16, 'n')) + "last";
  relay_.received(kNode, kNumber, message);
  relay_.received(kNode, kNumber, "");
  EXPECT_EQ(read_at_display(message.size()), setup_message(users_cookie_) + "last");
  EXPECT_TRUE(display_sees_the_end());
  EXPECT_TRUE(sent_.empty());
}

TEST_F(X11RelayTest, ANodeThatIsGoneTakesItsConnectionsAlong) {
  open();
  relay_.node_gone(kNode + 1);
  relay_.node_gone(kNode);
  EXPECT_TRUE(display_sees_the_end());
  EXPECT_TRUE(sent_.empty());
}

TEST_F(X11RelayTest, ADisplayThatCannotBeReachedEndsTheConnection) {
  acceptor_.close();
  relay_.opened(kNode, kNumber);
  run_until([&] { return !sent_.empty(); });
  EXPECT_EQ(sent_, (std::vector<Sent>{{kNode, kNumber, ""}}));
}

}  // namespace
}  // namespace sluice::cli
