// What other programs print, read by commands.
#include <gtest/gtest.h>

#include "cli/step/broadcast.hpp"
#include "cli/step/shared_objects.hpp"
#include "cli/step/x11_relay.hpp"

namespace sluice::cli {
namespace {

TEST(SharedObjects, OfLdd) {
  const char* text =
      "\tlinux-vdso.so.1 (0x00007ffd)\n"
      "\tlibmine.so.1 => /opt/my libs/libmine.so.1 (0x00007f1)\n"
      "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f2)\n"
      "\tlibgone.so => not found\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f3)\n";
  using Names = std::vector<std::string>;
  EXPECT_EQ(objects_of_ldd(text, {}),
            (Names{"/opt/my libs/libmine.so.1", "/lib/x86_64-linux-gnu/libc.so.6"}));
  EXPECT_EQ(objects_of_ldd(text, {"/lib", "/usr/lib"}), Names{"/opt/my libs/libmine.so.1"});
  EXPECT_EQ(objects_of_ldd(text, {"/opt/my", "/li"}).size(), 2U);
  EXPECT_EQ(objects_of_ldd(text, {"/opt/my libs/"}), Names{"/lib/x86_64-linux-gnu/libc.so.6"});
  EXPECT_EQ(excluded_folders("none"), Names());
  EXPECT_EQ(excluded_folders("/a,/b"), (Names{"/a", "/b"}));
}

TEST(X11Relay, CookieOfXauth) {
  EXPECT_EQ(cookie_of_xauth("host/unix:0  MIT-MAGIC-COOKIE-1  0a0b\n"), "\x0a\x0b");
  EXPECT_EQ(cookie_of_xauth("h:1  XDM-AUTHORIZATION-1  ff\nh:1  MIT-MAGIC-COOKIE-1  61\n"), "a");
  EXPECT_EQ(cookie_of_xauth(""), "");
  EXPECT_EQ(cookie_of_xauth("h:1  MIT-MAGIC-COOKIE-1  zz\n"), "");
}

}  // namespace
}  // namespace sluice::cli
