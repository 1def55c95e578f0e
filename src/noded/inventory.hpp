// What this host has: processors by hwloc, memory, temporary space, boot. And what of it a node
// says.
#pragma once

#include <cstdint>
#include <string>

#include "common/model/cluster_config.hpp"
#include "common/model/node.hpp"

namespace sluice::noded {

// Host name, address and port are left empty.
[[nodiscard]] NodeHardware discover_hardware(const std::string& tmp_fs);

// The hardware as the node reports it: SlurmdParameters=config_overrides makes the configured
// counts stand for the real ones.
[[nodiscard]] NodeHardware reported_hardware(NodeHardware real,
                                             const NodeConfig& node,
                                             const ClusterConfig& config);

// `slurmd -C`: a NodeName line for slurm.conf, then the time since boot.
[[nodiscard]] std::string node_line(const NodeHardware& hardware, Duration uptime);

[[nodiscard]] Duration uptime();
// Load average and free memory now.
[[nodiscard]] NodeSoft measure_load();

}  // namespace sluice::noded
