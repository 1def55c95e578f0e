#include "common/tables/submit_options.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/tables/submit_setters.hpp"

namespace sluice {
namespace {

std::vector<SubmitOption> join_rows() {
  std::vector<SubmitOption> all;
  for (const auto rows : {submit::job_rows(), submit::life_rows(), submit::size_rows(),
                          submit::device_rows(), submit::command_rows(), submit::step_rows()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  // An ambiguous prefix is answered with its candidates in this order, as Slurm has it.
  const auto key = [](const SubmitOption& o) { return o.name == "cluster" ? "clusters" : o.name; };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return all;
}

std::string_view prefix_of(CommandSet command) {
  return command == kSbatch ? "SBATCH" : command == kSalloc ? "SALLOC" : "SLURM";
}

uint32_t nodes_for_tasks(const JobSpec& job) {
  return job.max_nodes;
}

OptionResult check_exclusions(const Submission& s) {
  if (!s.job.tres_per_task.empty() && s.job.ntasks_per_gpu != 0) {
    return tl::unexpected<OptionProblem>(
        OptionProblem{{"fatal: --gpus-per-task is mutually exclusive with --ntasks-per-gpu and "
                       "SLURM_NTASKS_PER_GPU"},
                      1,
                      {}});
  }
  if (!s.job.cpus_per_gpu.empty() && s.job.cpus_per_task != 0) {
    return submit::refuse("--cpus-per-gpu is mutually exclusive with --cpus-per-task", 1);
  }
  if (s.job.distribution == "arbitrary" && s.job.required_nodes.empty() &&
      s.settings.node_file.empty()) {
    return submit::refuse(
        "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option",
        1);
  }
  if (s.settings.no_allocate && s.job.required_nodes.empty()) {
    return submit::refuse("must specify a node list with -Z, --no-allocate.", 1);
  }
  return {};
}

}  // namespace

const std::vector<SubmitOption>& submit_options() {
  static const std::vector<SubmitOption> rows = join_rows();
  return rows;
}

const SubmitOption* find_submit_option(std::string_view name, CommandSet command) {
  for (const SubmitOption& row : submit_options()) {
    if (row.name == name && (row.commands & command) != 0) return &row;
  }
  return nullptr;
}

std::vector<std::string> option_variables(const SubmitOption& option, CommandSet command) {
  std::vector<std::string> names;
  for (const std::string& term : split(option.environment, ' ')) {
    if (term.starts_with('*')) {
      names.push_back(std::string(prefix_of(command)) + term.substr(1));
    } else if (term.starts_with('+')) {
      names.push_back(term.substr(1));
    } else {
      const CommandSet owner = term.starts_with("SBATCH_")   ? kSbatch
                               : term.starts_with("SALLOC_") ? kSalloc
                                                             : kSrun;
      if (owner == command) names.push_back(term);
    }
  }
  return names;
}

bool flag_is_on(std::string_view text) {
  return !(text == "0" || iequals(text, "no") || iequals(text, "off") || iequals(text, "false"));
}

OptionResult finish_submission(Submission& s,
                               CommandSet command,
                               std::vector<std::string>& warnings) {
  if (OptionResult fits = check_exclusions(s); !fits) return fits;
  JobSpec& job = s.job;
  if (job.num_tasks != 0 && job.min_nodes > job.num_tasks && !job.overcommit) {
    warnings.push_back(
        fmt::format("Warning: can't run {} processes on {} nodes, setting nnodes to {}",
                    job.num_tasks, nodes_for_tasks(job), job.num_tasks));
    job.min_nodes = job.num_tasks;
    job.max_nodes = job.num_tasks;
    job.node_counts = {};
  } else if (job.num_tasks != 0 && job.max_nodes > job.num_tasks && !job.overcommit) {
    job.max_nodes = job.num_tasks;
  }
  // As many as asked for on each node: sbatch and salloc leave it to the nodes when only that is
  // given.
  if (job.num_tasks == 0 && job.ntasks_per_node != 0 && job.min_nodes != 0 &&
      job.min_nodes == job.max_nodes) {
    job.num_tasks = job.min_nodes * job.ntasks_per_node;
  }
  if (command != kSrun) return {};
  if (s.settings.exclusive_step) {
    s.step.exact = true;
    if (s.step.overlap == OverlapKind::kDefault) s.step.overlap = OverlapKind::kExclusive;
  }
  return {};
}

StepSpec make_step(const Submission& s) {
  StepSpec step = s.step;
  const JobSpec& job = s.job;
  step.submit_line = job.submit_line;
  step.work_dir = job.work_dir;
  step.umask = job.umask;
  step.limits = job.limits;
  step.min_nodes = job.min_nodes;
  step.max_nodes = job.max_nodes;
  step.num_tasks = job.num_tasks;
  step.cpus_per_task = job.cpus_per_task;
  step.ntasks_per_node = job.ntasks_per_node;
  step.ntasks_per_core = job.ntasks_per_core;
  step.ntasks_per_socket = job.ntasks_per_socket;
  step.threads_per_core = job.threads_per_core;
  step.memory_kind = job.memory_kind;
  step.memory_mib = job.memory_mib;
  if (step.gres.empty()) step.gres = job.gres;
  step.tres_per_task = job.tres_per_task;
  step.node_list = job.required_nodes;
  step.excluded_nodes = job.excluded_nodes;
  step.constraint = job.constraint;
  step.distribution = job.distribution;
  step.time_limit = job.time_limit;
  step.std_in = job.std_in;
  step.std_out = job.std_out;
  step.std_err = job.std_err;
  step.open_mode = job.open_mode;
  step.network = job.network;
  step.signal = job.signal;
  step.signal_seconds = job.signal_seconds;
  return step;
}

std::string_view submit_command_name(CommandSet command) {
  return command == kSbatch ? "sbatch" : command == kSalloc ? "salloc" : "srun";
}

}  // namespace sluice
