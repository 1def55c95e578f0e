#include "common/daemon/running_programs.hpp"

#include <csignal>

#include <fmt/format.h>
#include <unistd.h>

#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/log/log.hpp"

namespace sluice::daemon {
namespace {

// a child may be born just now, and have no group yet
constexpr auto kBetweenKills = std::chrono::milliseconds(50);

void kill_children(pid_t thread) {
  for (const std::string& word : split_list(
           read_file(fmt::format("/proc/self/task/{}/children", thread)).value_or(""), ' ')) {
    if (const auto child = to_number<pid_t>(word); child && *child > 1) ::kill(-*child, SIGKILL);
  }
}

}  // namespace

RunningPrograms::Here::Here(RunningPrograms& all, const std::string& what)
    : all_(all), thread_(::gettid()) {
  const std::lock_guard lock(all_.mutex_);
  all_.threads_[thread_] = what;
}

RunningPrograms::Here::~Here() {
  const std::lock_guard lock(all_.mutex_);
  all_.threads_.erase(thread_);
  all_.changed_.notify_all();
}

void RunningPrograms::end(std::chrono::milliseconds patience) {
  const auto none = [this] { return threads_.empty(); };
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, patience, none)) return;
  for (const auto& [thread, what] : threads_) log::error("{} is killed: the daemon ends", what);
  do {
    for (const auto& [thread, what] : threads_) kill_children(thread);
  } while (!changed_.wait_for(lock, kBetweenKills, none));
}

}  // namespace sluice::daemon
