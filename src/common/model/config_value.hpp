// Keys of slurm.conf that have no member of ClusterConfig.
#pragma once

#include <string>

#include "common/model/cluster_config.hpp"

namespace sluice {

// As it was set; empty: it was not.
[[nodiscard]] inline std::string config_value(const ClusterConfig& config, const char* key) {
  const auto found = config.values.find(key);
  return found == config.values.end() ? std::string() : found->second;
}

}  // namespace sluice
