// How a daemon begins.
#include "common/daemon/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::daemon {
namespace {

// The bug: what a daemon's starter left open went on to the programs of users.
TEST(Program, DescriptorsItWasStartedWithGoNoFurther) {
  // NOLINTNEXTLINE(android-cloexec-open): as a shell leaves it
  const int inherited = ::open("/dev/null", O_RDONLY);
  ASSERT_GT(inherited, 2);
  ProgramOptions options;
  options.foreground = true;
  Background background = leave_terminal(options);
  background.ready();
  EXPECT_EQ(::fcntl(inherited, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  for (int fd = 0; fd <= 2; ++fd) EXPECT_EQ(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  ::close(inherited);
}

}  // namespace
}  // namespace sluice::daemon
