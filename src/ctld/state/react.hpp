// react(): what the world must be told after an event. resume(): what it may not have been told
// because the controller ended before, or because another one took over.
#pragma once

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/effects.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::state {

// `state` is the state after the whole frame that `event` is part of.
[[nodiscard]] Effects react(const ClusterState& state, const Event& event);

// The same of a whole frame. What several of its events ask for is there once.
[[nodiscard]] Effects react(const ClusterState& state, const Events& frame);

[[nodiscard]] Effects resume(const ClusterState& state);

}  // namespace sluice::state
