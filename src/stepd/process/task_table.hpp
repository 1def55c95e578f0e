// The tasks of a step on this node, from their start to their ends. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/environment/environment.hpp"
#include "common/protocol/stepd.hpp"

namespace sluice::stepd {

struct Task {
  uint32_t rank = 0;
  uint32_t local = 0;
  pid_t pid = -1;
  int status = 0;  // as wait(2) gives it
  bool running = false;
  bool exited = false;  // the process did, but not all that it left behind (--wait-for-children)
  bool pty = false;
  pid_t epilog = -1;
  // the task's standard error, kept open for its epilogs; -1: there are none
  int epilog_err = -1;
  Environment env;
  std::vector<std::string> groups;  // as in TaskSetup, for its epilogs
};

class TaskTable {
 public:
  Task& add(uint32_t rank, uint32_t local);
  // One that ends without having begun.
  Task& add_killed(uint32_t rank, uint32_t local);

  [[nodiscard]] bool empty() const { return tasks_.empty(); }
  [[nodiscard]] uint32_t first_rank() const { return tasks_.front().rank; }
  [[nodiscard]] auto begin() { return tasks_.begin(); }
  [[nodiscard]] auto end() { return tasks_.end(); }
  [[nodiscard]] auto begin() const { return tasks_.begin(); }
  [[nodiscard]] auto end() const { return tasks_.end(); }
  // Null when that process is none's.
  [[nodiscard]] const Task* of_process(pid_t pid) const;

  [[nodiscard]] bool any_runs() const;
  // One of them runs, or its epilogs do.
  [[nodiscard]] bool busy() const;
  // A process has ended, a task's or an epilog's or any other. True for an epilog that was killed.
  bool ended(pid_t pid, int status);
  // Those that run are counted as killed.
  void give_up();

  [[nodiscard]] protocol::TasksStarted started() const;
  [[nodiscard]] int worst_status() const;

 private:
  std::vector<Task> tasks_;  // in local order
};

}  // namespace sluice::stepd
