// What a step daemon is going to start: for each task its process setup and the pipes, files or pty
// around it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/stepd_start.hpp"
#include "common/syntax/file_pattern.hpp"
#include "stepd/io/output_files.hpp"
#include "stepd/step_group.hpp"
#include "stepd/binding/task_binding.hpp"
#include "stepd/process/task_child.hpp"

namespace sluice::stepd {

struct TaskPlan {
  uint32_t rank = 0;
  uint32_t local = 0;
  TaskSetup setup;
  // The daemon's ends; -1: none. With a pty read_out is its master, and read_err and write_in are
  // not used.
  int read_out = -1;
  int read_err = -1;
  int write_in = -1;
  bool pty = false;
  // Where labelled output goes; -1: to the listeners.
  int out_file = -1;
  int err_file = -1;
};

struct StepPlan {
  std::vector<TaskPlan> tasks;
  std::vector<int> child_ends;  // to close once all tasks are forked
  int message_fd = -1;          // the user's stderr, where it is a file; not owned
  bool whole_lines = false;     // output is passed on line by line
  std::string message;          // for the user, once the tasks have begun; empty: none
};

// What a plan is made of.
struct PlanInput {
  const protocol::StepdStart& start;
  const protocol::StepLaunch& launch;
  const UserIdentity& user;
  // This node's position in whole_layout().
  [[nodiscard]] uint32_t whole_index() const { return launch.first_node + start.node_index; }
};

// The batch script, written to the spool; files are opened. The error's text is for the user.
[[nodiscard]] Result<StepPlan> plan_batch(const PlanInput& input, OutputFiles& files);
// The tasks of a step on this node.
[[nodiscard]] Result<StepPlan> plan_step(const PlanInput& input, OutputFiles& files);

// What the names of the step's files are made of.
[[nodiscard]] PatternFields pattern_fields(const PlanInput& input);
// Slurm's words when one of them cannot be opened.
[[nodiscard]] std::string open_failure_text(std::string_view stream, std::string_view path,
                                            const Error& why);

// What --cpu-bind comes to for the tasks of this node; nothing without task/affinity. The error is
// two lines: a sentence for the user and why the launch fails.
[[nodiscard]] Result<TaskBinding> binding_of(const PlanInput& input);
// The CPUs of this host that a task is bound to; nothing: anywhere.
[[nodiscard]] std::optional<cpu_set_t> cpus_of_task(const PlanInput& input,
                                                    const TaskBinding& binding,
                                                    uint32_t local_task);
// The CPUs of this host that the job and the step have here, for their control groups.
[[nodiscard]] GroupCpus group_cpus(const PlanInput& input);
// --cpu-bind=verbose: what the task says of it, with a place for its pid; else empty.
[[nodiscard]] std::string binding_report(const PlanInput& input, const TaskBinding& binding,
                                         uint32_t local_task);
// Variables of the GPUs that the task may use, as --gpu-bind says.
void set_gpu_variables(const PlanInput& input, uint32_t local_task, TaskSetup& setup);
void set_binding_variables(const PlanInput& input, const TaskBinding& binding, Environment& out);

}  // namespace sluice::stepd
