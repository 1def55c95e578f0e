// A node of the configuration as the command by which its agent would register: all that the
// configuration says of it is there.
#pragma once

#include "common/model/cluster_config.hpp"
#include "ctld/state/messages/commands.hpp"

namespace sluice::sim {

// `boots`: how often it has booted.
[[nodiscard]] state::RegisterNode registration(const NodeConfig& node, uint32_t boots, Time now);

// Sizes of the machine that stand in place of the file's: `count` nodes like its first one, all of
// them in all of its partitions. `text` is "1000", or "1000:CPUs=64,RealMemory=256000"; several of
// them add up.
[[nodiscard]] Status replace_nodes(const std::vector<std::string>& texts, ClusterConfig& config);

}  // namespace sluice::sim
