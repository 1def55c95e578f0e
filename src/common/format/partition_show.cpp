// See partition_show.hpp.
#include "common/format/partition_show.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/names/job_states.hpp"
#include "common/format/job_values.hpp"
#include "common/environment/gres_env.hpp"
#include "common/format/node_values.hpp"
#include "common/format/show_lines.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice {
namespace {

std::string_view yes_no(bool value) { return value ? "YES" : "NO"; }
std::string all_or(const std::vector<std::string>& list) {
  return list.empty() ? "ALL" : join(list, ",");
}
std::string memory_limit(const std::optional<uint64_t>& mib) {
  return !mib || *mib == 0 ? "UNLIMITED" : std::to_string(*mib);
}
std::string_view exclusive_mode(ExclusiveMode mode) {
  return mode == ExclusiveMode::kUser ? "USER" : mode == ExclusiveMode::kTopo ? "TOPO" : "NO";
}
std::string over_time(const std::optional<Minutes>& limit) {
  if (!limit) return "NONE";
  return *limit == kInfiniteMinutes ? "UNLIMITED" : std::to_string(*limit);
}
std::string seconds_or_infinite(uint32_t seconds) {
  return seconds == UINT32_MAX ? "INFINITE" : std::to_string(seconds);
}

void put_access(const PartitionConfig& p, ShowLines& out) {
  out.line().word("AllowGroups", all_or(p.allow_groups));
  if (p.allow_accounts.empty() && !p.deny_accounts.empty()) {
    out.word("DenyAccounts", join(p.deny_accounts, ","));
  } else {
    out.word("AllowAccounts", all_or(p.allow_accounts));
  }
  if (p.allow_qos.empty() && !p.deny_qos.empty()) out.word("DenyQos", join(p.deny_qos, ","));
  else out.word("AllowQos", all_or(p.allow_qos));
  out.line().word("AllocNodes", all_or(p.alloc_nodes)).word("Default", yes_no(p.is_default));
  if (!p.cpu_bind.empty()) out.word("CpuBind", p.cpu_bind);
  out.word("QoS", or_else(p.qos, "N/A"));
  if (!p.alternate.empty()) out.line().word("Alternate", p.alternate);
}

void put_limits(const PartitionConfig& p, ShowLines& out) {
  out.line();
  out.word("DefaultTime", p.default_time ? format_minutes(*p.default_time) : "NONE");
  out.word("DisableRootJobs", yes_no(p.disable_root_jobs.value_or(false)));
  out.word("Exclusive", exclusive_mode(p.exclusive)).word("GraceTime", p.grace_time_s);
  out.word("Hidden", yes_no(p.hidden));
  out.line().word("MaxNodes", size_limit_text(p.max_nodes, "UNLIMITED"));
  out.word("MaxTime", format_minutes(p.max_time)).word("MinNodes", p.min_nodes);
  out.word("LLN", yes_no(p.lln));
  out.word("MaxCPUsPerNode", size_limit_text(p.max_cpus_per_node, "UNLIMITED"));
  out.word("MaxCPUsPerSocket", size_limit_text(p.max_cpus_per_socket, "UNLIMITED"));
}

void put_memory(const PartitionConfig& p, ShowLines& out) {
  out.line();
  if (p.def_mem_per_cpu_mib) out.word("DefMemPerCPU", memory_limit(p.def_mem_per_cpu_mib));
  else out.word("DefMemPerNode", memory_limit(p.def_mem_per_node_mib));
  if (p.max_mem_per_cpu_mib) out.word("MaxMemPerCPU", memory_limit(p.max_mem_per_cpu_mib));
  else out.word("MaxMemPerNode", memory_limit(p.max_mem_per_node_mib));
}

Json memory_number(const std::optional<uint64_t>& mib) {
  return mib ? json_number(*mib) : json_unset();
}
Json seconds_number(const std::optional<uint32_t>& seconds) {
  return seconds ? json_limit(*seconds) : json_unset();
}

Json maximums_json(const PartitionConfig& p) {
  const bool shares =
      p.over_subscribe == OverSubscribe::kYes || p.over_subscribe == OverSubscribe::kForce;
  const uint32_t count = shares ? std::max(p.over_subscribe_count, 1U) : 1;
  Json flags = Json::array();
  if (p.over_subscribe == OverSubscribe::kForce) flags.push_back("force");
  return {{"cpus_per_node", json_limit(p.max_cpus_per_node)},
          {"cpus_per_socket", json_limit(p.max_cpus_per_socket)},
          {"memory_per_cpu", p.max_mem_per_cpu_mib.value_or(0)},
          {"partition_memory_per_cpu", memory_number(p.max_mem_per_cpu_mib)},
          {"partition_memory_per_node",
           p.max_mem_per_cpu_mib ? json_unset() : json_number(p.max_mem_per_node_mib.value_or(0))},
          {"nodes", json_limit(p.max_nodes)},
          {"shares", count},
          {"oversubscribe", {{"jobs", count}, {"flags", flags}}},
          {"time", json_limit(p.max_time)},
          {"over_time_limit", p.over_time_limit ? json_limit(*p.over_time_limit) : json_unset()}};
}

Json defaults_json(const PartitionConfig& p) {
  return {{"memory_per_cpu", p.def_mem_per_cpu_mib.value_or(0)},
          {"partition_memory_per_cpu", memory_number(p.def_mem_per_cpu_mib)},
          {"partition_memory_per_node",
           p.def_mem_per_cpu_mib ? json_unset() : json_number(p.def_mem_per_node_mib.value_or(0))},
          {"time", p.default_time ? json_limit(*p.default_time) : json_unset()},
          {"job", p.job_defaults}};
}

}  // namespace

std::string partition_tres(const protocol::PartitionRecord& record,
                           const std::vector<protocol::NodeRecord>& nodes,
                           const RenderContext& context) {
  uint64_t memory = 0;
  GresShares gres;
  for (const protocol::NodeRecord& node : nodes) {
    if (std::find(node.partitions.begin(), node.partitions.end(), record.config.name) ==
        node.partitions.end()) {
      continue;
    }
    memory += config_of(node).real_memory_mib;
    add_shares(gres, gres_of(node));
  }
  const std::string cpus = std::to_string(record.total_cpus);
  std::string out = "cpu=" + cpus;
  if (memory != 0) out.append(",mem=").append(format_memory(memory));
  out.append(",node=").append(std::to_string(record.total_nodes));
  return out.append(",billing=").append(cpus) + gres_tres(gres, context.accounting_tres);
}

std::string show_partition(const protocol::PartitionRecord& record, const std::string& tres,
                           const RenderContext& context, bool one_line) {
  const PartitionConfig& p = record.config;
  ShowLines out(one_line);
  out.word("PartitionName", p.name);
  put_access(p, out);
  put_limits(p, out);
  if (!p.node_sets.empty()) out.line().word("NodeSets", join(p.node_sets, ","));
  out.line().word("Nodes", or_else(record.node_list, "(null)"));
  out.line().word("PriorityJobFactor", p.priority_job_factor);
  out.word("PriorityTier", p.priority_tier).word("RootOnly", yes_no(p.root_only));
  out.word("ReqResv", yes_no(p.req_resv)).word("OverSubscribe", oversubscribe_text(p));
  const std::string mode =
      p.preempt_mode ? preempt_mode_text(*p.preempt_mode) : context.preempt_mode;
  out.line().word("OverTimeLimit", over_time(p.over_time_limit));
  out.word("PreemptMode", p.preempt_gang ? "GANG," + mode : mode);
  if (p.power_down_on_idle) out.word("PowerDownOnIdle", "YES");
  out.line().word("State", partition_state_text(p.state)).word("TotalCPUs", record.total_cpus);
  out.word("TotalNodes", record.total_nodes);
  out.word("SelectTypeParameters", or_else(join(p.select_type_parameters, ","), "NONE"));
  out.line().word("JobDefaults", or_else(p.job_defaults, "(null)"));
  put_memory(p, out);
  out.line().word("TRES", tres);
  if (!p.tres_billing_weights.empty()) {
    out.line().word("TRESBillingWeights", p.tres_billing_weights);
  }
  if (p.resume_timeout_s || p.suspend_timeout_s || p.suspend_time_s) {
    out.line();
    if (p.resume_timeout_s) out.word("ResumeTimeout", seconds_or_infinite(*p.resume_timeout_s));
    if (p.suspend_timeout_s) out.word("SuspendTimeout", seconds_or_infinite(*p.suspend_timeout_s));
    if (p.suspend_time_s) out.word("SuspendTime", seconds_or_infinite(*p.suspend_time_s));
  }
  return out.take();
}

Json partition_to_json(const protocol::PartitionRecord& record, const std::string& tres) {
  const PartitionConfig& p = record.config;
  Json out = Json::object();
  out["nodes"] = {{"allowed_allocation", join(p.alloc_nodes, ",")},
                  {"configured", record.node_list},
                  {"total", record.total_nodes}};
  out["accounts"] = {{"allowed", join(p.allow_accounts, ",")},
                     {"deny", join(p.deny_accounts, ",")}};
  out["groups"] = {{"allowed", join(p.allow_groups, ",")}};
  out["qos"] = {
      {"allowed", join(p.allow_qos, ",")}, {"deny", join(p.deny_qos, ",")}, {"assigned", p.qos}};
  out["alternate"] = p.alternate;
  out["tres"] = {{"billing_weights", p.tres_billing_weights}, {"configured", tres}};
  out["cluster"] = "";
  out["select_type"] = p.select_type_parameters;
  out["cpus"] = {{"task_binding", usual_binding_number(p.cpu_bind)}, {"total", record.total_cpus}};
  out["defaults"] = defaults_json(p);
  out["grace_time"] = p.grace_time_s;
  out["maximums"] = maximums_json(p);
  out["minimums"] = {{"nodes", p.min_nodes}};
  out["name"] = p.name;
  out["node_sets"] = join(p.node_sets, ",");
  out["priority"] = {{"job_factor", p.priority_job_factor}, {"tier", p.priority_tier}};
  out["timeouts"] = {{"resume", seconds_number(p.resume_timeout_s)},
                     {"suspend", seconds_number(p.suspend_timeout_s)}};
  out["topology"] = p.topology;
  out["partition"] = {{"state", {json_text(partition_state_text(p.state))}}};
  out["suspend_time"] = seconds_number(p.suspend_time_s);
  return out;
}

}  // namespace sluice
