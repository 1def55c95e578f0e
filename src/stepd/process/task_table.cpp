#include "stepd/process/task_table.hpp"

#include <algorithm>
#include <csignal>

#include <sys/wait.h>

#include "common/os/wait_status.hpp"

namespace sluice::stepd {

Task& TaskTable::add(uint32_t rank, uint32_t local) {
  Task& task = tasks_.emplace_back();
  task.rank = rank;
  task.local = local;
  return task;
}

Task& TaskTable::add_killed(uint32_t rank, uint32_t local) {
  Task& task = add(rank, local);
  task.status = SIGKILL;
  return task;
}

const Task* TaskTable::of_process(pid_t pid) const {
  const auto found = std::ranges::find(tasks_, pid, &Task::pid);
  return found == tasks_.end() ? nullptr : &*found;
}

bool TaskTable::any_runs() const { return std::ranges::any_of(tasks_, &Task::running); }

bool TaskTable::busy() const {
  return std::ranges::any_of(tasks_,
                             [](const Task& task) { return task.running || task.epilog > 0; });
}

bool TaskTable::ended(pid_t pid, int status) {
  bool killed = false;
  for (Task& task : tasks_) {
    if (task.pid == pid && task.running) {
      task.status = status;
      task.exited = true;
    }
    if (task.epilog == pid) {
      task.epilog = -1;
      killed = killed || WIFSIGNALED(status);
    }
  }
  return killed;
}

void TaskTable::give_up() {
  for (Task& task : tasks_) {
    if (task.running) task.status = SIGKILL;
    task.running = false;
  }
}

protocol::TasksStarted TaskTable::started() const {
  protocol::TasksStarted started;
  for (const Task& task : tasks_) {
    started.tasks.push_back(task.rank);
    started.pids.push_back(static_cast<uint32_t>(task.pid));
  }
  return started;
}

int TaskTable::worst_status() const {
  int worst = 0;
  for (const Task& task : tasks_) worst = worse_of_tasks(worst, task.status);
  return worst;
}

}  // namespace sluice::stepd
