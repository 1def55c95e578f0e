// Completes and checks a configuration whose lines are all read.
#include "common/config/conf_finish.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/base/check.hpp"
#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"
#include "common/config/keys/conf_ignored.hpp"
#include "common/config/keys/conf_keys.hpp"
#include "common/config/conf_nodes.hpp"
#include "common/config/keys/conf_value.hpp"

namespace sluice::tables {
namespace {

// An error at the line that set `key`, or at the file when none did.
Status fail_at(const ConfDraft& draft, const std::string& key, std::string_view text) {
  const auto at = draft.set_at.find(key);
  if (at != draft.set_at.end()) return conf_failure(at->second, text);
  return failure(ErrorCode::kInvalidConfig, fmt::format("{}: {}", draft.file, text));
}

bool is_set(const ConfDraft& draft, const std::string& key) { return draft.set_at.contains(key); }

void fill_defaults(ConfDraft& draft) {
  for (const GlobalKey& row : global_keys()) {
    if (!row.set || row.fallback.empty() || is_set(draft, std::string(row.name))) continue;
    const std::optional<ConfValue> value = parse_conf_value(rule_of(row), row.fallback);
    SLUICE_CHECK(value && row.set(draft.parsed.config, *value));
  }
}

// Puts a name into a list kept in the order of `allowed`, if it is not there.
void imply(std::vector<std::string>& list, std::string_view allowed, std::string_view name) {
  if (!has_option(list, name)) list.emplace_back(name);
  const std::vector<std::string> order = split_list(allowed);
  std::stable_sort(list.begin(), list.end(), [&](const std::string& a, const std::string& b) {
    return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
  });
}

void imply_flags(ClusterConfig& config) {
  std::vector<std::string>& prolog = config.prolog_flags;
  const std::string_view prolog_order = find_key(global_keys(), "PrologFlags")->allowed;
  if (has_option(prolog, "X11") || has_option(prolog, "RunInJob")) {
    imply(prolog, prolog_order, "Contain");
  }
  for (const char* flag : {"Contain", "NoHold", "Serial", "DeferBatch", "ForceRequeueOnFail"}) {
    if (has_option(prolog, flag)) imply(prolog, prolog_order, "Alloc");
  }
  std::vector<std::string>& enforce = config.accounting_storage_enforce;
  const std::string_view enforce_order =
      find_key(global_keys(), "AccountingStorageEnforce")->allowed;
  if (has_option(enforce, "all")) {
    for (const char* flag : {"associations", "limits", "qos", "safe", "wckeys"}) {
      imply(enforce, enforce_order, flag);
    }
  }
  if (has_option(enforce, "1")) imply(enforce, enforce_order, "associations");
  if (has_option(enforce, "safe") || has_option(enforce, "2"))
    imply(enforce, enforce_order, "limits");
  for (const char* flag : {"limits", "qos", "wckeys"}) {
    if (has_option(enforce, flag)) imply(enforce, enforce_order, "associations");
  }
  if (has_option(enforce, "nojobs")) imply(enforce, enforce_order, "nosteps");
  if (has_option(enforce, "wckeys")) config.track_wckey = true;
  for (const char* word : {"all", "none", "1", "2"}) std::erase(enforce, word);
}

// "…/none" names the absence of a plugin, as an empty member does.
void forget_none(ClusterConfig& config) {
  for (std::string* type : {&config.preempt_type, &config.job_comp_type, &config.switch_type,
                            &config.accounting_storage_type, &config.job_acct_gather_type}) {
    if (type->ends_with("/none")) type->clear();
  }
  std::erase(config.task_plugin, "task/none");
  if (config.select_type_parameters.empty() && config.select_type != "select/linear") {
    config.select_type_parameters = {"CR_CORE_MEMORY"};
  }
}

// Waiting for a step that does not end makes no sense below what messages may take.
void derive_times(ConfDraft& draft) {
  ClusterConfig& config = draft.parsed.config;
  if (!is_set(draft, "UnkillableStepTimeout")) {
    config.unkillable_step_timeout =
        std::max(config.unkillable_step_timeout, 5 * config.message_timeout);
  }
}

// Without a word on priorities who came first goes first: with weights of zero all jobs would have
// the same priority, and
// --nice would say nothing.
void choose_priority(ConfDraft& draft) {
  const auto is_about_it = [](const auto& set) {
    return set.first == "PriorityType" || set.first.starts_with("PriorityWeight");
  };
  ClusterConfig& config = draft.parsed.config;
  if (std::ranges::none_of(config.values, is_about_it)) config.priority_type = "priority/basic";
}

Status check_controllers(ConfDraft& draft) {
  ClusterConfig& config = draft.parsed.config;
  ConfErrors errors;
  if (config.cluster_name.empty())
    errors.add(fail_at(draft, "ClusterName", "ClusterName is not set"));
  constexpr size_t kLongestName = 40;
  if (config.cluster_name.size() > kLongestName) {
    errors.add(fail_at(draft, "ClusterName", "ClusterName has more than 40 letters"));
  }
  config.cluster_name = to_lower(config.cluster_name);
  if (config.controllers.empty() && is_set(draft, "ControlMachine")) {
    // the old spelling of one controller
    const std::string& name = config.values["ControlMachine"];
    const auto address = config.values.find("ControlAddr");
    config.controllers.push_back({name, address == config.values.end() ? name : address->second});
  }
  if (config.controllers.empty()) {
    errors.add(
        fail_at(draft, "SlurmctldHost", "SlurmctldHost is not set; one line of it is wanted"));
  }
  return errors.status();
}

Status check_accepted(ConfDraft& draft) {
  ConfErrors errors;
  for (const std::string& name : accepted_ignored(draft.parsed.config)) {
    if (is_ignorable(name)) continue;
    errors.add(fail_at(
        draft, "SluiceParameters",
        fmt::format("SluiceParameters=accept_ignored names \"{}\", which is no key", name)));
  }
  return errors.status();
}

Status check_limits(ConfDraft& draft) {
  const ClusterConfig& config = draft.parsed.config;
  ConfErrors errors;
  if (config.def_mem_per_cpu_mib && config.def_mem_per_node_mib) {
    errors.add(
        fail_at(draft, "DefMemPerNode", "DefMemPerCPU and DefMemPerNode exclude each other"));
  }
  if (config.max_mem_per_cpu_mib && config.max_mem_per_node_mib) {
    errors.add(
        fail_at(draft, "MaxMemPerNode", "MaxMemPerCPU and MaxMemPerNode exclude each other"));
  }
  if (config.first_job_id > config.max_job_id) {
    errors.add(fail_at(
        draft, "FirstJobId",
        fmt::format("FirstJobId={} is above MaxJobId={}", config.first_job_id, config.max_job_id)));
  }
  return errors.status();
}

// A site that has preempted so far would wonder.
Status check_preemption(ConfDraft& draft) {
  const ClusterConfig& config = draft.parsed.config;
  const bool off = config.preempt_mode == PreemptMode::kOff;
  if (off != config.preempt_type.empty()) {
    return fail_at(draft, is_set(draft, "PreemptMode") ? "PreemptMode" : "PreemptType",
                   off ? fmt::format("PreemptType and PreemptMode values incompatible: {} preempts "
                                     "nothing with PreemptMode=OFF",
                                     config.preempt_type)
                       : "PreemptType and PreemptMode values incompatible: PreemptType is not set");
  }
  if (config.preempt_mode == PreemptMode::kSuspend && !config.preempt_gang)
    return fail_at(draft, "PreemptMode", "PreemptMode=SUSPEND requires GANG too");
  return {};
}

// Nobody could take back what jobs over a limit hold.
Status check_soft_limits(ConfDraft& draft) {
  const ClusterConfig& config = draft.parsed.config;
  const bool soft = option_value(config.sluice_parameters, "soft_limit_qos").has_value() &&
                    has_option(config.accounting_storage_enforce, "limits");
  if (!soft || iequals(config.preempt_type, "preempt/qos")) return {};
  return fail_at(draft, "SluiceParameters",
                 "SluiceParameters=soft_limit_qos needs PreemptType=preempt/qos");
}

Status check_propagation(ConfDraft& draft) {
  ClusterConfig& config = draft.parsed.config;
  if (config.propagate_resource_limits_except.empty()) return {};
  if (is_set(draft, "PropagateResourceLimits")) {
    return fail_at(draft, "PropagateResourceLimitsExcept",
                   "PropagateResourceLimits and PropagateResourceLimitsExcept exclude each other");
  }
  config.propagate_resource_limits.clear();
  return {};
}

Status finish_nodes(ConfDraft& draft) {
  ClusterConfig& config = draft.parsed.config;
  ConfErrors errors;
  size_t told = SIZE_MAX;  // nodes of one line have the same
  for (size_t i = 0; i < config.nodes.size(); ++i) {
    NodeConfig& node = config.nodes[i];
    if (node.port == 0) node.port = config.slurmd_port;
    follow_core_order(config, node);
    const Status ok = check_gres_types(config, node);
    if (!ok && std::exchange(told, draft.node_lines[i]) != draft.node_lines[i]) {
      errors.add(conf_failure(draft.node_places[draft.node_lines[i]], ok.error().text));
    }
  }
  return errors.status();
}

Status finish_node_sets(ConfDraft& draft) {
  ClusterConfig& config = draft.parsed.config;
  if (config.node_sets.empty()) return {};
  // sets name nodes only: worked out with no set known
  std::vector<NodeSetConfig> sets = std::move(config.node_sets);
  config.node_sets.clear();
  const NodeNames names(config);
  ConfErrors errors;
  for (size_t i = 0; i < sets.size(); ++i) {
    NodeSetConfig& set = sets[i];
    const PendingNames& pending = draft.node_set_lines[i];
    if (names.has_node(set.name)) {
      errors.add(conf_failure(pending.line,
                              fmt::format("node set \"{}\" has the name of a node", set.name)));
    }
    std::string list = pending.names;
    for (const std::string& name : names.with_features(set.features)) {
      list += (list.empty() ? "" : ",") + name;
    }
    Result<std::vector<std::string>> nodes = names.resolve(list, nullptr);
    if (nodes) set.nodes = std::move(*nodes);
    else
      errors.add(conf_failure(pending.line,
                              fmt::format("node set \"{}\": {}", set.name, nodes.error().text)));
  }
  config.node_sets = std::move(sets);
  return errors.status();
}

Status check_partition(const PartitionConfig& partition, const ConfLine& line) {
  ConfErrors errors;
  const auto refuse = [&](std::string_view text) {
    errors.add(conf_failure(line, fmt::format("partition \"{}\": {}", partition.name, text)));
  };
  if (partition.min_nodes > partition.max_nodes) {
    refuse(
        fmt::format("MinNodes={} is above MaxNodes={}", partition.min_nodes, partition.max_nodes));
  }
  if (partition.def_mem_per_cpu_mib.value_or(0) && partition.def_mem_per_node_mib.value_or(0)) {
    refuse("DefMemPerCPU and DefMemPerNode exclude each other");
  }
  if (partition.max_mem_per_cpu_mib.value_or(0) && partition.max_mem_per_node_mib.value_or(0)) {
    refuse("MaxMemPerCPU and MaxMemPerNode exclude each other");
  }
  return errors.status();
}

Status finish_partitions(ConfDraft& draft) {
  ClusterConfig& config = draft.parsed.config;
  const NodeNames names(config);
  PartitionConfig* usual = nullptr;
  ConfErrors errors;
  for (size_t i = 0; i < config.partitions.size(); ++i) {
    PartitionConfig& partition = config.partitions[i];
    const ConfLine& line = draft.partition_lines[i];
    const auto refuse = [&](std::string_view text) {
      errors.add(conf_failure(line, fmt::format("partition \"{}\": {}", partition.name, text)));
    };
    errors.add(check_partition(partition, line));
    Result<std::vector<std::string>> nodes =
        names.resolve(partition.nodes_text, &partition.node_sets);
    if (nodes) partition.nodes = std::move(*nodes);
    else refuse(nodes.error().text);
    if (!partition.alternate.empty() && !find_partition(config, partition.alternate)) {
      refuse(fmt::format("unknown partition \"{}\" in Alternate", partition.alternate));
    }
    if (partition.default_time && *partition.default_time > partition.max_time) {
      draft.parsed.warnings.push_back(
          fmt::format("{}:{}: DefaultTime of partition {} is above its MaxTime, which is used",
                      line.file, line.number, partition.name));
      partition.default_time = partition.max_time;
    }
    if (partition.is_default) {
      if (usual) {
        usual->is_default = false;
        draft.parsed.warnings.push_back(
            fmt::format("{}:{}: partition {} is the default now, no longer {}", line.file,
                        line.number, partition.name, usual->name));
      }
      usual = &partition;
    }
    partition.job_defaults = job_defaults_text(partition);
  }
  return errors.status();
}

Status finish_down_nodes(ConfDraft& draft) {
  ClusterConfig& config = draft.parsed.config;
  if (config.down_nodes.empty()) return {};
  const NodeNames names(config);
  ConfErrors errors;
  for (size_t i = 0; i < config.down_nodes.size(); ++i) {
    const PendingNames& pending = draft.down_lines[i];
    Result<std::vector<std::string>> nodes = names.resolve(pending.names, nullptr);
    if (nodes) config.down_nodes[i].nodes = std::move(*nodes);
    else errors.add(conf_failure(pending.line, fmt::format("DownNodes: {}", nodes.error().text)));
    config.down_nodes[i].nodes_text = pending.names;
  }
  return errors.status();
}

}  // namespace

std::string job_defaults_text(const PartitionConfig& partition) {
  std::vector<std::string> defaults;
  if (partition.def_cpu_per_gpu) {
    defaults.push_back(fmt::format("DefCpuPerGPU={}", *partition.def_cpu_per_gpu));
  }
  if (partition.def_mem_per_gpu_mib) {
    defaults.push_back(fmt::format("DefMemPerGPU={}", *partition.def_mem_per_gpu_mib));
  }
  return join(defaults, ",");
}

// Those that are set.
void note_unenforced(ClusterConfig& config) {
  const auto any = [&](auto is_set) { return std::ranges::any_of(config.partitions, is_set); };
  const auto is_set = [&](std::string_view key) {
    using P = PartitionConfig;
    if (key == "AccountingStorageEnforce") return !config.accounting_storage_enforce.empty();
    if (key.ends_with("=soft_limit_qos"))
      return option_value(config.sluice_parameters, "soft_limit_qos").has_value();
    if (key.ends_with("AllowAccounts"))
      return any([](const P& p) { return !p.allow_accounts.empty(); });
    if (key.ends_with("DenyAccounts"))
      return any([](const P& p) { return !p.deny_accounts.empty(); });
    if (key.ends_with("AllowQos")) return any([](const P& p) { return !p.allow_qos.empty(); });
    if (key.ends_with("DenyQos")) return any([](const P& p) { return !p.deny_qos.empty(); });
    return any([](const P& p) { return !p.qos.empty(); });
  };
  for (std::string& key : unenforced_keys(config)) {
    if (is_set(key)) config.without_effect.push_back(std::move(key));
  }
  // sshare and its kin hide usage; the rest is the accounting daemon's to hide (slurmdbd.conf)
  if (!config.accounting_storage_type.empty()) {
    std::erase_if(config.without_effect,
                  [](const std::string& key) { return key.starts_with("PrivateData="); });
  }
}

void finish_config(ConfDraft& draft, std::vector<std::string>& errors) {
  fill_defaults(draft);
  imply_flags(draft.parsed.config);
  forget_none(draft.parsed.config);
  derive_times(draft);
  choose_priority(draft);
  for (const auto step :
       {check_controllers, check_accepted, check_limits, check_preemption, check_soft_limits,
        check_propagation, finish_nodes, finish_node_sets, finish_partitions, finish_down_nodes}) {
    append_errors(errors, step(draft));
  }
  note_unenforced(draft.parsed.config);
  std::vector<std::string>& unused = draft.parsed.config.without_effect;
  std::sort(unused.begin(), unused.end());
  unused.erase(std::unique(unused.begin(), unused.end()), unused.end());
}

}  // namespace sluice::tables
