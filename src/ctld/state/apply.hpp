// apply(): the only function that changes ClusterState. It cannot fail; an event that does not fit
// the state is a broken invariant and ends the process.
#pragma once

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::state {

void apply(ClusterState& state, const Event& event);

}  // namespace sluice::state
