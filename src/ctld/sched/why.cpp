#include "ctld/sched/why.hpp"

#include <algorithm>

namespace sluice::sched {

std::optional<JobReason> why_not_eligible(const Job& job, Time now) {
  if (job.hold == HoldKind::kAdmin) return JobReason::kJobHeldAdmin;
  if (job.hold == HoldKind::kUser) {
    // a launch failure or requeue limit says more than the hold it led to
    const bool more = job.reason != JobReason::kNone && job.reason != JobReason::kJobHeldUser;
    return more ? job.reason : JobReason::kJobHeldUser;
  }
  if (job.reason == JobReason::kDependencyNeverSatisfied) return job.reason;
  if (!job.dependency.empty()) return JobReason::kDependency;
  if (job.spec->begin > now) return JobReason::kBeginTime;
  if (!state::is_eligible(job, now)) return JobReason::kBeginTime;
  return std::nullopt;
}

Minutes limit_of(const Job& job, const state::Partition& partition) {
  if (job.time_limit != 0) return job.time_limit;
  return partition.config->default_time.value_or(partition.config->max_time);
}

std::optional<JobReason> why_partition_refuses(const state::ClusterState& state,
                                               const Job& job,
                                               const state::Partition& partition) {
  const PartitionConfig& p = *partition.config;
  if (p.state == PartitionState::kInactive) return JobReason::kPartitionInactive;
  if (p.state == PartitionState::kDown) return JobReason::kPartitionDown;
  if (state::is_admin(state, job.spec->uid)) return std::nullopt;
  const Minutes limit = limit_of(job, partition);
  if (p.max_time != kInfiniteMinutes && limit > p.max_time && job.spec->time_min > p.max_time) {
    return JobReason::kPartitionTimeLimit;
  }
  if (p.max_time != kInfiniteMinutes && limit > p.max_time && job.spec->time_min == 0) {
    return JobReason::kPartitionTimeLimit;
  }
  const uint32_t least = std::max(1U, job.spec->min_nodes);
  if (least > p.max_nodes) return JobReason::kPartitionNodeLimit;
  if (job.spec->max_nodes != 0 && job.spec->max_nodes < p.min_nodes) return JobReason::kPartitionNodeLimit;
  return std::nullopt;
}

}  // namespace sluice::sched
