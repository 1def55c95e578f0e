// What this host has: processors by hwloc, memory, temporary space, boot. And what of it a node
// says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"
#include "common/model/node.hpp"

namespace sluice::noded {

// Host name, address and port are left empty. SlurmdParameters=l3cache_as_socket or
// numa_node_as_socket have what shares a level 3 cache or is a NUMA node counted as a socket, where
// the cores are dealt evenly to them.
[[nodiscard]] NodeHardware discover_hardware(const std::string& tmp_fs,
                                             const std::vector<std::string>& slurmd_parameters);

// The numbers that the kernel gives to this host's CPUs, socket by socket and core by core, as
// slurm.conf counts them: the threads of a core need not have numbers that follow each other.
// Empty: unknown.
[[nodiscard]] std::vector<uint32_t> processor_order();

// The hardware as the node reports it: SlurmdParameters=config_overrides makes the configured
// counts stand for the real ones.
[[nodiscard]] NodeHardware reported_hardware(NodeHardware real, const NodeConfig& node,
                                             const ClusterConfig& config);

// `slurmd -C`: a NodeName line for slurm.conf, then the time since boot.
[[nodiscard]] std::string node_line(const NodeHardware& hardware, Duration uptime);

[[nodiscard]] Duration uptime();
// Load average and free memory now.
[[nodiscard]] NodeSoft measure_load();

}  // namespace sluice::noded
