// What changed between two configurations, and what of it waits for a restart.
#pragma once

#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"

namespace sluice::tables {

struct ConfigChanges {
  std::vector<std::string> keys;          // global keys with another value, restart or not
  std::vector<std::string> need_restart;  // those of them that a reconfigure cannot change
  std::vector<std::string> nodes_added, nodes_removed, nodes_changed;
  std::vector<std::string> partitions_added, partitions_removed, partitions_changed;
};

[[nodiscard]] ConfigChanges config_changes(const ClusterConfig& before, const ClusterConfig& after);

// For a reconfigure: puts the running values of keys that need a restart back into `fresh`.
void keep_until_restart(const ClusterConfig& running, ClusterConfig& fresh);

}  // namespace sluice::tables
