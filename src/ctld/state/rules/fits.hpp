// Can this job start with this allocation now? The scheduler asks while it plans on a snapshot, and
// decide() asks again on the live state.
#pragma once

#include "common/base/result.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// Whether the pending `job` may start in `partition` with `allocation`: the job is eligible, the
// partition is up and has the nodes, each node is schedulable, and what is wanted of it is free (or
// may be shared in this partition).
[[nodiscard]] Status fits(const ClusterState& state, const Job& job, const Partition& partition,
                          const Allocation& allocation);

// Whether each core of this part of a suspended job is free, or held by no more jobs than may share
// it with the job.
[[nodiscard]] bool may_share_again(const ClusterState& state, const Job& job,
                                   const NodeAllocation& part);

// Whether jobs of as many nodes as `spec` asks for may run in the partition. The most that is asked
// for counts too: -N1-4 waits where MaxNodes is 2.
[[nodiscard]] bool allows_node_count(const PartitionConfig& partition, const JobSpec& spec);

// When a job that starts at `start` with this limit gives its nodes back, as far as planning goes:
// no limit counts as a year.
[[nodiscard]] Time planned_end(Time start, Minutes limit);

// The time limit that the job has when it starts in this partition.
[[nodiscard]] Minutes limit_in(const Job& job, const PartitionConfig& partition);

// The job cannot end before its --deadline, even if it starts now.
[[nodiscard]] bool is_too_late(const Job& job, Time now);

// What is left of `limit` before the job's --deadline, where --time-min lets it be cut.
[[nodiscard]] Minutes limit_before_deadline(const Job& job, Minutes limit, Time now);

// SchedulerParameters=max_switch_wait: so long a job may insist on few switches at most, and does
// where it does not say.
[[nodiscard]] Duration most_switch_wait(const ClusterConfig& config);

}  // namespace sluice::state
