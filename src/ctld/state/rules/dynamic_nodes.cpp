#include "ctld/state/rules/dynamic_nodes.hpp"

#include <algorithm>

#include "common/base/contains.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"

namespace sluice::state {
namespace {

const NodeSetConfig* find_set(const ClusterConfig& config, const std::string& name) {
  const auto at = std::ranges::find(config.node_sets, name, &NodeSetConfig::name);
  return at == config.node_sets.end() ? nullptr : &*at;
}

bool is_set(const ClusterConfig& config, const std::string& entry) {
  return iequals(entry, "ALL") || find_set(config, entry) != nullptr;
}

}  // namespace

void add_to_partition(const ClusterConfig& config, const std::vector<NodeConfig>& nodes,
                      PartitionConfig& partition) {
  for (const NodeConfig& node : nodes) {
    const bool in_a_set = std::ranges::any_of(partition.node_sets, [&](const std::string& name) {
      const NodeSetConfig* set = find_set(config, name);
      return iequals(name, "ALL") || (set != nullptr && contains(set->nodes, node.name));
    });
    if (in_a_set && !contains(partition.nodes, node.name)) partition.nodes.push_back(node.name);
  }
}

void add_nodes(ClusterConfig& config, const std::vector<NodeConfig>& nodes) {
  config.nodes.insert(config.nodes.end(), nodes.begin(), nodes.end());
  for (NodeSetConfig& set : config.node_sets) {
    for (const NodeConfig& node : nodes) {
      const bool wanted = std::ranges::any_of(
          set.features, [&](const std::string& one) { return contains(node.features, one); });
      if (wanted && !contains(set.nodes, node.name)) set.nodes.push_back(node.name);
    }
  }
  for (PartitionConfig& partition : config.partitions) add_to_partition(config, nodes, partition);
}

void forget_nodes(const ClusterConfig& config, const std::unordered_set<std::string>& names,
                  PartitionConfig& partition) {
  const auto gone = [&](const std::string& name) { return names.contains(name); };
  if (std::erase_if(partition.nodes, gone) == 0) return;
  std::vector<std::string> entries;
  for (const std::string& entry : split_hosts(partition.nodes_text)) {
    auto hosts = is_set(config, entry) ? Result<std::vector<std::string>>() : expand_hosts(entry);
    if (!hosts || std::erase_if(*hosts, gone) == 0) entries.push_back(entry);
    else if (!hosts->empty()) entries.push_back(fold_hosts(*hosts));
  }
  partition.nodes_text = join(entries, ",");
}

void forget_nodes(ClusterConfig& config, const std::unordered_set<std::string>& names) {
  std::erase_if(config.nodes, [&](const NodeConfig& node) { return names.contains(node.name); });
  for (NodeSetConfig& set : config.node_sets) {
    std::erase_if(set.nodes, [&](const std::string& name) { return names.contains(name); });
  }
  for (PartitionConfig& partition : config.partitions) forget_nodes(config, names, partition);
}

size_t most_nodes(const ClusterConfig& config) {
  if (config.max_node_count != 0) return config.max_node_count;
  return static_cast<size_t>(
      std::ranges::count(config.nodes, DynamicNode::kNo, &NodeConfig::dynamic));
}

}  // namespace sluice::state
