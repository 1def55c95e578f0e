// Whether and how this node uses control groups, by its configuration and what the host has.
#pragma once

#include <string>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/protocol/stepd_start.hpp"

namespace sluice::cgroup {

// Names in an agent's environment the group (v2), as in /proc/PID/cgroup, below which it may make
// its own.
inline constexpr const char* kDelegatedGroup = "SLUICE_DELEGATED_CGROUP";

// ProctrackType, TaskPlugin or JobAcctGatherType says cgroup, and cgroup.conf does not forbid it.
[[nodiscard]] bool is_wanted(const ClusterConfig& config);
// Jobs and steps have a limit on memory.
[[nodiscard]] bool limits_memory(const ClusterConfig& config);

// Looks at the mount point and makes the node's own groups. The error says what is missing: without
// the tracker there are no groups at all. Controllers that are wanted and cannot be used are left
// out and named in `missing`, separated by blanks. Memory limits are not set.
[[nodiscard]] Result<protocol::CgroupSetup> prepare(const ClusterConfig& config,
                                                    const std::string& root, std::string& missing);

// "slurm_NODE.HASH", with a hash of the spool folder: that is one agent's alone on a host.
[[nodiscard]] std::string root_name(const std::string& node, const std::string& spool_dir);

// The limit of a job or step with `wanted_mib` (0: it may have all of the node's) on a host of
// `host_mib`.
[[nodiscard]] protocol::MemoryLimit memory_limit(const CgroupConfig& config, uint64_t wanted_mib,
                                                 uint64_t host_mib);

}  // namespace sluice::cgroup
