// How children end.
#include "common/os/wait_status.hpp"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

namespace sluice {
namespace {

// Ends with `code`, or by SIGKILL where that is -1, once the other end of `order` is closed.
pid_t start_child(int code, const int (&order)[2]) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::close(order[1]);
  char none = 0;
  (void)!::read(order[0], &none, 1);
  if (code < 0) ::raise(SIGKILL);
  ::_exit(code);
}

std::optional<int> status_of(int code) {
  int order[2];
  if (::pipe(order) != 0) return std::nullopt;
  const pid_t child = start_child(code, order);
  ::close(order[1]);
  const auto status = wait_for_child(child);
  ::close(order[0]);
  return status;
}

TEST(WaitStatus, IsTheChilds) {
  const auto ended = status_of(3);
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, 3 << 8);
  EXPECT_EQ(shell_code(*ended), 3);
  const auto killed = status_of(-1);
  ASSERT_TRUE(killed);
  EXPECT_EQ(shell_code(*killed), 128 + SIGKILL);
  EXPECT_FALSE(wait_for_child(::getpid()));  // no child
}

int order_end = -1;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a handler's

TEST(WaitStatus, SignalsDoNotEndTheWait) {
  int order[2];
  ASSERT_EQ(::pipe(order), 0);
  order_end = order[1];
  struct sigaction interrupt {};
  struct sigaction before {};
  interrupt.sa_handler = [](int) { ::close(order_end); };  // the child goes on; no SA_RESTART
  ::sigemptyset(&interrupt.sa_mask);
  ASSERT_EQ(::sigaction(SIGALRM, &interrupt, &before), 0);
  const pid_t child = start_child(5, order);
  const itimerval soon{{}, {0, 20000}};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
  EXPECT_EQ(wait_for_child(child), 5 << 8);
  ::sigaction(SIGALRM, &before, nullptr);
  ::close(order[0]);
}

// As Slurm 22.05 has it.
TEST(WaitStatus, WhichIsTheWorst) {
  struct Case {
    int a, b, of_tasks, of_reports;
  };
  const Case cases[] = {{5 << 8, 9, 9, 5 << 8}, {200 << 8, 9, 9, 200 << 8},       {9, 15, 15, 15},
                        {0, 2, 2, 2},           {3 << 8, 7 << 8, 7 << 8, 7 << 8}, {0, 0, 0, 0}};
  for (const Case& c : cases) {
    for (const bool swapped : {false, true}) {
      const int a = swapped ? c.b : c.a, b = swapped ? c.a : c.b;
      EXPECT_EQ(worse_of_tasks(a, b), c.of_tasks) << a << ' ' << b;
      EXPECT_EQ(worse_of_reports(a, b), c.of_reports) << a << ' ' << b;
    }
  }
}

}  // namespace
}  // namespace sluice
