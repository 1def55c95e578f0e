// The processes of a node's tasks and of their epilogs: forked, signalled and reaped.
#pragma once

#include <functional>
#include <string>

#include "stepd/io/user_messages.hpp"
#include "stepd/process/task_table.hpp"
#include "stepd/process/usage_meter.hpp"
#include "stepd/step_facts.hpp"
#include "stepd/step_setup.hpp"

namespace sluice::stepd {

class TaskProcesses {
 public:
  TaskProcesses(const StepFacts& facts, StepSetup& setup, TaskTable& tasks, UsageMeter& meter,
                UserMessages& messages)
      : facts_(facts), setup_(setup), tasks_(tasks), meter_(meter), messages_(messages) {}

  // Forks them; `on_started` takes the daemon's ends of each. Why one of them could not be started;
  // empty: all are.
  [[nodiscard]] std::string start(StepPlan plan,
                                  const std::function<void(const TaskPlan&)>& on_started);
  // Children that have ended: the table of tasks knows of them then.
  void reap();
  // Once the task has ended. No-op where there are none.
  void run_epilogs(Task& task);
  // What runs of them has ended, all of it, and tracers keep that from us.
  [[nodiscard]] bool all_kept_dead() const;
  // To the processes of the tasks alone.
  void signal(int signal) const;
  // Terminals are closed at their other end.
  void hang_up() const;

 private:
  const StepFacts& facts_;
  StepSetup& setup_;
  TaskTable& tasks_;
  UsageMeter& meter_;
  UserMessages& messages_;
};

}  // namespace sluice::stepd
