// Messages to the nodes from what the state knows of a job and step; the engine adds what only it
// has (script and environment, group names).
#pragma once

#include <optional>

#include "common/protocol/noded.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/effects.hpp"

namespace sluice::state {

[[nodiscard]] protocol::NodeAddress node_address(const Node& node);
// Addresses of a job's nodes, in the order of its allocation.
[[nodiscard]] std::vector<protocol::NodeAddress> allocation_addresses(const ClusterState& state,
                                                                      const Job& job);

// Whether a node gives it generic resources: agents then hear of its allocation.
[[nodiscard]] bool holds_gres(const Job& job);

// Everything of a StepLaunch but script, environment, groups.
[[nodiscard]] protocol::StepLaunch describe_launch(const ClusterState& state, const Job& job,
                                                   const Step& step);
// The same of a step that is to run. nullopt: the step is gone, or the job
// has been restarted since.
[[nodiscard]] std::optional<protocol::StepLaunch> make_step_launch(const ClusterState& state,
                                                                   const protocol::StepKey& key);

// Of a step that is over its limit the user is told so.
[[nodiscard]] protocol::TerminateStepRequest make_terminate_step(const ClusterState& state,
                                                                 const TerminateStep& effect);

[[nodiscard]] std::optional<protocol::TerminateJobRequest> make_terminate_job(
    const ClusterState& state, const TerminateJob& effect);

// What srun and salloc see of their job.
[[nodiscard]] protocol::JobWatchUpdate make_watch_update(const ClusterState& state, const Job& job);

}  // namespace sluice::state
