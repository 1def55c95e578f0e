// scontrol create and update of a partition: the same keys, checks and messages as slurm.conf's
// PartitionName lines.
#pragma once

#include <map>
#include <string>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::tables {

// Sets the values on `partition`, nodes worked out. Errors name the key and what is allowed.
[[nodiscard]] Status update_partition(const ClusterConfig& config,
                                      const std::map<std::string, std::string>& values,
                                      PartitionConfig& partition);

}  // namespace sluice::tables
