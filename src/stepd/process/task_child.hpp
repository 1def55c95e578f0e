// From fork to exec: what happens in the process that becomes a task, or a task's epilog.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sched.h>

#include "common/base/shared_text.hpp"
#include "common/environment/environment.hpp"
#include "stepd/process/user_identity.hpp"

namespace sluice::stepd {

// Where a task finds setup.mpi_socket: out of the way of a shell's own descriptors.
inline constexpr int kMpiDescriptor = 24;

struct TaskSetup {
  UserIdentity user;
  std::string work_dir;
  uint32_t umask = 022;
  std::vector<uint64_t> limits;  // as in resource_limits.hpp
  // of these, what came with the job: its prologs and epilogs are told
  std::vector<uint64_t> sent_limits;
  std::optional<int> nice;  // nothing: as it is
  Environment env;          // all but SLURM_TASK_PID
  std::string program;      // empty: arguments[0], looked for in PATH
  std::vector<SharedText> arguments;
  int std_in = -1;  // become 0, 1, 2
  int std_out = -1;
  int std_err = -1;
  int mpi_socket = -1;              // becomes kMpiDescriptor; -1: none
  bool controlling_tty = false;     // std_in is the pty of the task
  std::string site_prolog;          // TaskProlog, run before the user's
  std::string user_prolog;          // --task-prolog
  std::optional<cpu_set_t> cpus;    // where it may run
  std::string binding_report;       // of --cpu-bind=verbose, with {} for the pid
  std::string gpu_report;           // of --gpu-bind=verbose
  std::string gpu_complaint;        // about --gpu-bind; empty: none
  int memory_policy = -1;           // of set_mempolicy(2); -1: as it is
  uint64_t memory_nodes = 0;        // NUMA nodes, a bit each
  std::string memory_report;        // of --mem-bind=verbose, with {} for the pid
  std::string memory_complaint;     // why --mem-bind cannot be: it does not run; empty: it can
  std::string mount_namespace;      // file of the one it lives in; empty: this process's
  bool user_env = false;            // add what the user's login shell sets
  bool stops_in_program = false;    // it is this process's tracee until pass_stop()
  std::vector<std::string> groups;  // files of control groups: who writes 0 there is in them
  std::string oom_score;            // for /proc/PID/oom_score_adj; empty: this process's
};

// Forks and runs `setup` in a session of its own; the child's pid, or -1 with errno. What fails in
// the child is told on its standard error as slurmstepd does, and ends it with the error's number.
// The child changes its own copy of `setup`; the caller's stays as it is.
[[nodiscard]] pid_t start_task(TaskSetup& setup);

// For each stop of a task that `stops_in_program`, with the status that wait(2) gives: once its
// program has been loaded the task stays stopped there, until anybody's SIGCONT, and is traced no
// more.
void pass_stop(pid_t task, int status);

// The same for what runs after the task: `epilogs`, one after the other. One that fails is told on
// standard error, and the next runs all the same.
[[nodiscard]] pid_t start_epilogs(TaskSetup& setup, const std::vector<std::string>& epilogs);

}  // namespace sluice::stepd
