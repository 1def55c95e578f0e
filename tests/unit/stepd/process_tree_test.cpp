// The bug: a user who traced a process of his job from outside of it, and did not wait for it, had
// his node drained: the process had ended, but its step daemon never heard of that.
#include "stepd/process/process_tree.hpp"

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os/read_file.hpp"

namespace sluice::stepd {
namespace {

bool comes_true(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::string status_of(pid_t pid) {
  return read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
}

// A child that does nothing, and lets anybody trace it.
pid_t start_idle() {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  while (true) ::pause();
}

// A child that traces `pid`, and waits for nothing; -1 when it may not.
pid_t start_tracer(pid_t pid) {
  int said[2];
  if (::pipe(said) != 0) return -1;
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    char word = 'n';
    for (int i = 0; i < 1000 && word == 'n'; ++i) {
      if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0) word = 'y';
      else ::usleep(1000);
    }
    if (::write(said[1], &word, 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char word = 'n';
  const bool heard = ::read(said[0], &word, 1) == 1;
  ::close(said[0]);
  ::close(said[1]);
  if (heard && word == 'y') return tracer;
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  return -1;
}

TEST(ProcessTreeTest, ATracerKeepsAnEnd) {
  const pid_t pid = start_idle();
  ASSERT_GT(pid, 0);
  const pid_t tracer = start_tracer(pid);
  ASSERT_GT(tracer, 0);
  EXPECT_FALSE(is_kept_dead(pid)) << "it lives";
  ::kill(pid, SIGKILL);
  EXPECT_TRUE(comes_true([pid] { return is_kept_dead(pid); }));
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), 0) << "its parent does not hear of it";
  ::kill(tracer, SIGKILL);
  EXPECT_EQ(::waitpid(tracer, nullptr, 0), tracer);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_FALSE(is_kept_dead(pid)) << "it is gone";
}

TEST(ProcessTreeTest, AnEndThatItsParentHearsOfIsNotKept) {
  const pid_t pid = start_idle();
  ASSERT_GT(pid, 0);
  ::kill(pid, SIGKILL);
  siginfo_t about{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(is_kept_dead(pid));
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

// Its first thread has ended, and shows as a zombie; another one goes on.
TEST(ProcessTreeTest, AProcessWhoseFirstThreadEndedLives) {
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    std::thread([] {
      while (true) ::pause();
    }).detach();
    char word = 0;
    if (::read(told[0], &word, 1) == 1) ::syscall(SYS_exit, 0);  // of this thread alone
    ::_exit(1);
  }
  ASSERT_GT(pid, 0);
  const pid_t tracer = start_tracer(pid);
  ASSERT_GT(tracer, 0);
  ASSERT_EQ(::write(told[1], "", 1), 1);
  EXPECT_TRUE(comes_true([pid] { return status_of(pid).find("State:\tZ") != std::string::npos; }));
  EXPECT_FALSE(is_kept_dead(pid));
  for (const pid_t one : {pid, tracer}) ::kill(one, SIGKILL);
  EXPECT_EQ(::waitpid(tracer, nullptr, 0), tracer);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  for (const int end : told) ::close(end);
}

}  // namespace
}  // namespace sluice::stepd
