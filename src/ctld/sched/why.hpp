// Why a pending job waits, apart from resources. The first reason that holds is the one shown.
#pragma once

#include <optional>
#include <string>

#include "common/model/job.hpp"
#include "ctld/sched/resources.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::sched {

// Held, waiting for its begin time or for other jobs; nullopt: it may start.
[[nodiscard]] std::optional<JobReason> why_not_eligible(const Job& job, Time now);

// The partition is down, lets its user not in (any more), or its limits keep the job out.
[[nodiscard]] std::optional<JobReason> why_partition_refuses(const state::ClusterState& state,
                                                             const Job& job,
                                                             const state::Partition& partition);

// The time limit that the job would run with in this partition.
[[nodiscard]] Minutes limit_of(const Job& job, const state::Partition& partition);

struct Waiting {
  JobReason reason = JobReason::kResources;
  std::string detail;     // for %R, where the reason alone does not say it
  bool for_nodes = true;  // jobs that run hold what it needs: nodes may be kept for it
};
// Why a job that cannot be placed now cannot: nodes are down or reserved, it fits
// nowhere, or just kResources.
[[nodiscard]] Waiting why_not_placed(const Resources& resources, const Request& request,
                                     Minutes limit);

}  // namespace sluice::sched
