// Whose processes are killed when a step's daemon died.
#include "noded/steps/orphans.hpp"

#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::noded {
namespace {

constexpr uid_t kUser = 54321;

// A process of that user with this environment, until it is killed.
pid_t start(uid_t uid, std::vector<std::string> environment) {
  int ready[2];
  if (::pipe(ready) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ready[0]);
    std::vector<char*> pointers;
    for (std::string& one : environment) pointers.push_back(one.data());
    pointers.push_back(nullptr);
    const char* const words[] = {"/bin/sh", "-c", "echo; exec sleep 600", nullptr};
    ::dup2(ready[1], 1);
    if (::setresgid(uid, uid, uid) == 0 && ::setresuid(uid, uid, uid) == 0) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
      ::execve(words[0], const_cast<char* const*>(words), pointers.data());
    }
    ::_exit(127);
  }
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  return pid;
}

bool runs(pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) == 0; }

TEST(Orphans, OfTheStepsUserAloneAreKilled) {
  if (::geteuid() != 0) GTEST_SKIP() << "starts processes of others";
  const std::string mark = "SLUICE_TEST_JOB=" + std::to_string(::getpid());
  const pid_t own = start(kUser, {mark, "OTHER=1", "PATH=/usr/bin:/bin"});
  const pid_t others = start(kUser + 1, {mark, "OTHER=1", "PATH=/usr/bin:/bin"});
  const pid_t unmarked = start(kUser, {"OTHER=1", "PATH=/usr/bin:/bin"});
  // sudo kept its environment
  const pid_t roots = start(0, {mark, "OTHER=1", "PATH=/usr/bin:/bin"});
  EXPECT_EQ(kill_marked({mark, "OTHER=1"}, kUser), 1u);
  int status = 0;
  EXPECT_EQ(::waitpid(own, &status, 0), own);
  EXPECT_TRUE(WIFSIGNALED(status));
  for (const pid_t spared : {others, unmarked, roots}) {
    EXPECT_TRUE(runs(spared));
    ::kill(spared, SIGKILL);
    ::waitpid(spared, nullptr, 0);
  }
}

TEST(Orphans, AProcessIsWhollyOfAUserOrNot) {
  EXPECT_TRUE(is_wholly_of("Name:\tsleep\nUid:\t5\t5\t5\t5\nGid:\t5\t5\t5\t5\n", 5));
  EXPECT_FALSE(is_wholly_of("Name:\tsudo\nUid:\t5\t0\t0\t0\nGid:\t5\n", 5));
  EXPECT_FALSE(is_wholly_of("Name:\tx\nUid:\t5\t5\t5\n", 5));
  EXPECT_FALSE(is_wholly_of("", 5));
}

TEST(Orphans, AllMarksAreWanted) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(holds_marks("A=1\0B=2\0C=3\0"sv, {"A=1", "C=3"}));
  EXPECT_FALSE(holds_marks("A=1\0B=2\0"sv, {"A=1", "C=3"}));
  EXPECT_FALSE(holds_marks("AA=1\0"sv, {"A=1"}));
}

}  // namespace
}  // namespace sluice::noded
