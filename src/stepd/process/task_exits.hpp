// What the end of a task comes to: when it counts, with which status, and whether it ends the
// others.
#pragma once

#include <functional>

#include "stepd/group_counts.hpp"
#include "stepd/io/audience.hpp"
#include "stepd/process/task_table.hpp"
#include "stepd/step_facts.hpp"

namespace sluice::stepd {

class TaskExits {
 public:
  struct Handlers {
    std::function<bool()> ending;            // the step has been told to end
    std::function<void(Task&)> close_input;  // before its status is told
    std::function<void(Task&)> on_exit;      // after it: its epilogs
    std::function<void()> end_others;
  };
  TaskExits(const StepFacts& facts, TaskTable& tasks, const GroupCounts& groups, Audience& audience,
            Handlers handlers)
      : facts_(facts),
        tasks_(tasks),
        groups_(groups),
        audience_(audience),
        handlers_(std::move(handlers)) {}

  // Processes have ended, as the table of tasks knows.
  void settle();

 private:
  void settle(Task& task);
  // Orphans become children of this process: their ends are heard of, too.
  [[nodiscard]] bool waits_for_children(const Task& task) const;

  const StepFacts& facts_;
  TaskTable& tasks_;
  const GroupCounts& groups_;
  Audience& audience_;
  Handlers handlers_;
};

}  // namespace sluice::stepd
