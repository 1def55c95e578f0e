// Whether nodes of this cluster are put down and woken.
#pragma once

#include "common/model/cluster_config.hpp"

namespace sluice::state {

// Only with both programs: what is put down has to come up again, and a node that nobody puts down
// is not asleep.
[[nodiscard]] inline bool saves_power(const ClusterConfig& config) {
  return !config.suspend_program.empty() && !config.resume_program.empty();
}

}  // namespace sluice::state
