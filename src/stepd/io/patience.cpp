#include "stepd/io/patience.hpp"

#include <sys/time.h>

namespace sluice::stepd {
namespace {

constexpr long kAgainMicroseconds = 100000;  // the first signal may come just before the call

}  // namespace

Patience::Patience(std::chrono::seconds limit) : end_(std::chrono::steady_clock::now() + limit) {
  struct sigaction interrupt {};
  interrupt.sa_handler = [](int) {};
  ::sigemptyset(&interrupt.sa_mask);  // and no SA_RESTART
  ::sigaction(SIGALRM, &interrupt, &before_);
  const itimerval clock{{0, kAgainMicroseconds}, {limit.count(), 0}};
  ::setitimer(ITIMER_REAL, &clock, nullptr);
}

Patience::~Patience() {
  const itimerval off{};
  ::setitimer(ITIMER_REAL, &off, nullptr);
  ::sigaction(SIGALRM, &before_, nullptr);
}

}  // namespace sluice::stepd
