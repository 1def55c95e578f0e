#include "common/submit/submit_options.hpp"

#include <algorithm>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/syntax/cpu_frequency.hpp"
#include "common/syntax/licenses.hpp"
#include "common/submit/submit_setters.hpp"

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

// The first `count` names of a list, no name twice. One that cannot be read is the controller's
// affair.
void cut_hosts(SharedText& list, size_t count) {
  const Result<std::vector<std::string>> hosts = expand_hosts(list);
  if (!hosts) return;
  std::vector<std::string> kept;
  for (const std::string& host : *hosts) {
    if (kept.size() < count && std::ranges::find(kept, host) == kept.end()) kept.push_back(host);
  }
  list = join(kept, ",");
}

// "n3,n2,n3" to "n[2-3]", as the lists are shown later; the number of its names.
uint32_t sort_hosts(SharedText& list) {
  Result<std::vector<std::string>> hosts = expand_hosts(list);
  if (!hosts) return 0;
  std::ranges::sort(*hosts);
  hosts->erase(std::unique(hosts->begin(), hosts->end()), hosts->end());
  if (hosts->size() > 1) list = fold_hosts_sorted(*hosts);
  return static_cast<uint32_t>(hosts->size());
}

// A list of nodes asks for as many as it names; where --nodes permits fewer, srun takes the first.
OptionResult fit_node_list(JobSpec& job, CommandSet command, std::vector<std::string>& warnings) {
  if (job.distribution == "arbitrary") return {};  // there the order and the repetitions count
  SharedText sorted = job.required_nodes;
  uint32_t count = sort_hosts(sorted);
  if (job.max_nodes != 0 && count > job.max_nodes && job.node_counts.empty()) {
    if (command != kSrun) {
      return submit::refuse(fmt::format("invalid number of nodes (-N {}-{})", count, job.max_nodes),
                            1);
    }
    warnings.push_back(fmt::format(
        "error: Required nodelist includes more nodes than permitted by max-node count ({} > {}). "
        "Eliminating nodes from the nodelist.",
        count, job.max_nodes));
    count = job.max_nodes;
    cut_hosts(job.required_nodes, count);
  }
  sort_hosts(job.required_nodes);
  sort_hosts(job.excluded_nodes);
  job.min_nodes = std::max(job.min_nodes, count);
  return {};
}

// -B alone asks for as many tasks as there are processors of that kind, and so does each of its
// parts where nodes are asked for; srun has its step's tasks counted otherwise.
void follow_node_info(Submission& s, CommandSet command) {
  JobSpec& job = s.job;
  const bool counted = job.max_nodes == 0 || job.max_nodes == job.min_nodes;
  if (!(s.settings.node_info_given || job.min_nodes > 0) || command == kSrun ||
      job.num_tasks != 0 || job.ntasks_per_node != 0 || !counted)
    return;
  const uint64_t nodes = std::max(1U, job.min_nodes);
  uint64_t tasks = nodes;
  bool given = s.settings.node_info_given;
  for (const uint32_t parts : {job.sockets_per_node, job.cores_per_socket, job.threads_per_core}) {
    tasks = std::min<uint64_t>(tasks * std::max(1U, parts), INT32_MAX);
    given = given || parts > 0;
  }
  if (given) job.num_tasks = static_cast<uint32_t>(tasks);
}

// No more nodes than tasks, and no --ntasks-per-node that contradicts both.
void fit_to_tasks(JobSpec& job, CommandSet command, std::vector<std::string>& warnings) {
  if (job.num_tasks == 0) return;
  if (job.min_nodes > job.num_tasks) {
    warnings.push_back(
        fmt::format("Warning: can't run {} processes on {} nodes, setting nnodes to {}",
                    job.num_tasks, job.min_nodes, job.num_tasks));
    job.min_nodes = job.num_tasks;
    job.max_nodes = job.num_tasks;
    job.node_counts = {};
    if (job.distribution != "arbitrary") {
      cut_hosts(job.required_nodes, job.num_tasks);
      sort_hosts(job.required_nodes);
    }
  } else if (job.max_nodes > job.num_tasks && !job.overcommit) {
    job.max_nodes = job.num_tasks;
  }
  if (command == kSrun && job.ntasks_per_node != 0 && job.min_nodes != 0 && job.num_tasks != 0 &&
      job.num_tasks / job.min_nodes != job.ntasks_per_node) {
    if (job.num_tasks > job.ntasks_per_node) {
      warnings.push_back(fmt::format(
          "Warning: can't honor --ntasks-per-node set to {} which doesn't match the requested tasks "
          "{} with the number of requested nodes {}. Ignoring --ntasks-per-node.",
          job.ntasks_per_node, job.num_tasks, job.min_nodes));
    }
    job.ntasks_per_node = 0;
  }
}

// In `kinds`, how many items of the list are GPUs.
uint64_t gpu_count(std::string_view list, size_t* kinds = nullptr) {
  uint64_t sum = 0;
  for (const GresItem& item : gres_items(list).value_or(std::vector<GresItem>())) {
    if (item.name != "gpu") continue;
    sum += item.count;
    if (kinds != nullptr) ++*kinds;
  }
  return sum;
}

// The GPUs that a job asks for in several ways.
struct GpuWishes {
  explicit GpuWishes(const JobSpec& job) {
    size_t kinds = 0;
    for (const auto& [list, count] :
         {std::pair{&job.tres_per_job, &in_job}, std::pair{&job.gres, &on_node},
          std::pair{&job.tres_per_socket, &on_socket}, std::pair{&job.tres_per_task, &of_task}}) {
      *count = gpu_count(*list, &kinds);
      of_one_kind = of_one_kind && kinds <= 1;
      kinds = 0;
    }
  }
  uint64_t in_job = 0, on_node = 0, on_socket = 0, of_task = 0;
  bool of_one_kind = true;  // each way names no more than one
};

// Numbers that do not divide, or do not make up the nodes, sockets and tasks that are asked for.
// Empty: they do.
std::string gpus_left_over(const JobSpec& job, const GpuWishes& gpus) {
  const auto [in_job, on_node, on_socket, of_task, of_one_kind] = gpus;
  const std::string failed = "Failed to validate job spec";
  if (in_job > 0 && on_node > 0) {
    if (in_job % on_node != 0)
      return failed + ", --gpus is not multiple of --gres=gpu/--gpus-per-node";
    const uint64_t nodes = in_job / on_node;
    if (job.min_nodes != 0 &&
        (nodes < job.min_nodes || (job.max_nodes != 0 && nodes > job.max_nodes))) {
      return failed +
             fmt::format(
                 ". Based on --gpu and --gres=gpu/--gpus-per-node required nodes ({}) doesn't fall between "
                 "min_nodes ({}) and max_nodes ({}) boundaries.",
                 nodes, job.min_nodes, job.max_nodes);
    }
  }
  if (on_node > 0 && on_socket > 0) {
    if (on_node % on_socket != 0)
      return failed + ", --gres=gpu/--gpus-per-node not multiple of --gpus-per-socket.";
    if (on_node / on_socket != job.sockets_per_node) {
      return failed +
             ". Based on --gres=gpu/--gpus-per-node and --gpus-per-socket required number of sockets differ from "
             "--sockets-per-node.";
    }
  }
  if (in_job > 0 && of_task > 0) {
    if (in_job % of_task != 0) return failed + ", --gpus not multiple of --gpus-per-task";
    if (job.num_tasks != 0 && in_job / of_task != job.num_tasks) {
      return failed +
             ". Based on --gpus and --gpus-per-task number of requested tasks differ from -n/--ntasks.";
    }
  }
  return {};
}

OptionResult invalid_gres(std::string why) {
  return tl::unexpected<OptionProblem>(
      OptionProblem{{std::move(why), "Invalid generic resource (gres) specification"}, 1, {}});
}

// Whole GPUs and parts of some (shard, mps) in one request.
bool mixes_parts(const JobSpec& job) {
  bool whole = false, parts = false;
  for (const SharedText* list :
       {&job.gres, &job.tres_per_job, &job.tres_per_socket, &job.tres_per_task}) {
    for (const GresItem& item : gres_items(list->view()).value_or(std::vector<GresItem>())) {
      whole = whole || (item.name == "gpu" && item.count > 0);
      parts = parts || (is_shared_gres(item.name.view()) && item.count > 0);
    }
  }
  return whole && parts;
}

// GPUs of a node that are not those of its tasks. Empty: they are.
std::string gpus_beside_tasks(const JobSpec& job, const GpuWishes& gpus) {
  if (gpus.on_node == 0 || gpus.of_task == 0) return {};
  if (gpus.on_node % gpus.of_task != 0) {
    return "Failed to validate job spec, --gres=gpu/--gpus-per-node not multiple of --gpus-per-task.";
  }
  if (job.ntasks_per_node == 0 || job.ntasks_per_node == gpus.on_node / gpus.of_task) return {};
  return "Failed to validate job spec. Based on --gres=gpu/--gpus-per-node and --gpus-per-task requested number of tasks per node "
         "differ from --ntasks-per-node.";
}

// A frequency is a whole GPU's, of which parts are others'.
bool sets_frequency_of_parts(const JobSpec& job) {
  if (job.tres_freq.empty()) return false;
  const auto items = gres_items(job.gres.view()).value_or(std::vector<GresItem>());
  return std::ranges::any_of(items, [](const GresItem& item) {
    return is_shared_gres(item.name.view()) && item.count > 0;
  });
}

// Wishes of GPUs that contradict or lack each other, in an allocation of the command's own.
OptionResult check_gpus(const JobSpec& job) {
  if (mixes_parts(job) || sets_frequency_of_parts(job))
    return submit::refuse("Invalid generic resource (gres) specification", 1);
  const GpuWishes gpus(job);
  if (job.memory_kind == MemoryKind::kPerGpu &&
      gpus.in_job + gpus.on_node + gpus.on_socket + gpus.of_task == 0 && job.ntasks_per_gpu == 0) {
    return invalid_gres(fmt::format(
        "Requested mem_per_tres=gres/gpu:{} but did not request any GPU.", job.memory_mib));
  }
  if (gpus.on_socket > 0 && job.sockets_per_node == 0) {
    return invalid_gres("--gpus-per-socket option requires --sockets-per-node specification");
  }
  if (gpus.in_job > 0 && std::max({gpus.on_node, gpus.on_socket, gpus.of_task}) > gpus.in_job) {
    return invalid_gres(
        "Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket");
  }
  if (gpus.on_node > 0 && gpus.on_socket > gpus.on_node)
    return invalid_gres("Failed to ensure --gpus >= --gpus-per-task");
  if (gpus.of_task > 0 && gpus.in_job == 0 && job.num_tasks == 0 && job.ntasks_per_node == 0 &&
      job.min_nodes == 0) {
    return invalid_gres(
        "Failed to validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is not allowed.");
  }
  if (job.ntasks_per_gpu > 0 && gpus.in_job + gpus.on_node + gpus.on_socket == 0) {
    if (job.num_tasks == 0 && (job.min_nodes == 0 || job.min_nodes != job.max_nodes)) {
      return invalid_gres(
          "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a "
          "node/ntask specification");
    }
    if (job.num_tasks % job.ntasks_per_gpu != 0) {
      return invalid_gres(
          "Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-gpu.");
    }
  }
  if (!gpus.of_one_kind) return {};
  if (std::string why = gpus_beside_tasks(job, gpus); !why.empty())
    return invalid_gres(std::move(why));
  if (std::string why = gpus_left_over(job, gpus); !why.empty())
    return invalid_gres(std::move(why));
  return {};
}

// Of --tres-per-task. A step in a job has what the job holds.
void hold_licenses_of_tasks(JobSpec& job) {
  job.licenses = follow_tasks(job.licenses, {}, licenses_of_tasks(job));
}

OptionResult check_exclusions(const Submission& s) {
  if (s.job.deadline != kNoTime && s.job.deadline < s.job.begin) {
    return submit::refuse("Incompatible begin and deadline time specification", 1);
  }
  for (const auto& [given, option] :
       {std::pair{!gres_items(s.job.tres_per_task).value_or(std::vector<GresItem>()).empty(),
                  "--gpus-per-task"},
        std::pair{s.job.ntasks_per_node != 0, "--ntasks-per-node"}}) {
    if (!given || s.job.ntasks_per_gpu == 0) continue;
    return submit::refuse(
        fmt::format(
            "fatal: {} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU",
            option),
        1);
  }
  if (s.job.core_spec != UINT32_MAX && s.job.thread_spec != UINT32_MAX) {
    return submit::refuse("fatal: -S/--core-spec and --thread-spec options are mutually exclusive",
                          1);
  }
  if (!s.job.cpus_per_gpu.empty() && s.job.cpus_per_task != 0) {
    return invalid_gres("--cpus-per-gpu is mutually exclusive with --cpus-per-task");
  }
  if (s.job.distribution == "arbitrary" && s.job.required_nodes.empty()) {
    return submit::refuse(
        "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option",
        1);
  }
  if (s.settings.no_allocate && s.job.required_nodes.empty()) {
    return submit::refuse("must specify a node list with -Z, --no-allocate.", 1);
  }
  return {};
}

// What hints stand for, where nothing else was said. Of several the last one tells how many threads
// of a core serve.
void follow_hint(Submission& s) {
  const std::vector<std::string> hints = split_list(s.job.hint.view());
  if (hints.empty()) return;
  const auto says = [&hints](std::string_view hint) {
    return std::ranges::any_of(hints,
                               [hint](const std::string& said) { return iequals(said, hint); });
  };
  JobSpec& job = s.job;
  const bool whole_cores = says("compute_bound") || says("memory_bound");
  if (!iequals(hints.back(), "multithread") && job.threads_per_core == 0) job.threads_per_core = 1;
  if (says("memory_bound") && job.cores_per_socket == 0) job.cores_per_socket = 1;
  if (s.step.cpu_bind.empty()) s.step.cpu_bind = whole_cores ? "cores" : "threads";
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

namespace {

std::vector<std::string> variables_in(std::string_view terms, CommandSet command) {
  std::vector<std::string> names;
  for (const std::string& term : split(terms, ' ')) {
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

}  // namespace

std::vector<std::string> option_variables(const SubmitOption& option, CommandSet command) {
  return variables_in(option.environment, command);
}

std::vector<std::string> variables_unset_if_empty(const SubmitOption& option, CommandSet command) {
  return variables_in(option.unset_if_empty, command);
}

bool flag_is_on(std::string_view text) {
  return !(text == "0" || iequals(text, "no") || iequals(text, "off") || iequals(text, "false"));
}

OptionResult finish_submission(Submission& s, CommandSet command,
                               std::vector<std::string>& warnings) {
  if (OptionResult fits = check_exclusions(s); !fits) return fits;
  follow_hint(s);
  const bool own_job = command != kSrun || (s.settings.job_id == 0 && !s.settings.no_allocate);
  JobSpec& job = s.job;
  if (OptionResult fits = fit_node_list(job, command, warnings); !fits) return fits;
  follow_node_info(s, command);
  if (own_job) {
    if (OptionResult fits = check_gpus(s.job); !fits) return fits;
  }
  fit_to_tasks(job, command, warnings);
  // As many as asked for on each node: sbatch and salloc leave it to the nodes when only that is
  // given.
  if (job.num_tasks == 0 && job.ntasks_per_node != 0 && job.min_nodes != 0 &&
      job.min_nodes == job.max_nodes) {
    job.num_tasks = static_cast<uint32_t>(
        std::min<uint64_t>(uint64_t{job.min_nodes} * job.ntasks_per_node, INT32_MAX));
  }
  if (own_job) hold_licenses_of_tasks(job);
  if (command != kSrun) return {};
  if (s.settings.exclusive_step && s.step.overlap == OverlapKind::kOverlap) {
    return submit::refuse("--exclusive and --overlap are mutually exclusive", 1);
  }
  if (s.step.whole && (s.step.exact || s.settings.exclusive_step)) {
    return submit::refuse("--exact and --whole are mutually exclusive.", 1);
  }
  // Without a number of tasks, a job of its own is for a task that has the node.
  if (s.settings.exclusive_step && (s.settings.job_id != 0 || job.num_tasks != 0)) {
    s.settings.exact_by_exclusive = !s.step.exact;
    s.step.exact = true;
    if (s.step.overlap == OverlapKind::kDefault) s.step.overlap = OverlapKind::kExclusive;
  }
  return {};
}

void follow_config(Submission& s, const ClusterConfig& config, std::vector<std::string>& warnings) {
  JobSpec& job = s.job;
  const std::vector<std::string>& scheduler = config.scheduler_parameters;
  if (!s.settings.wait_all_nodes) {
    job.wait_all_nodes =
        has_option(scheduler, job.batch ? "sbatch_wait_nodes" : "salloc_wait_nodes");
  }
  if (!s.settings.delay_boot_given) {
    job.delay_boot_seconds = minutes_in_seconds(
        parse_minutes(option_value(scheduler, "delay_boot").value_or("")).value_or(0));
  }
  const bool for_step =
      s.settings.job_id != 0 || !has_option(config.launch_parameters, "srun_exclusive_allocation");
  if (s.settings.exact_by_exclusive && !for_step) {
    s.step.exact = false;
    if (s.step.overlap == OverlapKind::kExclusive) s.step.overlap = OverlapKind::kDefault;
  }
  if (config.allow_spec_resources_usage) return;
  for (auto [option, value] :
       {std::pair{"-S", &job.core_spec}, std::pair{"--thread-spec", &job.thread_spec}}) {
    if (*value == UINT32_MAX) continue;
    warnings.push_back(fmt::format(
        "error: Ignoring {} since it's not allowed by configuration (AllowSpecResourcesUsage = No)",
        option));
    *value = UINT32_MAX;
  }
}

OptionResult settle_cpu_frequency(Submission& s, const std::vector<std::string>& governors) {
  const auto wanted = parse_cpu_frequency(s.job.cpu_freq.view());
  if (!wanted) return {};  // there is none
  if (wanted->governor != kNoFrequency && !allows_governor(governors, wanted->governor)) {
    return tl::unexpected<OptionProblem>(OptionProblem{
        {fmt::format("governor of {} is not allowed in slurm.conf", s.job.cpu_freq.view()),
         "Invalid --cpu-freq argument"},
        255,
        {}});
  }
  s.job.cpu_freq = s.step.cpu_freq = cpu_frequency_text(*wanted);
  return {};
}

Status check_gres(const JobSpec& job, const std::vector<std::string>& types) {
  const auto is_known = [&types](std::string_view name) {
    return std::ranges::find(types, name) != types.end();
  };
  if (!job.cpus_per_gpu.empty() && !is_known("gpu")) return failure(ErrorCode::kInvalidGres);
  for (const SharedText* text :
       {&job.gres, &job.tres_per_job, &job.tres_per_socket, &job.tres_per_task}) {
    for (std::string wanted : split_list(text->view())) {
      if (wanted.starts_with("gres/") || wanted.starts_with("gres:")) wanted.erase(0, 5);
      const std::string name = wanted.substr(0, wanted.find_first_of(":="));
      if (name.empty()) return failure(ErrorCode::kInvalidTres);
      if (wanted.ends_with(":0") || wanted.ends_with("=0")) continue;  // none of it
      if (name == "cpu" || name == "none" || name == "mem" || name.starts_with("license")) continue;
      if (!is_known(name)) return failure(ErrorCode::kInvalidGres);
    }
  }
  return {};
}

namespace {

// Tasks that were promised GPUs of their own see no others.
std::string usual_gpu_bind(const JobSpec& job) {
  if (job.ntasks_per_gpu != 0) return fmt::format("gres/gpu:single:{}", job.ntasks_per_gpu);
  const uint64_t each = gpu_count(job.tres_per_task);
  return each == 0 ? std::string() : fmt::format("gres/gpu:per_task:{}", each);
}

}  // namespace

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
  if (step.gres != "none") step.gres = job.gres;
  step.tres_per_task = job.tres_per_task;
  step.tres_per_step = job.tres_per_job;
  step.tres_per_socket = job.tres_per_socket;
  step.ntasks_per_gpu = job.ntasks_per_gpu;
  step.cpus_per_gpu = job.cpus_per_gpu;
  step.tres_bind = job.tres_bind.empty() ? SharedText(usual_gpu_bind(job)) : job.tres_bind;
  step.tres_freq = job.tres_freq;
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
