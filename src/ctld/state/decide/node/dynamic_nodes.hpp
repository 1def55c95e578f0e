// Nodes that no file names: whether they may come into being, and as what.
#pragma once

#include <vector>

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::state {

// Errors: a name is taken, or there would be more nodes than MaxNodeCount.
[[nodiscard]] Status check_new_nodes(const ClusterState& state,
                                     const std::vector<NodeConfig>& nodes);
// They have what their helpers manage (helpers.conf).
[[nodiscard]] NodesCreated new_nodes(const ClusterState& state, std::vector<NodeConfig> nodes,
                                     Time now);

}  // namespace sluice::state
