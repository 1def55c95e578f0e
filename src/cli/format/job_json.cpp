// See job_json.hpp. The order of keys is the parser's.
#include "cli/format/job_json.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/model/gres.hpp"
#include "common/syntax/cpu_frequency.hpp"
#include "common/syntax/file_pattern.hpp"
#include "common/names/job_states.hpp"

namespace sluice {
namespace {

Json maybe(uint32_t value) { return value == 0 ? json_unset() : json_number(value); }

// All cores of the node, socket by socket; of a node that is not known, the job's cores as if they
// were of one socket.
Json socket_list(const NodeAllocation& node, const NodeShape* shape) {
  const auto core = [](size_t index, bool held) {
    return Json{{"index", index}, {"status", {held ? "ALLOCATED" : "UNALLOCATED"}}};
  };
  Json sockets = Json::array();
  if (shape == nullptr) {
    Json cores = Json::array();
    node.cores.for_each([&](size_t index) { cores.push_back(core(index, true)); });
    sockets.push_back({{"index", 0}, {"cores", cores}});
    return sockets;
  }
  for (size_t socket = 0; socket < shape->sockets; ++socket) {
    Json cores = Json::array();
    for (size_t i = 0; i < shape->cores_per_socket; ++i) {
      cores.push_back(core(i, node.cores.test(socket * shape->cores_per_socket + i)));
    }
    sockets.push_back({{"index", socket}, {"cores", cores}});
  }
  return sockets;
}

struct StepUse {
  uint32_t cpus = 0;
  uint64_t memory_mib = 0;
};

// What of its share of a node the job's steps use. The batch script and its like use none of it.
StepUse use_of_steps(const Job& job, const NodeAllocation& node) {
  StepUse sum;
  for (const auto& step : job.steps) {
    if (step->id.step > kMaxNormalStep || step->layout == nullptr) continue;
    for (const StepNode& part : step->layout->nodes) {
      if (part.node != node.node) continue;
      sum.cpus += part.cpus;
      sum.memory_mib += part.memory_mib;
    }
  }
  return {std::min(sum.cpus, node.cpus), std::min(sum.memory_mib, node.memory_mib)};
}

Json node_allocations(const Job& job, const NodeShapes& shapes) {
  const auto names = expand_hosts(job.allocation->node_list);
  Json out = Json::array();
  for (size_t i = 0; i < job.allocation->nodes.size(); ++i) {
    const NodeAllocation& node = job.allocation->nodes[i];
    const std::string name = names && i < names->size() ? (*names)[i] : "";
    const auto shape = shapes.find(name);
    const StepUse used = use_of_steps(job, node);
    out.push_back(
        {{"index", i},
         {"name", name},
         {"cpus", {{"count", node.cpus}, {"used", used.cpus}}},
         {"memory", {{"used", used.memory_mib}, {"allocated", node.memory_mib}}},
         {"sockets", socket_list(node, shape != shapes.end() ? &shape->second : nullptr)}});
  }
  return out;
}

Json resources(const JobView& view, const NodeShapes& shapes) {
  const auto& allocation = view.job().allocation;
  if (allocation == nullptr) return nullptr;
  const bool shared = view.spec().sharing == Sharing::kOversubscribe;
  return {{"select_type", {"CORE"}},
          {"nodes",
           {{"count", allocation->nodes.size()},
            {"select_type",
             {allocation->whole_nodes ? "RESERVED"
              : shared                ? "AVAILABLE"
                                      : "ONE_ROW"}},
            {"list", allocation->node_list},
            {"whole", allocation->whole_nodes},
            {"allocation", node_allocations(view.job(), shapes)}}},
          {"cpus", allocation->cpus},
          {"threads_per_core", maybe(view.spec().threads_per_core)}};
}

// What was given exactly or left to defaults, and how far the job came. Which pass tried to start
// it is not kept.
Json flag_list(const Job& job, const JobSpec& spec) {
  const bool runs = job.state == JobState::kRunning || job.state == JobState::kSuspended;
  const bool waited = job.accrue != kNoTime && job.state != JobState::kPending;
  const auto has_gres_flag = [&](std::string_view name) {
    return spec.gres_flags.view().find(name) != std::string_view::npos;
  };
  const std::pair<bool, const char*> flags[] = {
      {spec.kill_on_invalid_dependency == Toggle::kYes, "KILL_INVALID_DEPENDENCY"},
      {spec.kill_on_invalid_dependency == Toggle::kNo, "NO_KILL_INVALID_DEPENDENCY"},
      {has_gres_flag("enforce-binding"), "GRES_BINDING_ENFORCED"},
      {spec.spread, "SPREAD_JOB"},
      {spec.use_min_nodes, "PREFER_MINIMUM_NODE_COUNT"},
      {job.het != nullptr, "HETEROGENEOUS_JOB"},
      {spec.num_tasks != 0, "EXACT_TASK_COUNT_REQUESTED"},
      {spec.cpus_per_task != 0, "EXACT_CPU_COUNT_REQUESTED"},
      {waited, "ACCRUE_COUNT_CLEARED"},
      {has_gres_flag("disable-binding"), "GRES_BINDING_DISABLED"},
      {runs, "JOB_WAS_RUNNING"},
      {!spec.cron.empty(), "CRON_JOB"},
      {spec.memory_kind != MemoryKind::kDefault, "EXACT_MEMORY_REQUESTED"},
      {spec.account.empty(), "USING_DEFAULT_ACCOUNT"},
      {spec.partitions.empty(), "USING_DEFAULT_PARTITION"},
      {spec.qos.empty(), "USING_DEFAULT_QOS"},
      {spec.wckey.empty(), "USING_DEFAULT_WCKEY"},
      {true, "PARTITION_ASSIGNED"},
  };
  Json out = Json::array();
  for (const auto& [set, name] : flags) {
    if (set) out.push_back(name);
  }
  return out;
}

void put_identity(const JobView& view, const RenderContext& context, JsonFields& out) {
  const JobSpec& spec = view.spec();
  const Job& job = view.job();
  const auto& array = job.array;
  const bool one_task = view.task != kNoTask || (array != nullptr && array->task != kNoTask);
  const uint32_t task = view.task != kNoTask ? view.task : one_task ? array->task : 0;
  std::string tasks;
  if (array != nullptr && !one_task) append_task_id(view, context, tasks);
  out["account"] = json_text(spec.account);
  out["accrue_time"] = json_time(job_accrue(view));
  out["admin_comment"] = json_text(spec.admin_comment);
  out["allocating_node"] = json_text(spec.submit_host);
  out["array_job_id"] = json_number(array != nullptr ? array->array_job : 0);
  out["array_task_id"] = json_number(task, one_task);
  out["array_max_tasks"] = json_number(array != nullptr ? array->max_running : 0);
  out["array_task_string"] = tasks;
  out["association_id"] = job.account == nullptr ? 0 : job.account->association;
  out["batch_features"] = json_text(spec.batch_features);
  out["batch_flag"] = spec.batch;
  out["batch_host"] = view.record->batch_host;
  out["flags"] = flag_list(job, spec);
  out["burst_buffer"] = json_text(spec.burst_buffer);
  out["burst_buffer_state"] = "";
  out["cluster"] = context.cluster;
  out["cluster_features"] = json_text(spec.cluster_constraint);
  std::string command = spec.command.str();
  for (const SharedText& argument : spec.arguments) command.append(" ").append(argument.view());
  out["command"] = command;
  out["comment"] = json_text(spec.comment);
  out["container"] = json_text(spec.container);
  out["container_id"] = "";
}

void put_request(const JobView& view, const NodeShapes& shapes, JsonFields& out) {
  const JobSpec& spec = view.spec();
  const Job& job = view.job();
  out["contiguous"] = spec.contiguous;
  out["core_spec"] = spec.core_spec == UINT32_MAX ? 0 : spec.core_spec;
  out["thread_spec"] = spec.thread_spec == UINT32_MAX ? 32766 : spec.thread_spec;
  out["cores_per_socket"] = maybe(spec.cores_per_socket);
  const bool allocated = job.allocation != nullptr;
  JsonFields billable(3);
  billable["set"] = allocated;
  billable["infinite"] = false;
  billable["number"] = allocated ? static_cast<double>(job.allocation->cpus) : 0.0;
  out["billable_tres"] = std::move(billable).take();
  out["cpus_per_task"] = json_number(std::max(spec.cpus_per_task, 1U));
  const CpuFrequency frequency = parse_cpu_frequency(spec.cpu_freq.view()).value_or(CpuFrequency{});
  for (const auto& [key, number] : {std::pair{"cpu_frequency_minimum", frequency.min},
                                    {"cpu_frequency_maximum", frequency.max},
                                    {"cpu_frequency_governor", frequency.governor}}) {
    out[key] = json_number(number, number != kNoFrequency);
  }
  out["cpus_per_tres"] = json_text(spec.cpus_per_gpu);
  out["cron"] = json_text(spec.cron);
  out["deadline"] = json_time(spec.deadline);
  out["delay_boot"] = json_number(spec.delay_boot_seconds);
  out["dependency"] = view.record->dependency;
  out["derived_exit_code"] = exit_code_to_json(job.derived_exit_status);
  out["eligible_time"] = json_time(job_eligible(view));
  out["end_time"] = json_time(job_end(view));
  out["excluded_nodes"] = json_text(spec.excluded_nodes);
  out["exit_code"] = exit_code_to_json(job.exit_status);
  out["extra"] = json_text(spec.extra);
  out["failed_node"] = json_text(view.job().failed_node);
  out["features"] = json_text(spec.constraint);
  out["federation_origin"] = "";
  out["federation_siblings_active"] = "";
  out["federation_siblings_viable"] = "";
  Json& gres_detail = out["gres_detail"];
  gres_detail = Json::array();
  if (job.allocation != nullptr) {
    for (const NodeAllocation& node : job.allocation->nodes) {
      if (!node.gres.empty()) gres_detail.push_back(gres_text(node.gres, true));
    }
  }
  out["group_id"] = spec.gid;
  out["group_name"] = json_text(spec.group_name);
  const HetInfo het = job.het != nullptr ? *job.het : HetInfo{};
  out["het_job_id"] = json_number(het.leader);
  out["het_job_id_set"] = job.het != nullptr ? het_id_set(het) : "";
  out["het_job_offset"] = json_number(het.offset);
  out["job_id"] = job.id;
  out["job_resources"] = resources(view, shapes);
  out["job_size_str"] = Json::array();
  out["job_state"] = job_state_list(job.state, job.flags);
}

void put_size(const JobView& view, JsonFields& out) {
  const JobSpec& spec = view.spec();
  const bool allocated = view.job().allocation != nullptr;
  out["last_sched_evaluation"] = json_time(view.record->soft.last_evaluated);
  out["licenses"] = json_text(spec.licenses);
  out["licenses_allocated"] = allocated ? json_text(spec.licenses) : "";
  Json mail = Json::array();
  for (const std::string& type : split_list(spec.mail_type)) mail.push_back(to_upper(type));
  out["mail_type"] = mail;
  out["mail_user"] = json_text(or_else(spec.mail_user, spec.user_name));
  out["max_cpus"] = json_number(spec.max_cpus);
  out["max_nodes"] = json_number(allocated ? 0 : spec.max_nodes);
  out["mcs_label"] = json_text(spec.mcs_label);
  out["memory_per_tres"] = "";
  out["name"] = json_text(spec.name);
  out["network"] = json_text(spec.network);
  out["nodes"] = json_text(allocated_nodes(view));
  out["nice"] = spec.nice;
  out["tasks_per_core"] =
      spec.ntasks_per_core == 0 ? json_infinite() : json_number(spec.ntasks_per_core);
  out["tasks_per_tres"] = json_number(spec.ntasks_per_gpu);
  out["tasks_per_node"] = json_number(spec.ntasks_per_node);
  out["tasks_per_socket"] =
      spec.ntasks_per_socket == 0 ? json_infinite() : json_number(spec.ntasks_per_socket);
  out["tasks_per_board"] = json_number(0);
  out["cpus"] = json_number(num_cpus(view));
  out["node_count"] = json_number(num_nodes(view));
  out["tasks"] = has_task_count(view) ? json_number(num_tasks(view)) : json_unset();
  out["partition"] = json_text(shown_partition(view));
  out["prefer"] = json_text(spec.prefer);
  const JobMemory memory = job_memory(view);
  out["memory_per_cpu"] = json_number(memory.mib, memory.per_cpu);
  out["memory_per_node"] = json_number(memory.mib, !memory.per_cpu);
  out["minimum_cpus_per_node"] = json_number(min_cpus_per_node(view));
  out["minimum_tmp_disk_per_node"] = json_number(spec.tmp_disk_mib);
  out["power"] = {{"flags", Json::array()}};
  out["preempt_time"] = json_time(view.job().preempted_at);
  out["preemptable_time"] = json_time(preemptable_from(view.job()));
  out["pre_sus_time"] = json_number(static_cast<uint64_t>(to_seconds(view.job().before_suspend)));
  out["hold"] = view.job().hold != HoldKind::kNone;
  out["priority"] = json_number(job_priority(view));
  Json by_partition = Json::array();
  for (const PartitionPriority& one : view.record->soft.by_partition) {
    by_partition.push_back({{"partition", one.partition}, {"priority", one.priority}});
  }
  out["priority_by_partition"] = std::move(by_partition);
  out["profile"] = {spec.profile.empty() ? "NOT_SET" : to_upper(spec.profile)};
  out["qos"] = json_text(spec.qos);
  out["reboot"] = spec.reboot;
  out["required_nodes"] = json_text(spec.required_nodes);
  const std::string_view switches = spec.switches;
  out["required_switches"] =
      to_number<uint32_t>(switches.substr(0, switches.find('@'))).value_or(0);
  out["requeue"] = spec.requeue != Toggle::kNo;
  out["resize_time"] = json_number(0);
  out["restart_cnt"] = view.job().restart_count;
  out["resv_name"] = json_text(reservation_of(view.job()));
  out["scheduled_nodes"] = view.record->soft.planned_nodes.view();
  out["segment_size"] = 0;
  out["selinux_context"] = "";
}

void put_rest(const JobView& view, JsonFields& out) {
  const JobSpec& spec = view.spec();
  const Job& job = view.job();
  Json shared = Json::array();
  if (spec.sharing == Sharing::kExclusive) shared.push_back("none");
  if (spec.sharing == Sharing::kOversubscribe) shared.push_back("oversubscribe");
  if (spec.sharing == Sharing::kUser) shared.push_back("user");
  if (spec.sharing == Sharing::kMcs) shared.push_back("mcs");
  out["shared"] = shared;
  JsonFields step(4);
  step["sluid"] = "";
  step["job_id"] = json_number(job.id);
  step["step_het_component"] = json_unset();
  step["step_id"] = "entire";
  out["step_id"] = std::move(step).take();
  out["sockets_per_board"] = 0;
  out["sockets_per_node"] = maybe(spec.sockets_per_node);
  out["start_time"] = json_time(job_start(view));
  out["state_description"] = json_text(job.state_description);
  out["state_reason"] = json_text(reason_text(effective_reason(view)));
  out["standard_input"] = json_text(spec.batch ? or_else(spec.std_in, "/dev/null") : "");
  const std::string_view usual = spec.batch ? default_output_pattern(job.array != nullptr) : "";
  out["standard_output"] = json_text(or_else(spec.std_out, usual));
  out["standard_error"] = json_text(spec.std_err);
  out["stdin_expanded"] = standard_path(view, StandardFile::kIn);
  out["stdout_expanded"] = standard_path(view, StandardFile::kOut);
  out["stderr_expanded"] = standard_path(view, StandardFile::kErr);
  out["submit_time"] = json_time(job.submit);
  out["submit_line"] = json_text(spec.submit_line);
  out["suspend_time"] = json_time(job.suspended_at);
  out["system_comment"] = "";
  const Minutes limit = job.time_limit != 0 ? job.time_limit : spec.time_limit;
  out["time_limit"] = limit == 0 ? json_unset() : json_limit(limit);
  out["time_minimum"] = json_number(spec.time_min);
  out["threads_per_core"] = maybe(spec.threads_per_core);
  out["tres_bind"] = json_text(spec.tres_bind);
  out["tres_freq"] = json_text(spec.tres_freq);
  out["tres_per_job"] = json_text(spec.tres_per_job);
  out["tres_per_node"] = json_text(spec.gres);
  out["tres_per_socket"] = json_text(spec.tres_per_socket);
  out["tres_per_task"] = each_task_has(spec);
  out["tres_req_str"] = view.record->required_tres;
  out["tres_alloc_str"] = view.record->allocated_tres;
  out["user_id"] = spec.uid;
  out["user_name"] = json_text(spec.user_name);
  out["maximum_switch_wait_time"] = to_seconds(switch_wait(spec));
  out["wckey"] = json_text(spec.wckey);
  out["current_working_directory"] = json_text(spec.work_dir);
}

}  // namespace

Json exit_code_to_json(int32_t status) {
  const bool signalled = WIFSIGNALED(status);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const int number = signalled ? WTERMSIG(status) : 0;
  const char* name = signalled ? sigabbrev_np(number) : nullptr;
  JsonFields signal(2);
  signal["id"] = json_number(static_cast<uint64_t>(number), signalled);
  signal["name"] = name != nullptr ? name : "";
  JsonFields out(3);
  out["status"] = Json::array({signalled ? "SIGNALED" : code == 0 ? "SUCCESS" : "ERROR"});
  out["return_code"] = json_number(static_cast<uint64_t>(code), !signalled);
  out["signal"] = std::move(signal).take();
  return std::move(out).take();
}

NodeShapes node_shapes(const std::vector<NodeConfig>& nodes) {
  NodeShapes out;
  for (const NodeConfig& node : nodes) out[node.name] = {node.sockets, node.cores_per_socket};
  return out;
}

Json job_to_json(const JobView& view, const RenderContext& context, const NodeShapes& shapes) {
  constexpr size_t kKeys = 160;  // a little more than there are
  JsonFields out(kKeys);
  put_identity(view, context, out);
  put_request(view, shapes, out);
  put_size(view, out);
  put_rest(view, out);
  return std::move(out).take();
}

}  // namespace sluice
