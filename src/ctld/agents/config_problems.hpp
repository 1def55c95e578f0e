// What is wrong with a configuration on this host, in the controller's log: said when it is read.
#pragma once

#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

// Programs that cannot be run, and host_warnings() of common/config_files/check.hpp.
void log_config_problems(const ClusterConfig& config);

}  // namespace sluice::ctld
