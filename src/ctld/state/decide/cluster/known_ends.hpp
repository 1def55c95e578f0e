// sluice restore: what the journal that is replaced says of the jobs of an older state that is put
// back.
#pragma once

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::state {

// The events by which jobs end in `restored` that are over in `later`, the state that it replaces:
// they are not to run again. Of what `later` has forgotten, and of tasks of an array that waited
// together, it is not said how they ended.
[[nodiscard]] Events known_ends(const ClusterState& restored, const ClusterState& later);

}  // namespace sluice::state
