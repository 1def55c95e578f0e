// sluice explain JOB: in words, why a job waits: what each constraint leaves of the nodes, which
// jobs hold what it needs, and the smallest change with which it would start now.
#pragma once

#include <string_view>

#include "common/base/result.hpp"
#include "common/protocol/ctld.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/state/cluster_state.hpp"

namespace sluice::sched {

// `job_id`: 12 or 12_3. `soft` (may be null) is what the last pass found. kInvalidJobId: there is
// none.
[[nodiscard]] Result<protocol::ExplainReply> explain(const state::ClusterState& state,
                                                     const SoftView* soft,
                                                     std::string_view job_id,
                                                     Time now);

}  // namespace sluice::sched
