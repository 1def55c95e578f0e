// What a program of the site is given, and what is left of one that takes too long.
#include "common/daemon/run_program.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/proc_stat.hpp"
#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::daemon {
namespace {

class RunProgram : public ::testing::Test {
 protected:
  std::string program(const std::string& text) {
    const std::string path = folder_ / "program";
    std::ofstream(path) << "#!/bin/bash\n" << text;
    EXPECT_EQ(::chmod(path.c_str(), 0700), 0);
    return path;
  }
  static bool runs(const std::string& pid) {
    const auto fields = stat_fields(read_file("/proc/" + pid + "/stat").value_or(""));
    return !fields.empty() && fields[0] != "Z" && fields[0] != "X";
  }
  const test::TempFolder folder_;
};

// The bug: programs of users had what the controller was started with, such as a log that nobody
// else may read.
TEST_F(RunProgram, HasNoDescriptorOfTheController) {
  // NOLINTNEXTLINE(android-cloexec-open): as a shell leaves it
  const int inherited = ::open("/dev/null", O_RDONLY);
  ASSERT_GT(inherited, 2);
  const std::string path = program("[ ! -e /proc/$$/fd/" + std::to_string(inherited) +
                                   " ] && [ $(cut -d' ' -f6 /proc/$$/stat) = $$ ]\n");
  EXPECT_EQ(run_program({path}, {}, {}), 0);
  ::close(inherited);
  EXPECT_EQ(run_program({(folder_ / "none").string()}, {}, {}), -1) << "an error is told still";
}

// The bug: what a trigger's program put into a process group of its own went on after its time.
TEST_F(RunProgram, NothingOfItsSessionIsLeftAfterItsTime) {
  const std::string pids = folder_ / "pids";
  const std::string path = program("set -m\nsleep 1000 &\necho $! > " + pids +
                                   "\n(sleep 1000 & echo $! >> " + pids + ")\nsleep 1000\n");
  EXPECT_EQ(run_program({path}, {{"PATH", "/usr/bin:/bin"}}, {}, std::chrono::seconds(1)), SIGKILL);
  const auto left = split(trim(read_file(pids).value_or("")), '\n');
  ASSERT_EQ(left.size(), 2U);
  // the kernel ends them in its own time
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (const std::string& pid : left) {
    while (runs(pid) && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_FALSE(runs(pid));
    if (runs(pid)) ::kill(std::stoi(pid), SIGKILL);
  }
}

// The bug: what a program of the site's said of its failure was lost.
TEST_F(RunProgram, WhatAFailureSaidIsLogged) {
  const auto log_of = [&](const std::string& text) {
    ::testing::internal::CaptureStderr();
    EXPECT_NE(run_program({program(text)}, {{"PATH", "/usr/bin:/bin"}}, {}), -1);
    return ::testing::internal::GetCapturedStderr();
  };
  const std::string said = log_of("echo to out\nprintf 'to \\033[1m err' >&2\nexit 3\n");
  EXPECT_NE(said.find("/program: to out\n"), std::string::npos) << said;
  EXPECT_NE(said.find("/program: to \\x1b[1m err\n"), std::string::npos) << said;
  EXPECT_EQ(log_of("echo all is well\n"), "");
  const std::string much = log_of("yes 'of many' | head -n 500000\nexit 1\n");
  EXPECT_NE(much.find("/program: of many\n"), std::string::npos);
  EXPECT_LT(much.size(), 8192U);
}

// The bug: a user's trigger could use up the memory and the threads of the controller's control
// group.
TEST_F(RunProgram, OfAUserHasBounds) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts programs as another user";
  const std::string path = program(
      "[ $(ulimit -v) = 1048576 ] && [ $(ulimit -u) -ge 64 ] && [ $(ulimit -u) -lt 1000 ]"
      " && [ $(ulimit -c) = 0 ] && [ $(< /proc/self/oom_score_adj) = 1000 ]\n");
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  ASSERT_EQ(::chmod((folder_ / "").c_str(), 0755), 0);
  EXPECT_EQ(run_program({path}, {{"PATH", "/usr/bin:/bin"}}, {"nobody", 65534, 65534}), 0);
  EXPECT_EQ(run_program({path}, {{"PATH", "/usr/bin:/bin"}}, {}), 1 << 8) << "not of the site";
}

}  // namespace
}  // namespace sluice::daemon
