// Nodes that no file names: the line that scontrol or an agent brings along, read by the keys of
// slurm.conf's NodeName lines.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/node.hpp"

namespace sluice::tables {

// The nodes of `scontrol create`. kInvalidConfig with what is wrong with the line; kInvalidState:
// neither FUTURE nor CLOUD.
[[nodiscard]] Result<std::vector<NodeConfig>> created_nodes(
    const ClusterConfig& config, const std::map<std::string, std::string>& values);

// The node of `slurmd -Z --conf TEXT`: what `text` leaves open is as it was found. Without a
// NodeAddr the address is empty, for where its registration comes from is where the node is.
// kInvalidConfig as above.
[[nodiscard]] Result<NodeConfig> registering_node(const ClusterConfig& config,
                                                  const std::string& name, const std::string& text,
                                                  const NodeHardware& found);

}  // namespace sluice::tables
