#include "common/tables/partition_update.hpp"

#include "common/tables/conf_assign.hpp"
#include "common/tables/conf_nodes.hpp"

namespace sluice::tables {

Status update_partition(const ClusterConfig& config,
                        const std::map<std::string, std::string>& values,
                        PartitionConfig& partition) {
  for (const auto& [key, value] : values) {
    const auto* row = find_key(partition_keys(), key);
    if (row == nullptr) {
      return failure(ErrorCode::kInvalidUpdate, "Update of this parameter is not supported: " + key);
    }
    std::vector<std::string> ignored;
    const ConfRule rule = rule_of(*row);
    const auto parsed = parse_conf_value(rule, value, &ignored);
    if (!parsed || (row->set && !row->set(partition, *parsed))) {
      return failure(ErrorCode::kBadRequest,
                     fmt::format("{}={} is not valid; allowed: {}", key, value, allowed_values(rule)));
    }
  }
  partition.node_sets.clear();
  auto nodes = NodeNames(config).resolve(partition.nodes_text, &partition.node_sets);
  if (!nodes) return failure(ErrorCode::kInvalidNodeName, nodes.error().text);
  partition.nodes = std::move(*nodes);
  return {};
}

}  // namespace sluice::tables
