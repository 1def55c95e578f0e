#include "stepd/process/deadline.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os/read_file.hpp"
#include "common/model/cluster_config.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::stepd {
namespace {

[[noreturn]] void stand_still() {
  while (true) ::pause();
}

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

TEST(Deadline, WhoDoesNotComeBackIsKilledWithAllBelowIt) {
  const test::TempFolder folder;
  const std::string said = folder / "said";
  int living[2];  // at its end when all that hold it are gone
  ASSERT_EQ(::pipe2(living, O_CLOEXEC), 0);
  const pid_t watched = ::fork();
  if (watched == 0) {
    if (::fork() == 0) stand_still();
    const Deadline deadline(std::chrono::milliseconds(1), [&] { std::ofstream(said) << "late"; });
    stand_still();
  }
  ::close(living[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(watched, &status, 0), watched);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  char none = 0;
  EXPECT_EQ(::read(living[0], &none, 1), 0);
  EXPECT_EQ(read_file(said), "late");
  ::close(living[0]);
}

// What a module has begun holds a copy of the watcher's descriptor, and does not keep the watcher.
TEST(Deadline, WhoComesBackIsWatchedNoLonger) {
  pid_t begun = -1;
  {
    const Deadline deadline(std::chrono::hours(1), [] {});
    begun = ::fork();
    if (begun == 0) stand_still();
  }
  ::kill(begun, SIGKILL);
  EXPECT_EQ(::waitpid(begun, nullptr, 0), begun);
  EXPECT_FALSE(has_children());
}

TEST(Deadline, NobodyWatchesWithoutALimit) {
  for (const Duration limit : {Duration(0), kNoLimit}) {
    const Deadline deadline(limit, [] {});
    EXPECT_FALSE(has_children());
  }
}

}  // namespace
}  // namespace sluice::stepd
