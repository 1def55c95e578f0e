#include "stepd/process/task_exits.hpp"

#include "common/protocol/node_reports.hpp"
#include "common/wire/codec.hpp"

namespace sluice::stepd {

void TaskExits::settle() {
  for (Task& task : tasks_) {
    if (task.running && task.exited && !waits_for_children(task)) settle(task);
  }
}

void TaskExits::settle(Task& task) {
  task.running = false;
  // a task of which the kernel killed a process for want of memory has failed, whatever it says
  // itself
  if (groups_.oom_kills_of(task.local) > 0) task.status = protocol::kOutOfMemoryStatus;
  handlers_.close_input(task);
  audience_.send(protocol::FrameType::kExited, kNoTask,
                 wire::encode(protocol::TaskExit{task.rank, task.status}));
  handlers_.on_exit(task);
  // srun sees to it on all nodes, as long as there is one
  if (task.status != 0 && facts_.ends_on_bad_exit() && !audience_.has_owner())
    handlers_.end_others();
}

bool TaskExits::waits_for_children(const Task& task) const {
  return facts_.waits_for_children() && !handlers_.ending() &&
         !groups_.processes_of(task.local).empty();
}

}  // namespace sluice::stepd
