// Programs of the site that the controller is to run and cannot: said when the configuration is
// read, not when they are needed.
#pragma once

#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

// One sentence for each, with its key.
[[nodiscard]] std::vector<std::string> unusable_programs(const ClusterConfig& config);

// Logs them, and what else of host_warnings() (common/config_files/check.hpp) slurmctld -t tells.
void log_config_problems(const ClusterConfig& config);

}  // namespace sluice::ctld
