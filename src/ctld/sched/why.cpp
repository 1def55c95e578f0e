#include "ctld/sched/why.hpp"

#include <algorithm>

#include "ctld/sched/idle_placement.hpp"
#include "ctld/state/rules/access.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::sched {

std::optional<JobReason> why_not_eligible(const Job& job, Time now) {
  if (job.hold == HoldKind::kAdmin) return JobReason::kJobHeldAdmin;
  if (job.hold == HoldKind::kUser) {
    // a launch failure or requeue limit says more than the hold it led to
    const bool more = job.reason != JobReason::kNone && job.reason != JobReason::kJobHeldUser;
    return more ? job.reason : JobReason::kJobHeldUser;
  }
  if (!job.dependency.empty()) {
    return job.reason == JobReason::kDependencyNeverSatisfied ? job.reason : JobReason::kDependency;
  }
  if (job.spec->begin > now) return JobReason::kBeginTime;
  if (!state::is_eligible(job, now)) return JobReason::kBeginTime;
  return std::nullopt;
}

Minutes limit_of(const Job& job, const state::Partition& partition) {
  return state::limit_in(job, *partition.config);
}

std::optional<JobReason> why_partition_refuses(const state::ClusterState& state, const Job& job,
                                               const state::Partition& partition) {
  const PartitionConfig& p = *partition.config;
  if (p.state == PartitionState::kInactive) return JobReason::kPartitionInactive;
  if (p.state == PartitionState::kDown) return JobReason::kPartitionDown;
  if (const auto refused = state::why_not_admitted(state, partition, *job.spec)) return refused;
  const Minutes least = job.spec->time_min != 0 ? job.spec->time_min : limit_of(job, partition);
  const QosFlags flags = state::qos_flags(state, *job.spec);
  const bool any_time = p.max_time == kInfiniteMinutes || (flags & kQosPartitionTimeLimit) != 0;
  if (!any_time && least > p.max_time) return JobReason::kPartitionTimeLimit;
  if (!state::allows_node_count(p, *job.spec, flags)) return JobReason::kPartitionNodeLimit;
  if (fit::exceeds_memory_limit(*job.spec, p, *state.config, partition.max_node_memory_mib))
    return JobReason::kMaxMemPerLimit;
  return std::nullopt;
}

namespace {

// What Slurm says of a job whose nodes others have reserved.
std::string reserved_text(const Resources& resources, const Request& request, Minutes limit) {
  const state::ClusterState& state = resources.state();
  const Time now = resources.now();
  const Bitmap& wanted = request.required.any() ? request.required : request.partition->nodes;
  const bool maintenance = std::ranges::any_of(*state.reservations, [&](const Reservation& one) {
    return (one.flags & kReservationMaint) != 0 &&
           state::overlaps(one, now, resources.end_of(limit), now) &&
           state::nodes_of(state, one).intersects(wanted);
  });
  return maintenance ? "ReqNodeNotAvail, Reserved for maintenance"
                     : "ReqNodeNotAvail, May be reserved for other job";
}

}  // namespace

Waiting why_not_placed(const Resources& resources, const Request& request, Minutes limit) {
  const state::ClusterState& state = resources.state();
  if (place_idle(resources, request, false)) {
    if (state.reservations->empty() || place_beside_reservations(resources, request, limit))
      return {};
    // of nodes that it names this is said whoever else waits
    return {JobReason::kReqNodeNotAvail, reserved_text(resources, request, limit),
            request.required.none()};
  }
  if (!place_idle(resources, request, true)) {
    const bool too_large = request.needs.min_nodes > request.partition->nodes.count() ||
                           request.needs.min_cpus > request.partition->total_cpus;
    return {too_large ? JobReason::kPartitionConfig : JobReason::kBadConstraints, {}, false};
  }
  Bitmap unavailable;
  request.required.for_each([&](size_t id) {
    if (resources.idle(static_cast<NodeId>(id)) == nullptr) unavailable.set(id);
  });
  if (unavailable.any()) {
    return {JobReason::kReqNodeNotAvail,
            "ReqNodeNotAvail, UnavailableNodes:" + state::node_list(state, unavailable), false};
  }
  return {
      JobReason::kResources,
      "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
      false};
}

}  // namespace sluice::sched
