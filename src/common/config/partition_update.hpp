// scontrol create and update of a partition: the same keys, checks and messages as slurm.conf's
// PartitionName lines.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::tables {

// Of these values, the keys ("PreemptMode") and options ("Exclusive=TOPO") that nothing comes of,
// by name.
[[nodiscard]] std::vector<std::string> partition_keys_without_effect(
    const ClusterConfig& config, const std::map<std::string, std::string>& values);

// Sets the values on `partition`, nodes worked out. Errors name the key and what is allowed.
[[nodiscard]] Status update_partition(const ClusterConfig& config,
                                      const std::map<std::string, std::string>& values,
                                      PartitionConfig& partition);

}  // namespace sluice::tables
