// Nodes that no file names, in a configuration and its partitions: pure changes that apply() and
// decide() share.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "common/model/cluster_config.hpp"

namespace sluice::state {

// The nodes at the end of the configuration's, in node sets that have one of their features, and in
// partitions of such sets or of ALL.
void add_nodes(ClusterConfig& config, const std::vector<NodeConfig>& nodes);
// The partition has those of the nodes that are in its sets; `config` has the nodes already.
void add_to_partition(const ClusterConfig& config, const std::vector<NodeConfig>& nodes,
                      PartitionConfig& partition);

// The nodes are nowhere in the configuration any more.
void forget_nodes(ClusterConfig& config, const std::unordered_set<std::string>& names);
// A partition that names them forgets them, in its text too: it is read again when the partition is
// changed.
void forget_nodes(const ClusterConfig& config, const std::unordered_set<std::string>& names,
                  PartitionConfig& partition);

// How many nodes there may be (MaxNodeCount); those of the files when nothing is said.
[[nodiscard]] size_t most_nodes(const ClusterConfig& config);

}  // namespace sluice::state
