// Programs of the site that the controller is to run and cannot: said when the configuration is
// read, not when they are needed.
#pragma once

#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

// One sentence for each, with its key.
[[nodiscard]] std::vector<std::string> unusable_programs(const ClusterConfig& config);

}  // namespace sluice::ctld
