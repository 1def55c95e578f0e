#include "common/config/partition_update.hpp"

#include <optional>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/config/conf_assign.hpp"
#include "common/config/conf_finish.hpp"
#include "common/config/conf_nodes.hpp"
#include "common/config/keys/conf_ignored.hpp"

namespace sluice::tables {

namespace {

// "one of UP, DOWN, DRAIN" as "UP, DOWN and DRAIN".
std::string in_words(std::string text) {
  if (text == "YES or NO") return "YES and NO";
  constexpr std::string_view kOneOf = "one of ";
  if (!text.starts_with(kOneOf)) return text;
  text.erase(0, kOneOf.size());
  const size_t last = text.rfind(", ");
  return last == std::string::npos ? text : text.replace(last, 2, " and ");
}

// What Slurm's scontrol says of a value that its key does not take.
Status refuse_value(const ConfKey<PartitionConfig>& row, const std::string& key,
                    const std::string& value) {
  const ConfRule rule = rule_of(row);
  if (row.name == "JobDefaults" || row.name == "TRESBillingWeights") {
    return failure(ErrorCode::kError, fmt::format("Invalid {} specification", row.name));
  }
  const auto refuse = [](std::string text) {
    return failure(ErrorCode::kInvalidUpdate, std::move(text));
  };
  if (row.name == "MaxNodes")
    return refuse(fmt::format("Invalid numeric value \"{}\" for MaxNodes.", value));
  if (row.name == "MinNodes") return refuse(fmt::format("\"{}\" is not a valid node count", value));
  if (row.name == "CpuBind") return refuse(fmt::format("Invalid input {}={}", key, value));
  switch (rule.kind) {
    case ConfKind::kNumber:
    case ConfKind::kMemory:
    case ConfKind::kMinutes:
    case ConfKind::kSeconds: return refuse(fmt::format("Invalid {} value: {}", row.name, value));
    case ConfKind::kTimeLimit: return refuse(fmt::format("Invalid input {}={}", key, value));
    case ConfKind::kFlags: return refuse(fmt::format("Invalid input: {}={}", key, value));
    default: break;
  }
  const bool shares = row.name == "Shared" || row.name == "OverSubscribe";
  return refuse(
      fmt::format("Invalid input: {}={}\nscontrol: error: Acceptable {} values are {}", key, value,
                  shares ? "OverSubscribe" : row.name,
                  shares ? "NO, EXCLUSIVE, YES:#, and FORCE:#" : in_words(allowed_values(rule))));
}

// Sets one key of a PartitionName line.
Status set_key(const std::string& key, const std::string& value, PartitionConfig& partition) {
  const auto* row = find_key(partition_keys(), key);
  if (row == nullptr) {
    return failure(ErrorCode::kInvalidUpdate,
                   fmt::format("Update of this parameter is not supported: {}={}\n"
                               "scontrol: error: Request aborted",
                               key, value));
  }
  std::vector<std::string> ignored;
  const ConfRule rule = rule_of(*row);
  const bool cleared = value.empty() && rule.kind == ConfKind::kName;  // Alternate=, QOS=
  const auto parsed =
      cleared ? std::optional(ConfValue()) : parse_conf_value(rule, value, &ignored);
  if (parsed && (!row->set || row->set(partition, *parsed))) return {};
  return refuse_value(*row, key, value);
}

}  // namespace

std::vector<std::string> partition_keys_without_effect(
    const ClusterConfig& config, const std::map<std::string, std::string>& values) {
  const std::vector<std::string> unenforced = unenforced_keys(config);
  std::vector<std::string> out;
  for (const auto& [key, value] : values) {
    const auto* row = find_key(partition_keys(), key);
    if (row == nullptr) continue;
    const std::string name = fmt::format("PartitionName.{}", row->name);
    const bool unset = value.empty() || iequals(value, "ALL");
    if (is_without_effect(*row, value) || (!unset && contains(unenforced, name)))
      out.push_back(name);
    const auto parsed = parse_conf_value(rule_of(*row), value, nullptr);
    if (!parsed) continue;
    for (const std::string& option : idle_options(*row, *parsed))
      out.push_back(fmt::format("PartitionName.{}={}", row->name, option));
  }
  return out;
}

Status update_partition(const ClusterConfig& config,
                        const std::map<std::string, std::string>& values,
                        PartitionConfig& partition) {
  for (const auto& [key, value] : values) {
    if (auto ok = set_key(key, value, partition); !ok) return ok;
  }
  partition.job_defaults = job_defaults_text(partition);
  partition.node_sets.clear();
  auto nodes = NodeNames(config).resolve(partition.nodes_text, &partition.node_sets);
  if (!nodes) return failure(ErrorCode::kInvalidNodeName);
  partition.nodes = std::move(*nodes);
  return {};
}

}  // namespace sluice::tables
