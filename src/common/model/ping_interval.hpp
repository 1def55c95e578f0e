// How often the controller asks a node whether it is there.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/model/cluster_config.hpp"

namespace sluice {

// Whether a node that does not answer for SlurmdTimeout is given up.
[[nodiscard]] inline bool gives_nodes_up(const ClusterConfig& config) {
  return config.slurmd_timeout != Duration(0) && config.slurmd_timeout < kNoLimit;
}

// Often enough to notice two missed answers before SlurmdTimeout, and never a burden.
[[nodiscard]] inline Duration ping_interval(const ClusterConfig& config) {
  if (!gives_nodes_up(config)) return std::chrono::seconds(30);
  return std::clamp<Duration>(config.slurmd_timeout / 4, std::chrono::seconds(1),
                              std::chrono::seconds(30));
}

}  // namespace sluice
