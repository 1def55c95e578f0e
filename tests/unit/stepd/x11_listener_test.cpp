#include "stepd/x11_listener.hpp"

#include <string>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/read_file.hpp"
#include "common/step/x11_setup.hpp"

namespace sluice::stepd {
namespace {

using boost::asio::ip::tcp;

// 256 connections of any user of the host, who said nothing, kept the step's own programs from their display.
TEST(X11Listener, StrangersDoNotKeepTheUserOut) {
  constexpr int kStrangers = 300;
  boost::asio::io_context io;
  int opened = 0;
  X11Listener listener(io, {[&](uint32_t) { ++opened; }, [](uint32_t, std::string_view) {}, [] { return false; }});
  UserIdentity user;
  user.uid = ::geteuid();
  user.gid = ::getegid();
  user.switches = false;
  ASSERT_TRUE(listener.start(user, "", "5.0", ""));
  Environment variables;
  listener.set_variables(variables);
  const auto display = parse_display(variables.get("DISPLAY"));
  ASSERT_TRUE(display);
  const auto file = read_file(std::string(variables.get("XAUTHORITY")));
  ASSERT_TRUE(file);
  const std::string cookie = file->substr(file->size() - 16);

  const tcp::endpoint place(boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(display->port));
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
  for (int i = 0; i < 20 && opened == 0; ++i)
    io.run_one_for(std::chrono::seconds(1));
  EXPECT_EQ(opened, 1);
}

}  // namespace
}  // namespace sluice::stepd
