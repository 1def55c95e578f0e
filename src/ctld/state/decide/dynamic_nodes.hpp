// Whether nodes that no file names may come into being.
#pragma once

#include <vector>

#include "ctld/state/cluster_state.hpp"

namespace sluice::state {

// Errors: a name is taken, or there would be more nodes than MaxNodeCount.
[[nodiscard]] Status check_new_nodes(const ClusterState& state, const std::vector<NodeConfig>& nodes);

}  // namespace sluice::state
