// Which node of a job runs its script: sbatch --batch.
#pragma once

#include "common/base/result.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// Position in the allocation: where the script runs; before it does, the first node with the
// features that --batch asks for, or the first of all.
[[nodiscard]] size_t batch_position(const ClusterState& state, const Job& job);

// What the script of a job that starts with this allocation is told of its node: all that the job
// holds there.
[[nodiscard]] std::shared_ptr<const StepNode> batch_part(const ClusterState& state,
                                                         const JobSpec& spec,
                                                         const Allocation& allocation);

// The features of --batch must be among those that the job asks of its nodes.
[[nodiscard]] Status check_batch_features(const JobSpec& spec);

}  // namespace sluice::state
