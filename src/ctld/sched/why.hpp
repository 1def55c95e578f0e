// Why a pending job waits, apart from resources. The first reason that holds is the one shown.
#pragma once

#include <optional>

#include "common/model/job.hpp"
#include "ctld/state/cluster_state.hpp"

namespace sluice::sched {

// Held, waiting for its begin time or for other jobs; nullopt: it may start.
[[nodiscard]] std::optional<JobReason> why_not_eligible(const Job& job, Time now);

// The partition is down, or its limits keep the job out.
[[nodiscard]] std::optional<JobReason> why_partition_refuses(const state::ClusterState& state,
                                                             const Job& job,
                                                             const state::Partition& partition);

// The time limit that the job would run with in this partition.
[[nodiscard]] Minutes limit_of(const Job& job, const state::Partition& partition);

}  // namespace sluice::sched
