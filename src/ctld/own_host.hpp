// Whether a controller is to run on this host: SlurmctldHost says on which ones, and that only one
// runs at a time.
#pragma once

#include <string>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

// Whether a controller answers at this host or address, within TCPTimeout.
[[nodiscard]] bool controller_answers(const ClusterConfig& config, const std::string& host);

// Errors: this host is none of them, or the controller on another one answers. Asks the others, for
// TCPTimeout at most each.
[[nodiscard]] Status may_control_here(const ClusterConfig& config);

}  // namespace sluice::ctld
