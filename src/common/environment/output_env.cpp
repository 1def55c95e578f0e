#include "common/environment/output_env.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "common/base/bounded.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/step_part.hpp"
#include "common/base/text.hpp"
#include "common/syntax/distribution.hpp"
#include "common/syntax/gpu_frequency.hpp"
#include "common/environment/gres_env.hpp"
#include "common/syntax/told_cpus.hpp"
#include "common/syntax/mpi_types.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice {
namespace {

void set_if(Environment& out, std::string_view name, std::string_view value) {
  if (!value.empty()) out.set(name, value);
}
void set_number(Environment& out, std::string_view name, uint64_t value) {
  out.set(name, std::to_string(value));
}
void set_number_if(Environment& out, std::string_view name, uint64_t value) {
  if (value != 0) set_number(out, name, value);
}

// A task that has no MPI server must not take one of the step that started it for its own.
void set_mpi_variables(const StepSpec& step, Environment& out) {
  if (mpi_kind(step.mpi) != MpiKind::kNone) return out.set("SLURM_MPI_TYPE", step.mpi.view());
  if (mpi_kind(out.get("SLURM_MPI_TYPE")) != MpiKind::kNone) out.unset("SLURM_MPI_TYPE");
  for (const std::string_view name :
       {"PMI_FD", "PMI_JOBID", "PMI_RANK", "PMI_SIZE", "PMI_SPAWNED", "PMIX_NAMESPACE", "PMIX_RANK",
        "PMIX_SERVER_URI2", "PMIX_SERVER_URI21", "PMIX_SERVER_URI3", "PMIX_SERVER_URI4",
        "PMIX_SERVER_URI41"})
    out.unset(name);
}

std::string user_or_number(std::string_view name, uint32_t id) {
  return name.empty() ? std::to_string(id) : std::string(name);
}

// `number` of the generic resource in a list such as `gres/gpu:a100:2,gres/fan:1`; the text after
// the name, as it was typed. Empty when the list has none.
std::string gpu_request(std::string_view list) {
  std::string out;
  while (!list.empty()) {
    std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    for (const std::string_view prefix : {"gres/", "gres:"}) {
      if (item.starts_with(prefix)) item.remove_prefix(prefix.size());
    }
    if (item != "gpu" && !item.starts_with("gpu:") && !item.starts_with("gpu=")) continue;
    if (!out.empty()) out += ',';
    out += item.size() > 4 ? item.substr(4) : "1";
  }
  return out;
}

// "cpu=2,gres/gpu:1"
std::string tres_per_task(uint32_t cpus, std::string_view gres) {
  std::string out = cpus == 0 ? std::string() : fmt::format("cpu={}", cpus);
  if (!gres.empty()) out.append(out.empty() ? "" : ",").append(gres);
  return out;
}

// "plane=2" is told in two variables.
void set_distribution(std::string_view given, Environment& out) {
  const std::string told = told_distribution(given);
  const std::string_view distribution = told;
  const size_t equals = distribution.find('=');
  out.set("SLURM_DISTRIBUTION", distribution.substr(0, equals));
  if (equals != std::string_view::npos)
    out.set("SLURM_DIST_PLANESIZE", distribution.substr(equals + 1));
}

// All memory of the nodes is not told.
void set_memory(const JobSpec& spec, Environment& out) {
  if (spec.memory_mib == 0) return;
  switch (spec.memory_kind) {
    case MemoryKind::kPerNode: set_number(out, "SLURM_MEM_PER_NODE", spec.memory_mib); break;
    case MemoryKind::kPerCpu: set_number(out, "SLURM_MEM_PER_CPU", spec.memory_mib); break;
    case MemoryKind::kPerGpu: set_number(out, "SLURM_MEM_PER_GPU", spec.memory_mib); break;
    case MemoryKind::kDefault: break;
  }
}

void set_task_count(uint64_t tasks, Environment& out) {
  set_number(out, "SLURM_NTASKS", tasks);
  set_number(out, "SLURM_NPROCS", tasks);
}

// Options of the job's submission that its own sruns must see again.
void set_option_variables(const JobSpec& spec, Environment& out) {
  if (spec.num_tasks != 0) set_task_count(spec.num_tasks, out);
  if (spec.cpus_per_task != 0) { set_number(out, "SLURM_CPUS_PER_TASK", spec.cpus_per_task); }
  set_if(out, "SLURM_TRES_PER_TASK", tres_per_task(spec.cpus_per_task, spec.tres_per_task));
  set_number_if(out, "SLURM_NTASKS_PER_NODE", spec.ntasks_per_node);
  set_number_if(out, "SLURM_NTASKS_PER_SOCKET", spec.ntasks_per_socket);
  set_number_if(out, "SLURM_NTASKS_PER_CORE", spec.ntasks_per_core);
  set_number_if(out, "SLURM_NTASKS_PER_GPU", spec.ntasks_per_gpu);
  set_number_if(out, "SLURM_THREADS_PER_CORE", spec.threads_per_core);
  set_memory(spec, out);
  set_if(out, "SLURM_CPUS_PER_GPU", spec.cpus_per_gpu);
  set_if(out, "SLURM_GPUS", gpu_request(spec.tres_per_job));
  set_if(out, "SLURM_GPUS_PER_SOCKET", gpu_request(spec.tres_per_socket));
  set_if(out, "SLURM_GPUS_PER_TASK", gpu_request(spec.tres_per_task));
  if (!spec.distribution.empty()) set_distribution(spec.distribution.view(), out);
  set_if(out, "SLURM_HINT", spec.hint);
  set_if(out, "SLURM_PROFILE", spec.profile);
  set_if(out, "SLURM_NETWORK", spec.network);
  set_if(out, "SLURM_ACCTG_FREQ", spec.acctg_frequency);
  set_if(out, "SLURM_CPU_FREQ_REQ", spec.cpu_freq);
  set_if(out, "SLURM_CONTAINER", spec.container);
  set_if(out, "SLURM_TRES_BIND", spec.tres_bind);
  if (const size_t at = spec.tres_bind.view().find("gpu:"); at != std::string_view::npos) {
    out.set("SLURM_GPU_BIND", spec.tres_bind.view().substr(at + 4));
  }
  set_if(out, "SLURM_GPU_FREQ", gpu_frequency_in(spec.tres_freq));
  if (spec.overcommit) out.set("SLURM_OVERCOMMIT", "1");
  out.set("SLURM_OOM_KILL_STEP", spec.oom_kill_step == Toggle::kYes ? "1" : "0");
}

void set_array_variables(const JobFacts& job, Environment& out) {
  if (job.array == nullptr || job.array->task == kNoTask) return;
  set_number(out, "SLURM_ARRAY_JOB_ID", job.array->array_job);
  set_number(out, "SLURM_ARRAY_TASK_ID", job.array->task);
  set_number(out, "SLURM_ARRAY_TASK_COUNT", job.array->task_count);
  set_number(out, "SLURM_ARRAY_TASK_MIN", job.array->task_min);
  set_number(out, "SLURM_ARRAY_TASK_MAX", job.array->task_max);
  set_number(out, "SLURM_ARRAY_TASK_STEP", job.array->task_step);
}

// What every kind of process of a job finds.
void set_job_variables(const JobFacts& job, Environment& out) {
  const bool in_job = !is_outside_jobs(job.job);  // else: srun -Z
  if (in_job) {
    set_number(out, "SLURM_JOB_ID", job.het_leader != kNoJob ? job.het_leader : job.job);
    set_number(out, "SLURM_JOBID", job.het_leader != kNoJob ? job.het_leader : job.job);
  }
  out.set("SLURM_JOB_NODELIST", job.node_list);
  if (in_job) {
    set_number(out, "SLURM_JOB_NUM_NODES", job.cpus.size());
    out.set("SLURM_JOB_CPUS_PER_NODE", fold_counts(job.cpus));
    out.set("SLURM_JOB_PARTITION", job.partition);
  }
  out.set("SLURM_CLUSTER_NAME", job.cluster);
  set_if(out, "SLURM_JOB_ACCOUNT", job.account);
  set_if(out, "SLURM_JOB_QOS", job.qos);
  set_if(out, "SLURM_JOB_RESERVATION", job.reservation);
  set_if(out, "SLURM_JOB_LICENSES", job.spec->licenses);
  if (job.start != kNoTime) {
    out.set("SLURM_JOB_START_TIME", std::to_string(to_seconds(job.start)));
  }
  if (job.end != kNoTime && job.end < kNever) {
    out.set("SLURM_JOB_END_TIME", std::to_string(to_seconds(job.end)));
  }
}

void set_owner_variables(const JobFacts& job, Environment& out) {
  set_number(out, "SLURM_JOB_UID", job.spec->uid);
  set_number(out, "SLURM_JOB_GID", job.spec->gid);
  out.set("SLURM_JOB_USER", user_or_number(job.spec->user_name, job.spec->uid));
  out.set("SLURM_JOB_EXCLUSIVE", job.spec->sharing == Sharing::kExclusive ? "YES" : "NO");
  out.set("SLURM_JOB_OVERSUBSCRIBE", job.spec->sharing == Sharing::kOversubscribe ? "YES" : "NO");
}

void set_node_variables(const NodeFacts& node, Environment& out) {
  out.set("SLURMD_NODENAME", node.name);
  set_number(out, "SLURM_NODEID", node.index);
  out.set("SLURM_TOPOLOGY_ADDR", node.name);
  out.set("SLURM_TOPOLOGY_ADDR_PATTERN", "node");
  set_if(out, "SLURM_CONF", node.config_path);
}

// What is counted on each node, in the order of the nodes' names; a node that is in several
// components counts once.
class CountsByNode {
 public:
  void add(const std::string& node, uint32_t count) {
    if (!counts_.contains(node)) names_.push_back(node);
    counts_[node] += count;
  }
  [[nodiscard]] std::string list() const { return fold_hosts_sorted(names_); }
  [[nodiscard]] std::vector<uint32_t> counts() const {
    std::vector<uint32_t> out;
    for (const std::string& name : expand_hosts(list()).value_or(names_))
      out.push_back(counts_.at(name));
    return out;
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, uint32_t> counts_;
};

// A step in several components sees their nodes as those of one job.
void join_components(const protocol::StepLaunch& launch, JobFacts& job) {
  CountsByNode cpus;
  for (const HetComponent& component : launch.components) {
    for (size_t i = 0; i < component.nodes.size(); ++i)
      cpus.add(component.nodes[i], component.cpus[i]);
  }
  job.node_list = cpus.list();
  job.cpus = cpus.counts();
}

// The tasks on each node of the whole step, and the nodes.
CountsByNode count_tasks(const StepLayout& layout) {
  CountsByNode tasks;
  for (const StepNode& part : layout.nodes)
    tasks.add(part.name, static_cast<uint32_t>(part.tasks.size()));
  return tasks;
}

JobFacts facts_of_component(const HetComponent& component) {
  JobFacts facts;
  facts.job = component.job;
  facts.spec = component.spec;
  facts.node_list = component.node_list;
  facts.cpus = component.cpus;
  facts.partition = component.partition;
  facts.account = component.spec->account.str();
  facts.qos = component.spec->qos.str();
  facts.reservation = component.spec->reservation.str();
  return facts;
}

// As Slurm prints it: the named steps are small negative numbers.
std::string step_number(StepNumber step) {
  return std::to_string(static_cast<int32_t>(number_of_step(step)));
}

}  // namespace

JobFacts facts_of(const protocol::StepLaunch& launch) {
  JobFacts facts;
  facts.job = launch.key.id.job;
  facts.spec = launch.job_spec;
  // the next run of a job of scrontab is no restart
  facts.restart = launch.job_spec->cron.empty() ? launch.key.restart : 0;
  facts.array = launch.array;
  if (launch.allocation != nullptr && !launch.allocation->node_list.empty()) {
    facts.node_list = launch.allocation->node_list;
  } else {
    std::vector<std::string> names;
    for (const auto& node : launch.allocation_nodes) names.push_back(node.name);
    facts.node_list = fold_hosts(names);
  }
  facts.allocation = launch.allocation;
  facts.cpus = launch.allocation_cpus;
  facts.cluster = launch.cluster_name;
  facts.partition = launch.partition;
  facts.account = launch.account;
  facts.qos = launch.qos;
  facts.reservation = launch.reservation;
  facts.start = launch.job_start;
  facts.end = launch.job_end;
  facts.het_leader = launch.het_leader;
  return facts;
}

std::vector<uint32_t> tasks_per_node(const JobSpec& spec, const std::vector<uint32_t>& cpus) {
  const uint32_t cpus_per_task = std::max(spec.cpus_per_task, 1U);
  std::vector<uint32_t> room;
  room.reserve(cpus.size());
  for (const uint32_t count : cpus) {
    room.push_back(spec.ntasks_per_node != 0 ? spec.ntasks_per_node
                                             : std::max(count / cpus_per_task, 1U));
  }
  if (spec.num_tasks == 0 || spec.ntasks_per_node != 0 || room.empty()) return room;
  std::vector<uint32_t> tasks(room.size(), 0);
  uint32_t left = spec.num_tasks;
  while (left > 0) {
    const uint32_t before = left;
    for (size_t i = 0; i < room.size() && left > 0; ++i) {
      if (tasks[i] >= room[i]) continue;
      ++tasks[i];
      --left;
    }
    // more tasks than CPUs (--overcommit): all nodes take one more
    if (left == before) std::for_each(room.begin(), room.end(), [](uint32_t& more) { ++more; });
  }
  return tasks;
}

void set_allocation_variables(const JobFacts& job, Environment& out) {
  set_job_variables(job, out);
  out.set("SLURM_NODELIST", job.node_list);
  set_number(out, "SLURM_NNODES", job.cpus.size());
  out.set("SLURM_TASKS_PER_NODE", fold_counts(tasks_per_node(*job.spec, job.cpus)));
  out.set("SLURM_JOB_NAME", job.spec->name.view());
  if (job.spec->num_tasks == 0 && job.spec->ntasks_per_node != 0)  // as many as its nodes take
    set_task_count(bounded_product(uint64_t{job.cpus.size()}, job.spec->ntasks_per_node), out);
  set_option_variables(*job.spec, out);
  out.set_default("SLURM_SUBMIT_DIR", job.spec->work_dir.view());
  out.set_default("SLURM_SUBMIT_HOST", job.spec->submit_host.view());
  if (job.allocation != nullptr && !job.allocation->nodes.empty()) {
    set_if(out, "SLURM_JOB_GPUS", number_list(gpu_units(job.allocation->nodes.front().gres)));
  }
  set_if(out, "SLURM_JOB_DEPENDENCY", job.spec->dependency);
}

void set_het_variables(const std::vector<JobFacts>& components, Environment& out) {
  for (size_t i = 0; i < components.size(); ++i) {
    Environment own;
    set_allocation_variables(components[i], own);
    for (const std::string_view common :
         {"SLURM_CLUSTER_NAME", "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST", "SLURM_OOM_KILL_STEP",
          "SLURM_JOB_START_TIME", "SLURM_JOB_END_TIME"}) {
      own.unset(common);
    }
    for (const std::string& entry : own.entries()) {
      const std::string name = entry.substr(0, entry.find('='));
      out.set(fmt::format("{}_HET_GROUP_{}", name, i), own.get(name));
      out.set(fmt::format("{}_PACK_GROUP_{}", name, i), own.get(name));
    }
  }
  set_number(out, "SLURM_HET_SIZE", components.size());
  set_number(out, "SLURM_PACK_SIZE", components.size());
}

namespace {

// What the job has on the node of its script, which need not be its first (--batch).
void set_host_variables(const protocol::StepLaunch& launch, Environment& out) {
  const StepNode here = launch.layout.nodes.empty() ? StepNode{} : launch.layout.nodes.front();
  uint32_t cpus = here.cpus;
  for (size_t i = 0; launch.allocation != nullptr && i < launch.allocation->nodes.size(); ++i) {
    const NodeAllocation& part = launch.allocation->nodes[i];
    if (part.node == here.node) cpus = std::min(cpus, told_cpus(*launch.job_spec, part));
  }
  set_number(out, "SLURM_CPUS_ON_NODE", std::max(cpus, 1U));
  out.unset("SLURM_JOB_GPUS");
  set_if(out, "SLURM_JOB_GPUS", number_list(gpu_units(here.gres)));
}

}  // namespace

void set_batch_variables(const protocol::StepLaunch& launch, const NodeFacts& node,
                         Environment& out) {
  const JobFacts job = facts_of(launch);
  set_allocation_variables(job, out);
  if (!launch.components.empty()) {
    std::vector<JobFacts> components;
    for (const HetComponent& component : launch.components)
      components.push_back(facts_of_component(component));
    set_het_variables(components, out);
  }
  set_owner_variables(job, out);
  set_array_variables(job, out);
  set_node_variables(node, out);
  set_if(out, "SLURM_EXPORT_ENV", job.spec->export_list);
  if (job.spec->get_user_env) out.set("SLURM_GET_USER_ENV", "1");
  set_number_if(out, "SLURM_RESTART_COUNT", job.restart);
  set_host_variables(launch, out);
  out.set("SLURM_STEP_ID", step_number(kBatchStep));
  out.set("SLURM_STEPID", step_number(kBatchStep));
  out.set("SLURM_GTIDS", "0");
  out.set("SLURM_PROCID", "0");
  out.set("SLURM_LOCALID", "0");
  out.set_default("SLURM_PRIO_PROCESS", "0");
  out.set("ENVIRONMENT", "BATCH");
  out.set("HOSTNAME", node.name);
}

namespace {

// How the tasks' own srun is reached, and its terminal.
void set_srun_variables(const StepSpec& step, Environment& out) {
  if (step.io.port != 0) {
    out.set("SLURM_LAUNCH_NODE_IPADDR", step.io.host);
    out.set("SLURM_SRUN_COMM_HOST", step.io.host);
    set_number(out, "SLURM_SRUN_COMM_PORT", step.io.port);
    set_number(out, "SLURM_STEP_LAUNCHER_PORT", step.io.port);
    if (step.pty) set_number(out, "SLURM_PTY_PORT", step.io.port);
  }
  if (step.pty && step.pty_columns != 0) {
    set_number(out, "SLURM_PTY_WIN_COL", step.pty_columns);
    set_number(out, "SLURM_PTY_WIN_ROW", step.pty_rows);
  }
}

}  // namespace

void set_step_variables(const protocol::StepLaunch& launch, const NodeFacts& node,
                        Environment& out) {
  JobFacts job = facts_of(launch);
  // parts of a step may be all in one job
  if (!launch.components.empty()) join_components(launch, job);
  const StepSpec& step = *launch.step;
  const bool inside = out.has("SLURM_JOB_ID");  // srun was started in the job, not the job for it
  set_job_variables(job, out);
  set_owner_variables(job, out);
  set_array_variables(job, out);
  set_node_variables(node, out);
  out.set("SLURM_JOB_GROUP", user_or_number(launch.group_name, job.spec->gid));
  out.set_default("SLURM_JOB_NAME", job.spec->name.view());
  out.set("SLURM_NODELIST", job.node_list);
  set_number_if(out, "SLURM_RESTART_COUNT", job.restart);

  const StepLayout& whole = whole_layout(launch);
  std::vector<uint32_t> tasks;
  std::string step_nodes = whole.node_list;
  if (launch.world == nullptr) {
    for (const StepNode& part : whole.nodes)
      tasks.push_back(static_cast<uint32_t>(part.tasks.size()));
  } else {
    const CountsByNode counted = count_tasks(whole);
    tasks = counted.counts();
    step_nodes = counted.list();
  }
  const StepNode& here = launch.layout.nodes[node.index];
  if (step.interactive) {
    // salloc's shell: what it starts is sized by the job, not by this one task
    set_allocation_variables(job, out);
  } else {
    set_number(out, "SLURM_NNODES", tasks.size());
    set_task_count(whole.num_tasks, out);
    out.set("SLURM_TASKS_PER_NODE", fold_counts(tasks));
  }
  out.set("SLURM_STEP_ID", step_number(launch.key.id.step));
  out.set("SLURM_STEPID", step_number(launch.key.id.step));
  out.set("SLURM_STEP_NODELIST", step_nodes);
  set_number(out, "SLURM_STEP_NUM_NODES", tasks.size());
  set_number(out, "SLURM_STEP_NUM_TASKS", whole.num_tasks);
  if (launch.first_node != 0) set_number(out, "SLURM_NODEID", launch.first_node + node.index);
  out.set("SLURM_STEP_TASKS_PER_NODE", fold_counts(tasks));
  set_number(out, "SLURM_CPUS_ON_NODE", here.cpus != 0 ? here.cpus : here.tasks.size());
  out.set("SLURM_GTIDS", fmt::format("{}", fmt::join(here.tasks, ",")));

  if (step.cpus_per_task != 0) { set_number(out, "SLURM_CPUS_PER_TASK", step.cpus_per_task); }
  set_if(out, "SLURM_TRES_PER_TASK", tres_per_task(step.cpus_per_task, step.tres_per_task));
  set_number_if(out, "SLURM_NTASKS_PER_NODE", step.ntasks_per_node);
  if (!step.distribution.empty()) set_distribution(step.distribution.view(), out);
  else if (inside && !step.interactive)
    out.set("SLURM_DISTRIBUTION", whole.num_tasks <= tasks.size() ? "cyclic" : "block");
  if (step.distribution == "arbitrary") out.set("SLURM_ARBITRARY_NODELIST", step.node_list.view());
  if (step.label) out.set("SLURM_LABELIO", "1");
  set_mpi_variables(step, out);
  set_if(out, "SLURM_CPU_FREQ_REQ", step.cpu_freq);
  set_if(out, "SLURMD_TRES_FREQ", step.tres_freq);
  set_if(out, "SLURM_MEM_BIND", step.mem_bind);
  if (step.overcommit) out.set("SLURM_OVERCOMMIT", "1");
  set_srun_variables(step, out);
  out.set("SLURM_UMASK", fmt::format("{:04o}", step.umask));
  out.set_default("SLURM_SUBMIT_DIR", step.work_dir.view());
  out.set_default("SLURM_SUBMIT_HOST", job.spec->submit_host.view());
  out.set_default("SLURM_PRIO_PROCESS", "0");
  if (step.oom_kill_step != Toggle::kDefault) {
    out.set("SLURM_OOM_KILL_STEP", step.oom_kill_step == Toggle::kYes ? "1" : "0");
  }
  out.set_default("SLURM_OOM_KILL_STEP", "0");
  set_number(out, "SLURMD_DEBUG", step.slurmd_debug != 0 ? step.slurmd_debug : 2);
}

void set_task_variables(const StepNode& node, uint32_t local_task, Environment& out) {
  set_number(out, "SLURM_PROCID", node.tasks[local_task]);
  set_number(out, "SLURM_LOCALID", local_task);
}

void set_limit_variables(const std::vector<uint64_t>& limits, Environment& out) {
  for (const std::string_view name : kLimitNames) {
    const auto place = static_cast<size_t>(rlimit_number(name).value_or(0)) * 2;
    if (place + 1 >= limits.size() || limits[place] > limits[place + 1]) continue;  // not sent
    set_number(out, fmt::format("SLURM_RLIMIT_{}", name), limits[place]);
  }
}

void set_script_variables(const JobFacts& job, const NodeFacts& node, std::string_view context,
                          Environment& out) {
  set_job_variables(job, out);
  // a component's own: its nodes are prepared and cleaned for it
  set_number(out, "SLURM_JOB_ID", job.job);
  set_number(out, "SLURM_JOBID", job.job);
  set_owner_variables(job, out);
  set_array_variables(job, out);
  out.set("SLURMD_NODENAME", node.name);
  set_if(out, "SLURM_CONF", node.config_path);
  out.set("SLURM_SCRIPT_CONTEXT", context);
  set_number(out, "SLURM_JOB_RESTART_COUNT", job.restart);
  out.set("SLURM_JOB_WORK_DIR", job.spec->work_dir.view());
  out.set("SLURM_NODELIST", job.node_list);
  set_number(out, "SLURM_JOB_NTASKS", std::max(job.spec->num_tasks, 1U));
  set_number(out, "SLURM_UID", job.spec->uid);
  set_if(out, "SLURM_JOB_NAME", job.spec->name);
  set_if(out, "SLURM_JOB_COMMENT", job.spec->comment);
  set_if(out, "SLURM_JOB_CONSTRAINTS", job.spec->constraint);
  set_if(out, "SLURM_JOB_EXTRA", job.spec->extra);
  set_if(out, "SLURM_JOB_GROUP", job.spec->group_name);
  set_if(out, "SLURM_JOB_STDERR", job.spec->std_err);
  set_if(out, "SLURM_JOB_STDIN", job.spec->std_in);
  set_if(out, "SLURM_JOB_STDOUT", job.spec->std_out);
  if (!context.starts_with("epilog")) return;
  out.set("SLURM_JOB_EXIT_CODE", std::to_string(job.exit_status));
  out.set("SLURM_JOB_EXIT_CODE2",
          fmt::format("{}:{}", (job.exit_status >> 8) & 0xff, job.exit_status & 0x7f));
  out.set("SLURM_JOB_DERIVED_EC", std::to_string(job.derived_exit_status));
}

}  // namespace sluice
