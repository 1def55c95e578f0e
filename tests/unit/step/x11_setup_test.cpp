#include "common/step/x11_setup.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::string_literals;

std::string setup_message(bool big, std::string_view cookie) {
  const auto word = [&](size_t n) {
    const std::string low(1, static_cast<char>(n)), high(1, '\0');
    return big ? high + low : low + high;
  };
  return (big ? "B" : "l") + "\0"s + word(11) + word(0) + word(18) + word(cookie.size()) + "\0\0"s +
         std::string(kX11CookieName) + "\0\0"s + std::string(cookie) +
         std::string((4 - cookie.size() % 4) % 4, '\0');
}

TEST(X11Setup, CookieIsReadAndReplaced) {
  for (const bool big : {false, true}) {
    const std::string old = "0123456789abcdef", fresh = "fedcba";
    X11Setup setup;
    const std::string message = setup_message(big, old);
    for (const char c : message) {
      EXPECT_FALSE(setup.complete());
      ASSERT_TRUE(setup.feed({&c, 1}));
    }
    EXPECT_TRUE(setup.complete());
    EXPECT_EQ(setup.cookie(), old);
    ASSERT_TRUE(setup.feed("request"));
    EXPECT_EQ(setup.with_cookie(fresh), setup_message(big, fresh) + "request");
  }
}

TEST(X11Setup, WhatIsNoSetup) {
  X11Setup text, endless, other;
  EXPECT_FALSE(text.feed("GET / HTTP/1.1"));
  EXPECT_FALSE(endless.feed("l\0\x0b\0\0\0\xff\xff\xff\xff\0\0"s));
  std::string message = setup_message(false, "0123456789abcdef");
  message[12] = 'X';
  EXPECT_TRUE(other.feed(message));
  EXPECT_TRUE(other.complete());
  EXPECT_EQ(other.cookie(), "");
}

TEST(X11Setup, File) {
  const std::string others = "\1\0\0\4n1.x\0\2\x31\x31\0\1A\0\2cc"s + xauthority_file(5, "efgh");
  const std::string whole = with_xauthority(others, "n1.x", 10, "abcd");
  EXPECT_EQ(whole, "\1\0\0\4n1.x\0\2\x31\x30\0\x12MIT-MAGIC-COOKIE-1\0\4abcd"s + others);
  EXPECT_EQ(with_xauthority(whole, "n1.x", 10, "ijkl"), with_xauthority(others, "n1.x", 10, "ijkl"))
      << "in the old one's place";
  EXPECT_EQ(without_xauthority(whole, "n1.x", 10), others);
  EXPECT_EQ(without_xauthority(whole, "n2.x", 10), whole)
      << "another host's display of the same number";
  EXPECT_EQ(without_xauthority(whole + "\1", "n1.x", 10), others + "\1")
      << "what cannot be read stays";
  EXPECT_EQ(xauthority_file(10, "abcd"),
            "\xff\xff\0\0\0\2\x31\x30\0\x12MIT-MAGIC-COOKIE-1\0\4abcd"s);
}

TEST(X11Display, Names) {
  EXPECT_EQ(parse_display(":3")->path, "/tmp/.X11-unix/X3");
  EXPECT_EQ(parse_display("unix:0.1")->path, "/tmp/.X11-unix/X0");
  const auto remote = parse_display("localhost:10.0");
  EXPECT_EQ(remote->path, "");
  EXPECT_EQ(remote->host, "localhost");
  EXPECT_EQ(remote->port, 6010U);
  for (const char* bad : {"", "host", ":x", ":99999"}) EXPECT_FALSE(parse_display(bad)) << bad;
}

}  // namespace
}  // namespace sluice
