#include "stepd/x11/x11_listener.hpp"

#include <string>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/os/read_file.hpp"
#include "common/step/x11_setup.hpp"

namespace sluice::stepd {
namespace {

using boost::asio::ip::tcp;

UserIdentity this_user() {
  UserIdentity user;
  user.uid = ::geteuid();
  user.gid = ::getegid();
  user.switches = false;
  return user;
}

// Where a listener is that has been started.
tcp::endpoint place_of(const X11Listener& listener) {
  Environment variables;
  listener.set_variables(variables);
  const auto display = parse_display(variables.get("DISPLAY"));
  const int port = display ? static_cast<int>(display->port) : 0;
  return {boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)};
}

// The connection was offered again and again, and the step daemon did nothing else.
TEST(X11Listener, WithoutAFreeDescriptorItTriesLater) {
  boost::asio::io_context io;
  X11Listener listener(io,
                       {[](uint32_t) {}, [](uint32_t, std::string_view) {}, [] { return false; }});
  ASSERT_TRUE(listener.start(this_user(), "", "5.1", ""));
  // a sanitizer that looks at an object for the first time opens a pipe
  boost::asio::steady_timer timer(io, std::chrono::milliseconds(1));
  timer.async_wait([](const auto&) {});
  io.run_one();
  tcp::socket socket(io, tcp::v4());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  boost::system::error_code error;
  socket.connect(place_of(listener), error);
  for (int handlers = 0; handlers < 10; ++handlers) {
    if (io.run_one_for(std::chrono::milliseconds(50)) == 0) break;
    EXPECT_LT(handlers, 5);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(error);
}

// 256 connections of any user of the host, who said nothing, kept the step's own programs from
// their display.
TEST(X11Listener, StrangersDoNotKeepTheUserOut) {
  constexpr int kStrangers = 300;
  boost::asio::io_context io;
  int opened = 0;
  X11Listener listener(
      io, {[&](uint32_t) { ++opened; }, [](uint32_t, std::string_view) {}, [] { return false; }});
  ASSERT_TRUE(listener.start(this_user(), "", "5.0", ""));
  Environment variables;
  listener.set_variables(variables);
  const auto display = parse_display(variables.get("DISPLAY"));
  ASSERT_TRUE(display);
  const auto file = read_file(std::string(variables.get("XAUTHORITY")));
  ASSERT_TRUE(file);
  const std::string cookie = file->substr(file->size() - 16);

  const tcp::endpoint place(boost::asio::ip::address_v4::loopback(),
                            static_cast<uint16_t>(display->port));
  std::vector<tcp::socket> sockets;
  for (int i = 0; i <= kStrangers; ++i) {
    sockets.emplace_back(io).connect(place);
    io.poll();
  }
  std::string setup("l\0\x0b\0\0\0\x12\0\x10\0\0\0", 12);
  setup += kX11CookieName;
  setup.append(2, '\0');
  setup += cookie;
  boost::asio::write(sockets.back(), boost::asio::buffer(setup));
  for (int i = 0; i < 20 && opened == 0; ++i) io.run_one_for(std::chrono::seconds(1));
  EXPECT_EQ(opened, 1);
}

}  // namespace
}  // namespace sluice::stepd
