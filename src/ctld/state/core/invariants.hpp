// What must always hold of the state. Used by tests and the simulation, and by the controller after
// a replay.
#pragma once

#include <string>
#include <vector>

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::state {

// Everything: nothing is allocated twice, the sums of the nodes are those of their jobs, the
// indexes are those that rebuild_derived() makes, each record is consistent in itself. Empty: all
// is well.
[[nodiscard]] std::vector<std::string> check_state(const ClusterState& state);

// What an event may have broken, looking only at what it changed. `state` is the state after the
// whole frame.
[[nodiscard]] std::vector<std::string> check_after(const ClusterState& state, const Event& event);

// Whether the event is a step that a job or node may take from the state before it.
[[nodiscard]] std::vector<std::string> check_transition(const ClusterState& before,
                                                        const Event& event);

// What differs between two states, derived parts too; empty: they are equal.
[[nodiscard]] std::vector<std::string> differences(const ClusterState& a, const ClusterState& b);

}  // namespace sluice::state
