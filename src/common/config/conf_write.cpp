#include "common/config/conf_write.hpp"

#include <array>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/config/keys/conf_keys.hpp"
#include "common/config/conf_nodes.hpp"

namespace sluice::tables {
namespace {

constexpr std::array<std::string_view, 9> kNodeStates = {
    "UNKNOWN", "IDLE", "DOWN", "DRAIN", "FAIL", "FAILING", "CLOUD", "FUTURE", "EXTERNAL"};

std::string quoted(std::string_view value) {
  const bool needed = value.find_first_of(" \t#") != std::string_view::npos;
  return needed ? fmt::format("\"{}\"", value) : std::string(value);
}

// One line of KEY=VALUE pairs; values that are not set are left out.
class Line {
 public:
  Line(std::string_view key, std::string_view value) : text_(fmt::format("{}={}", key, value)) {}

  void add(std::string_view key, std::string_view value) {
    if (!value.empty()) text_ += fmt::format(" {}={}", key, quoted(value));
  }
  void add(std::string_view key, uint64_t value, uint64_t usual) {
    if (value != usual) text_ += fmt::format(" {}={}", key, value);
  }
  void add_limit(std::string_view key, uint32_t value) {
    if (value != kUnlimited) text_ += fmt::format(" {}={}", key, value);
  }
  void add_seconds(std::string_view key, const std::optional<uint32_t>& value) {
    if (value)
      text_ += *value == UINT32_MAX ? fmt::format(" {}=INFINITE", key)
                                    : fmt::format(" {}={}", key, *value);
  }
  void add_flag(std::string_view key, bool on) {
    if (on) text_ += fmt::format(" {}=YES", key);
  }
  [[nodiscard]] std::string text() const { return text_ + '\n'; }

 private:
  std::string text_;
};

std::string node_line(const NodeConfig& node) {
  const NodeConfig usual;
  Line line("NodeName", node.name);
  if (node.hostname != node.name) line.add("NodeHostname", node.hostname);
  if (node.address != node.hostname) line.add("NodeAddr", node.address);
  line.add("BcastAddr", node.broadcast_address);
  line.add("Port", node.port, 0);
  line.add("CPUs", node.cpus, 0);
  line.add("Boards", node.boards, usual.boards);
  line.add("SocketsPerBoard", node.boards == 0 ? node.sockets : node.sockets / node.boards, 0);
  line.add("CoresPerSocket", node.cores_per_socket, 0);
  line.add("ThreadsPerCore", node.threads_per_core, 0);
  line.add("RealMemory", node.real_memory_mib, usual.real_memory_mib);
  line.add("TmpDisk", node.tmp_disk_mib, 0);
  line.add("Weight", node.weight, usual.weight);
  line.add("Features", join(node.features, ","));
  line.add("Gres", node.gres);
  line.add("CoreSpecCount", node.core_spec_count, 0);
  line.add("CPUSpecList", node.cpu_spec_list);
  line.add("MemSpecLimit", node.mem_spec_limit_mib, 0);
  line.add("CpuBind", node.cpu_bind);
  line.add("Topology", node.topology);
  line.add_seconds("SuspendTime", node.suspend_time_s);
  line.add("State", kNodeStates[static_cast<size_t>(node.state)]);
  line.add("Reason", node.reason);
  return line.text();
}

std::string minutes_text(Minutes minutes) {
  return minutes == kInfiniteMinutes ? "UNLIMITED" : format_span(std::chrono::minutes(minutes));
}

std::string sharing_text(const PartitionConfig& p) {
  const std::string count =
      p.over_subscribe_count != 0 ? fmt::format(":{}", p.over_subscribe_count) : "";
  switch (p.over_subscribe) {
    case OverSubscribe::kYes: return "YES" + count;
    case OverSubscribe::kForce: return "FORCE" + count;
    case OverSubscribe::kExclusive: return "EXCLUSIVE";
    default: return {};
  }
}

std::string preempt_mode_text(const PartitionConfig& p) {
  constexpr std::array<std::string_view, 6> kModes = {"OFF",     "CANCEL", "REQUEUE",
                                                      "SUSPEND", "WITHIN", "PRIORITY"};
  if (!p.preempt_mode) return p.preempt_gang ? "GANG" : "";
  const std::string mode(kModes.at(static_cast<size_t>(*p.preempt_mode)));
  return p.preempt_gang ? mode + ",GANG" : mode;
}

std::string_view exclusive_text(ExclusiveMode mode) {
  switch (mode) {
    case ExclusiveMode::kUser: return "USER";
    case ExclusiveMode::kTopo: return "TOPO";
    case ExclusiveMode::kNo: break;
  }
  return {};
}

std::string_view state_text(PartitionState state) {
  switch (state) {
    case PartitionState::kDown: return "DOWN";
    case PartitionState::kDrain: return "DRAIN";
    case PartitionState::kInactive: return "INACTIVE";
    default: return "UP";
  }
}

void add_memory(const PartitionConfig& p, Line& line) {
  const std::pair<const char*, const std::optional<uint64_t>&> values[] = {
      {"DefMemPerCPU", p.def_mem_per_cpu_mib}, {"DefMemPerNode", p.def_mem_per_node_mib},
      {"DefCpuPerGPU", p.def_cpu_per_gpu},     {"DefMemPerGPU", p.def_mem_per_gpu_mib},
      {"MaxMemPerCPU", p.max_mem_per_cpu_mib}, {"MaxMemPerNode", p.max_mem_per_node_mib}};
  for (const auto& [key, value] : values) {
    if (value) line.add(key, std::to_string(*value));
  }
}

std::string partition_line(const PartitionConfig& p) {
  Line line("PartitionName", p.name);
  line.add("Nodes", p.nodes_text);
  line.add_flag("Default", p.is_default);
  line.add("State", state_text(p.state));
  line.add("MaxTime", minutes_text(p.max_time));
  if (p.default_time) line.add("DefaultTime", minutes_text(*p.default_time));
  if (p.over_time_limit)
    line.add("OverTimeLimit", *p.over_time_limit == kInfiniteMinutes
                                  ? "UNLIMITED"
                                  : std::to_string(*p.over_time_limit));
  line.add_limit("MaxNodes", p.max_nodes);
  line.add("MinNodes", p.min_nodes, 0);
  line.add_limit("MaxCPUsPerNode", p.max_cpus_per_node);
  line.add_limit("MaxCPUsPerSocket", p.max_cpus_per_socket);
  line.add("GraceTime", p.grace_time_s, 0);
  line.add("AllowGroups", join(p.allow_groups, ","));
  line.add("AllowAccounts", join(p.allow_accounts, ","));
  line.add("DenyAccounts", join(p.deny_accounts, ","));
  line.add("AllowQos", join(p.allow_qos, ","));
  line.add("DenyQos", join(p.deny_qos, ","));
  line.add("AllocNodes", join(p.alloc_nodes, ","));
  line.add("QOS", p.qos);
  line.add("Alternate", p.alternate);
  line.add("PriorityJobFactor", p.priority_job_factor, 1);
  line.add("PriorityTier", p.priority_tier, 1);
  line.add("OverSubscribe", sharing_text(p));
  line.add("Exclusive", exclusive_text(p.exclusive));
  line.add("PreemptMode", preempt_mode_text(p));
  line.add_flag("Hidden", p.hidden);
  line.add_flag("RootOnly", p.root_only);
  line.add_flag("ReqResv", p.req_resv);
  line.add_flag("LLN", p.lln);
  if (p.disable_root_jobs) line.add("DisableRootJobs", *p.disable_root_jobs ? "YES" : "NO");
  line.add_flag("PowerDownOnIdle", p.power_down_on_idle);
  line.add("CpuBind", p.cpu_bind);
  line.add("SelectTypeParameters", join(p.select_type_parameters, ","));
  line.add("Topology", p.topology);
  add_memory(p, line);
  line.add("TRESBillingWeights", p.tres_billing_weights);
  line.add_seconds("SuspendTime", p.suspend_time_s);
  line.add_seconds("SuspendTimeout", p.suspend_timeout_s);
  line.add_seconds("ResumeTimeout", p.resume_timeout_s);
  return line.text();
}

std::string heading(std::string_view text) {
  const std::string rule(48, '#');
  return fmt::format("#\n{}\n#{:^46}#\n{}\n", rule, text, rule);
}

std::string global_lines(const ClusterConfig& config) {
  std::string out;
  for (const GlobalKey& row : global_keys()) {
    if (row.kind == ConfKind::kRuntime || row.effect == ConfEffect::kObsolete) continue;
    if (row.name == "SlurmctldHost") {
      for (const ControllerHost& host : config.controllers) {
        out += host.address == host.name
                   ? fmt::format("SlurmctldHost={}\n", host.name)
                   : fmt::format("SlurmctldHost={}({})\n", host.name, host.address);
      }
      continue;
    }
    const auto set = config.values.find(std::string(row.name));
    if (set == config.values.end()) {
      out += fmt::format("#{}={}\n", row.name, row.fallback);
    } else if (!row.repeated) {
      out += Line(row.name, quoted(set->second)).text();
    } else {
      for (const std::string& value : split_list(set->second))
        out += fmt::format("{}={}\n", row.name, value);
    }
  }
  return out;
}

// Of the nodes of a set those that are not in it by a feature.
std::vector<std::string> named_nodes(const ClusterConfig& config, const NodeSetConfig& set) {
  std::unordered_set<std::string> by_feature;
  for (std::string& name : NodeNames(config).with_features(set.features))
    by_feature.insert(std::move(name));
  std::vector<std::string> named;
  for (const std::string& name : set.nodes) {
    if (!by_feature.contains(name)) named.push_back(name);
  }
  return named;
}

}  // namespace

std::string write_config(const ClusterConfig& config, std::string_view when) {
  std::string out =
      fmt::format("# slurm.conf of cluster {}, written {}\n", config.cluster_name, when);
  out += heading("CONFIGURATION") + global_lines(config);
  out += heading("NODES");
  for (const NodeConfig& node : config.nodes) out += node_line(node);
  for (const NodeSetConfig& set : config.node_sets) {
    Line line("NodeSet", set.name);
    line.add("Feature", join(set.features, ","));
    line.add("Nodes", fold_hosts(named_nodes(config, set)));
    out += line.text();
  }
  for (const DownNodesConfig& down : config.down_nodes) {
    Line line("DownNodes", fold_hosts(down.nodes));
    line.add("State", kNodeStates[static_cast<size_t>(down.state)]);
    line.add("Reason", down.reason);
    out += line.text();
  }
  out += heading("PARTITIONS");
  for (const PartitionConfig& partition : config.partitions) out += partition_line(partition);
  return out;
}

}  // namespace sluice::tables
