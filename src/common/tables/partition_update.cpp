#include "common/tables/partition_update.hpp"

#include <optional>

#include "common/base/text.hpp"
#include "common/tables/conf_assign.hpp"
#include "common/tables/conf_finish.hpp"
#include "common/tables/conf_nodes.hpp"

namespace sluice::tables {

namespace {

// "one of UP, DOWN, DRAIN" as "UP, DOWN and DRAIN".
std::string in_words(std::string text) {
  constexpr std::string_view kOneOf = "one of ";
  if (!text.starts_with(kOneOf)) return text;
  text.erase(0, kOneOf.size());
  const size_t last = text.rfind(", ");
  return last == std::string::npos ? text : text.replace(last, 2, " and ");
}

// Sets one key of a PartitionName line.
Status set_key(const std::string& key, const std::string& value, PartitionConfig& partition) {
  const auto* row = find_key(partition_keys(), key);
  if (row == nullptr) {
    return failure(ErrorCode::kInvalidUpdate,
                   fmt::format("Update of this parameter is not supported: {}={}\n"
                               "scontrol: error: Request aborted", key, value));
  }
  std::vector<std::string> ignored;
  const ConfRule rule = rule_of(*row);
  const bool cleared = value.empty() && rule.kind == ConfKind::kName;  // Alternate=, QOS=
  const auto parsed = cleared ? std::optional(ConfValue()) : parse_conf_value(rule, value, &ignored);
  if (parsed && (!row->set || row->set(partition, *parsed))) return {};
  return failure(ErrorCode::kInvalidUpdate,
                 fmt::format("Invalid input: {}={}\nscontrol: error: Acceptable {} values are {}", key, value,
                             row->name, in_words(allowed_values(rule))));
}

// "DefCpuPerGPU=2,DefMemPerGPU=100"; what is not in the list has no default any more.
Status set_job_defaults(const std::string& value, PartitionConfig& partition) {
  partition.def_cpu_per_gpu.reset();
  partition.def_mem_per_gpu_mib.reset();
  for (const std::string& word : split_list(value)) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const bool known = iequals(name, "DefCpuPerGPU") || iequals(name, "DefMemPerGPU");
    if (!known || equals == std::string::npos) return failure(ErrorCode::kInvalidUpdate, "Invalid JobDefaults specification");
    if (auto ok = set_key(name, word.substr(equals + 1), partition); !ok) return ok;
  }
  return {};
}

}  // namespace

std::vector<std::string> partition_keys_without_effect(const std::map<std::string, std::string>& values) {
  std::vector<std::string> out;
  for (const auto& [key, value] : values) {
    const auto* row = find_key(partition_keys(), key);
    if (row == nullptr) continue;
    if (is_without_effect(*row, value)) out.emplace_back(row->name);
    const auto parsed = parse_conf_value(rule_of(*row), value, nullptr);
    if (!parsed) continue;
    for (const std::string& option : idle_options(*row, *parsed)) out.push_back(fmt::format("{}={}", row->name, option));
  }
  return out;
}

Status update_partition(const ClusterConfig& config,
                        const std::map<std::string, std::string>& values,
                        PartitionConfig& partition) {
  for (const auto& [key, value] : values) {
    const Status done = iequals(key, kJobDefaults) ? set_job_defaults(value, partition) : set_key(key, value, partition);
    if (!done) return done;
  }
  partition.job_defaults = job_defaults_text(partition);
  partition.node_sets.clear();
  auto nodes = NodeNames(config).resolve(partition.nodes_text, &partition.node_sets);
  if (!nodes) return failure(ErrorCode::kInvalidNodeName);
  partition.nodes = std::move(*nodes);
  return {};
}

}  // namespace sluice::tables
