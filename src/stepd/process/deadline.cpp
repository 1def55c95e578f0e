#include "stepd/process/deadline.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/os/wait_status.hpp"
#include "common/model/cluster_config.hpp"
#include "stepd/process/process_tree.hpp"

namespace sluice::stepd {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kDone = 3;        // of the watcher
constexpr int kMostRounds = 3;  // a process may be born while others are killed

bool is_done(std::chrono::milliseconds patience) {
  pollfd done{kDone, POLLIN, 0};
  return ::poll(&done, 1, static_cast<int>(patience.count())) > 0;
}

void watch(pid_t watched, Clock::time_point end, const std::function<void()>& last_words) {
  while (Clock::now() < end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (is_done(std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(60'000))))
      return;
  }
  if (::getppid() != watched) return;
  ::kill(watched, SIGSTOP);
  if (is_done(std::chrono::milliseconds(0))) {  // just now
    ::kill(watched, SIGCONT);
    return;
  }
  last_words();
  for (int round = 0; round < kMostRounds; ++round) {
    for (const pid_t pid : descendants(watched)) {
      if (pid != ::getpid()) ::kill(pid, SIGKILL);
    }
  }
  ::kill(watched, SIGKILL);
}

}  // namespace

Deadline::Deadline(Duration limit, const std::function<void()>& last_words) {
  if (limit <= Duration(0) || limit >= kNoLimit) return;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  const pid_t self = ::getpid();
  const auto end = Clock::now() + limit;
  watcher_ = ::fork();
  if (watcher_ == 0) {
    if (ends[1] != kDone) ::dup2(ends[1], kDone);
    ::close_range(kDone + 1, ~0U, 0);
    watch(self, end, last_words);
    ::_exit(0);
  }
  ::close(ends[1]);
  done_ = ends[0];
}

Deadline::~Deadline() {
  if (done_ < 0) return;
  (void)::send(done_, "", 1, MSG_NOSIGNAL);
  ::close(done_);
  if (watcher_ > 0) wait_for_child(watcher_);
}

}  // namespace sluice::stepd
