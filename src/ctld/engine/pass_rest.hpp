// How long the scheduler rests after a pass. A long queue is not gone through for each job that is
// put at its end: after a pass that found room for nobody the next submissions wait for one
// another, so that passes take a tenth of the time at most. News of other kinds (a job ended, a
// node came back) begin a pass at once, but for SchedulerParameters=sched_min_interval.
#pragma once

#include <algorithm>

#include "common/base/time.hpp"
#include "common/model/cluster_config.hpp"
#include "ctld/sched/pass.hpp"

namespace sluice::engine {

struct PassRest {
  Duration least{0};            // in any case
  Duration for_submissions{0};  // while there is nothing else to begin a pass for

  [[nodiscard]] Duration before_next(bool only_submissions) const {
    return only_submissions ? std::max(least, for_submissions) : least;
  }
};

[[nodiscard]] PassRest rest_after(const sched::Plan& plan, Duration took,
                                  const ClusterConfig& config);

// When a pass is due though nobody wakes it: something is over that kept jobs from starting, or a
// reservation begins or ends.
[[nodiscard]] Time next_pass_due(const sched::Plan& plan, const state::ClusterState& state,
                                 Time now);

// SchedulerParameters=default_queue_depth: so many jobs a pass looks at; now and then it is to look
// at all.
[[nodiscard]] sched::WorkBudget budget_of_pass(const ClusterConfig& config, bool all);

}  // namespace sluice::engine
