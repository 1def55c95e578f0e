// The configuration from disk: slurm.conf with all it includes, and cgroup.conf, gres.conf and
// others beside it. All that reads a file or asks for a user is here; the rules are in tables/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice {

inline constexpr const char* kUsualConfigPath = "/etc/slurm/slurm.conf";

// The path to read: `given` (a command's -f) when not empty, else $SLURM_CONF, else the usual one.
[[nodiscard]] std::string config_path(std::string_view given = {});

// As load_config(), without nodes, partitions and the files beside slurm.conf: all that a command
// needs to reach the controller, in a time that does not grow with the cluster.
[[nodiscard]] Result<ClusterConfig> load_global_config(const std::string& path);

// Everything at `path`, checked, users' names looked up. kInvalidConfig with `FILE:LINE: …` when it
// cannot be used. `warnings` (may be null) receives what is worth a line in the log.
[[nodiscard]] Result<ClusterConfig> load_config(const std::string& path,
                                                std::vector<std::string>* warnings = nullptr);

}  // namespace sluice
