#include "stepd/process/step_processes.hpp"

#include <algorithm>
#include <csignal>

#include <unistd.h>

#include "stepd/process/process_tree.hpp"
#include "stepd/step_group.hpp"

namespace sluice::stepd {

std::vector<pid_t> LiveProcesses::members() const {
  std::vector<pid_t> pids = descendants(::getpid());
  if (!group_.exists()) return pids;
  const std::vector<pid_t> grouped = group_.processes();
  pids.insert(pids.end(), grouped.begin(), grouped.end());
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

bool LiveProcesses::any_lives() const { return !std::ranges::all_of(members(), is_kept_dead); }

void LiveProcesses::signal(int signal) const {
  for (const pid_t pid : members()) ::kill(pid, signal);
  if (signal == SIGKILL) thaw();
}

void LiveProcesses::suspend() const {
  signal(SIGSTOP);
  group_.freeze(true);
}

void LiveProcesses::resume() const {
  thaw();
  signal(SIGCONT);
}

void LiveProcesses::thaw() const { group_.freeze(false); }

void LiveProcesses::kill() const {
  signal(SIGKILL);
  group_.kill();
}

bool LiveProcesses::any_catches_term() const {
  return std::ranges::any_of(members(), catches_term);
}

}  // namespace sluice::stepd
