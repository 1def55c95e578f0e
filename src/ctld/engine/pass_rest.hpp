// How long the scheduler rests after a pass. A long queue is not gone through for each job that is
// put at its end: after a pass that found room for nobody the next submissions wait for one
// another, so that passes take a tenth of the time at most. News of other kinds (a job ended, a
// node came back) begin a pass at once, but for SchedulerParameters=sched_min_interval. Where the
// queue is so long that a pass takes its time, most passes look at its first jobs only, and one in
// a while at all.
#pragma once

#include <algorithm>
#include <optional>

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

// How long it waits for news before there is a pass without any: sched_interval (-1: there is
// none), or `usual`.
[[nodiscard]] Duration longest_wait(const ClusterConfig& config, Duration usual);

// When a pass is due though nobody wakes it: something is over that kept jobs from starting, or a
// reservation begins or ends.
[[nodiscard]] Time next_pass_due(const sched::Plan& plan, const state::ClusterState& state,
                                 Time now);

// A pass that does not look at all jobs ends after this.
inline constexpr Duration kShortPass = std::chrono::milliseconds(20);
// When a pass is to look at all jobs again after one that did and took so long; bf_interval.
[[nodiscard]] Duration rest_of_whole_passes(Duration took, const ClusterConfig& config);
// How long a pass may take that looks at all jobs (bf_max_time).
[[nodiscard]] Duration longest_pass(const ClusterConfig& config);

// What SchedulerParameters let one pass do: default_queue_depth and partition_job_depth (so many
// jobs, but for passes over all), assoc_limit_stop, bf_max_job_test, bf_job_part_count_reserve,
// bf_max_job_array_resv, sched_max_job_start.
[[nodiscard]] sched::WorkBudget budget_of_pass(const ClusterConfig& config, bool all);

}  // namespace sluice::engine
