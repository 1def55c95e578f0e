// The priorities of waiting jobs at this moment, for commands that go by them (scontrol top): what
// a pass found may be of the time before the last change, and knows nothing of a job that just
// came.
#pragma once

#include <string_view>
#include <vector>

#include "common/base/time.hpp"
#include "ctld/sched/policy/priority.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/commands.hpp"

namespace sluice::ctld {

// Of all jobs that wait and are not held, of those users whose jobs the targets name.
[[nodiscard]] std::vector<state::JobRank> ranks_beside(const state::ClusterState& state,
                                                       const sched::Policies& policies,
                                                       std::string_view targets, Time now);

}  // namespace sluice::ctld
