// The extern step (PrologFlags=Contain): on every node of a job from its start to its end, the
// place for what enters the job from outside. It has no tasks, holds nothing that other steps could
// have, and nothing waits for it.
#pragma once

#include <memory>

#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

[[nodiscard]] bool has_extern_step(const ClusterConfig& config);
// Of a job that has its nodes.
[[nodiscard]] std::shared_ptr<const Step> make_extern_step(const ClusterState& state,
                                                           const Job& job);
// PrologFlags=RunInJob: whether the job has its extern step on all of these nodes, in whose job's
// control groups its Prolog and Epilog are to run.
[[nodiscard]] bool has_group_for_scripts(const ClusterState& state, const Job& job,
                                         const Bitmap& nodes);

}  // namespace sluice::state
