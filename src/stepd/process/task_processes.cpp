#include "stepd/process/task_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "stepd/process/process_tree.hpp"
#include "stepd/process/task_child.hpp"
#include "stepd/process/task_nice.hpp"

namespace sluice::stepd {

std::string TaskProcesses::start(StepPlan plan,
                                 const std::function<void(const TaskPlan&)>& on_started) {
  std::string problem;
  for (TaskPlan& from : plan.tasks) {
    Task& task = tasks_.add(from.rank, from.local);
    task.pty = from.pty;
    from.setup.limits = setup_.limits_for(from.setup.limits);
    const auto submitted = to_number<int>(from.setup.env.get("SLURM_PRIO_PROCESS")).value_or(0);
    from.setup.nice = task_nice(facts_.start.propagate_nice, submitted,
                                ::getpriority(PRIO_PROCESS, 0), facts_.launch.uid == 0);
    task.pid = start_task(from.setup);
    task.running = task.pid > 0;
    if (!task.running) {
      task.status = SIGKILL;
      problem = fmt::format("cannot start a process: {}", errno_text(errno));
    } else if (!facts_.task_epilogs().empty()) {
      task.epilog_err = ::fcntl(from.setup.std_err, F_DUPFD_CLOEXEC, 3);
    }
    meter_.add_task(task.rank, task.pid);
    on_started(from);
    task.env = std::move(from.setup.env);
    task.groups = std::move(from.setup.groups);
  }
  for (const int fd : plan.child_ends) ::close(fd);
  return problem;
}

void TaskProcesses::reap() {
  int status = 0;
  rusage used{};
  siginfo_t over{};
  // looked at before it is waited for: after that nothing is known of it any more
  while (::waitid(P_ALL, 0, &over, WEXITED | WNOHANG | WNOWAIT) == 0 && over.si_pid > 0) {
    ProcessUsage last = usage_of_process(over.si_pid).value_or(ProcessUsage{});
    last.pid = over.si_pid;
    const pid_t pid = ::wait4(over.si_pid, &status, 0, &used);
    over.si_pid = 0;
    if (pid <= 0) break;
    if (WIFSTOPPED(status)) {
      pass_stop(pid, status);
      continue;
    }
    meter_.ended(last, used);
    if (tasks_.ended(pid, status))
      messages_.write(fmt::format("slurmstepd: error: TaskEpilog failed status={}\n", status));
  }
}

void TaskProcesses::run_epilogs(Task& task) {
  if (task.epilog_err < 0) return;
  const int err = std::exchange(task.epilog_err, -1);
  if (auto setup = setup_.epilog_setup()) {
    setup->std_err = err;
    setup->env = task.env;
    setup->env.set("SLURM_TASK_PID", std::to_string(task.pid));
    setup->groups = task.groups;
    task.epilog = start_epilogs(*setup, facts_.task_epilogs());
    if (task.epilog < 0)
      messages_.write(
          fmt::format("slurmstepd: error: TaskEpilog cannot be started: {}\n", errno_text(errno)));
  }
  ::close(err);
}

bool TaskProcesses::all_kept_dead() const {
  return std::ranges::all_of(tasks_, [](const Task& task) {
    return (!task.running || is_kept_dead(task.pid)) &&
           (task.epilog <= 0 || is_kept_dead(task.epilog));
  });
}

void TaskProcesses::signal(int signal) const {
  for (const Task& task : tasks_) {
    if (task.running) ::kill(task.pid, signal);
  }
}

void TaskProcesses::hang_up() const {
  for (const Task& task : tasks_) {
    if (!task.pty || !task.running) continue;
    ::kill(-task.pid, SIGHUP);
    ::kill(-task.pid, SIGCONT);
  }
}

}  // namespace sluice::stepd
