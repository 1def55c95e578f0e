// sluice explain JOB: in words, why a job waits: what each constraint leaves of the nodes, which
// jobs hold what it needs, and the smallest change with which it would start now.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "common/base/result.hpp"
#include "common/protocol/ctld.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/limits/visible_jobs.hpp"

namespace sluice::sched {

struct ExplainLimits {
  state::VisibleJobs visible;  // of these may be told
  // whose limits and what is used of them may be told; nullopt: everybody's
  std::optional<uint32_t> only_limits_of;
  // of the last pass over the whole queue, to repair; null: each pass begins with nothing
  std::shared_ptr<const KeptPlan> kept = nullptr;
  uint32_t most_passes = 60;          // of the scheduler, to try out changes
  std::function<bool()> out_of_time;  // asked before each of them; null: never
};

// `job_id`: 12 or 12_3. `soft` (may be null) is what the last pass found. kInvalidJobId: there is
// none, or none that may be told of. What the limits kept it from looking at, the text says.
[[nodiscard]] Result<protocol::ExplainReply> explain(const state::ClusterState& state,
                                                     const SchedulerView* soft,
                                                     std::string_view job_id, Time now,
                                                     const ExplainLimits& limits = {});

}  // namespace sluice::sched
