#include "ctld/state/rules/preemption.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/base/text.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::state {
namespace {

bool has_lower_tier(const ClusterState& state, const Preemptor& preemptor, const Job& running) {
  const Partition* partition = find_partition(state, running.partition.view());
  return partition != nullptr &&
         partition->config->priority_tier < preemptor.partition->config->priority_tier;
}

bool has_preemptable_partition(const ClusterState& state, const Preemptor& preemptor) {
  return std::ranges::any_of(*state.partitions, [&](const Partition& one) {
    return one.config->priority_tier < preemptor.partition->config->priority_tier &&
           preempt_mode_in(state, one) != PreemptMode::kOff;
  });
}

const QosRecord* find_qos_of(const ClusterState& state, QosId id) {
  return id == 0 ? nullptr : state.accounting.qos.find(id);
}

// WITHIN: jobs of a QOS make room for those of it that have a higher priority.
bool preempts_within(const ClusterState& state, const QosRecord& qos) {
  return state.config->preempt_within || is_within(qos.preempt_mode);
}

bool has_preemptable_qos(const ClusterState& state, const Preemptor& preemptor,
                         const Job& running) {
  const QosRecord* qos = find_qos_of(state, qos_of(*preemptor.job));
  if (qos == nullptr) return false;
  if (qos_of(running) == qos->id)
    return preempts_within(state, *qos) && running.priority < preemptor.priority;
  return std::ranges::binary_search(qos->preempt, qos_of(running));
}

bool may_preempt_some_qos(const ClusterState& state, const Preemptor& preemptor) {
  const QosRecord* qos = find_qos_of(state, qos_of(*preemptor.job));
  return qos != nullptr && (!qos->preempt.empty() || preempts_within(state, *qos));
}

struct Policy {
  std::string_view plugin;
  bool (*goes_first)(const ClusterState& state, const Preemptor& preemptor, const Job& running);
  bool (*could)(const ClusterState& state, const Preemptor& preemptor);
  bool by_qos = false;  // modes and times are those of the QOS
};
constexpr std::array kPolicies{
    Policy{"preempt/partition_prio", has_lower_tier, has_preemptable_partition},
    Policy{"preempt/qos", has_preemptable_qos, may_preempt_some_qos, true}};

const Policy* policy_of(const ClusterState& state) {
  const auto at = std::ranges::find_if(
      kPolicies, [&](const Policy& p) { return iequals(p.plugin, state.config->preempt_type); });
  return at == kPolicies.end() ? nullptr : &*at;
}

// A job of --signal=R: began in the reservation's nodes as it can leave them soon enough.
bool is_guest_of(const ClusterState& state, const Reservation* reservation, const Job& running) {
  if (reservation == nullptr || running.reservation == reservation->name ||
      !lets_in(*reservation, leaves_within(*running.spec)))
    return false;
  // where its jobs may have other nodes, too, whoever runs on those is no guest
  constexpr ReservationFlags kOpen = kReservationFlex | kReservationAnyNodes;
  if ((reservation->flags & kOpen) == 0) return true;
  const NodeHold hold = hold_of(state, *reservation);
  return std::ranges::any_of(running.allocation->nodes,
                             [&](const NodeAllocation& part) { return hold.touches(part); });
}

bool may_leave(const Job& running) {
  const bool runs = running.state == JobState::kRunning || running.state == JobState::kSuspended;
  return runs && !is_leaving(running) && running.allocation != nullptr;
}

// It may begin in the reservation's nodes as it gives way to the jobs there: they would have each
// other leave for ever.
bool is_guest_beside(const ClusterState& state, const Preemptor& preemptor, const Job& running) {
  if (running.reservation.empty()) return false;
  const Reservation* theirs = find_reservation(state, running.reservation.view());
  if (theirs == nullptr || theirs == preemptor.reservation) return false;
  return lets_in(*theirs, leaves_within(*preemptor.job->spec));
}

bool may_preempt_one(const ClusterState& state, const Preemptor& preemptor, const Job& running,
                     Time now) {
  const Partition* partition = find_partition(state, running.partition.view());
  if (!may_leave(running) || partition == nullptr) return false;
  // what is suspended, or has not begun, has no CPUs to give; parts of a job go together
  if (preempt_mode_in(state, *partition, qos_of(running)) == PreemptMode::kSuspend &&
      ((running.state == JobState::kSuspended && !running.time_sliced) || running.preparing.any() ||
       running.het != nullptr))
    return false;
  const Duration exempt = preempt_exempt_in(state, *partition, qos_of(running));
  if (exempt == kNotPreemptable || now < running.start + exempt) return false;
  const Policy* policy = policy_of(state);
  if (state.config->preempt_by_priority && running.priority >= preemptor.priority) return false;
  return policy != nullptr && policy->goes_first(state, preemptor, running) &&
         !is_guest_beside(state, preemptor, running);
}

}  // namespace

QosId qos_of(const Job& job) { return job.account == nullptr ? 0 : job.account->qos; }

bool has_guests(const Reservation* reservation) {
  return reservation != nullptr && reservation->max_start_delay > Duration(0);
}

bool preempts(const ClusterState& state) {
  if (std::ranges::any_of(*state.reservations,
                          [](const Reservation& one) { return has_guests(&one); }))
    return true;
  const Policy* policy = policy_of(state);
  if (policy != nullptr && policy->by_qos) {
    bool any = false;
    state.accounting.qos.for_each([&](const QosRecord& qos) {
      any = any || !qos.preempt.empty() || preempts_within(state, qos);
    });
    return any;
  }
  return std::ranges::any_of(*state.partitions, [&](const Partition& p) {
    return preempt_mode_in(state, p) != PreemptMode::kOff;
  });
}

bool preempts_by_qos(const ClusterState& state) {
  const Policy* policy = policy_of(state);
  return policy != nullptr && policy->by_qos;
}

bool could_preempt(const ClusterState& state, const Preemptor& preemptor) {
  const Policy* policy = policy_of(state);
  return policy != nullptr && policy->could(state, preemptor);
}

PreemptMode preempt_mode_in(const ClusterState& state, const Partition& partition, QosId qos) {
  const Policy* policy = policy_of(state);
  if (policy == nullptr) return PreemptMode::kOff;
  PreemptMode mode = state.config->preempt_mode;
  if (policy->by_qos) {
    const QosRecord* record = find_qos_of(state, qos);
    const QosPreemptMode own = record == nullptr ? QosPreemptMode::kClusterDefault
                                                 : mode_beside_within(record->preempt_mode);
    if (own == QosPreemptMode::kCancel) return PreemptMode::kCancel;
    if (own == QosPreemptMode::kRequeue) return PreemptMode::kRequeue;
    if (own == QosPreemptMode::kSuspend) return PreemptMode::kSuspend;
    if (own == QosPreemptMode::kGang) return PreemptMode::kOff;
  } else {
    mode = partition.config->preempt_mode.value_or(mode);
  }
  const bool acts = mode == PreemptMode::kCancel || mode == PreemptMode::kRequeue ||
                    mode == PreemptMode::kSuspend;
  return acts ? mode : PreemptMode::kOff;
}

bool is_preempted_by_suspension(const ClusterState& state, const Preemptor& preemptor,
                                const Job& running) {
  if (is_guest_of(state, preemptor.reservation, running)) return false;
  const Partition* partition = find_partition(state, running.partition.view());
  return partition != nullptr &&
         preempt_mode_in(state, *partition, qos_of(running)) == PreemptMode::kSuspend;
}

Duration preempt_exempt_in(const ClusterState& state, const Partition& partition, QosId qos) {
  if (preempt_mode_in(state, partition, qos) == PreemptMode::kOff) return kNotPreemptable;
  Duration exempt = state.config->preempt_exempt_time;
  const QosRecord* record = find_qos_of(state, qos);
  if (record != nullptr && record->preempt_exempt_time) exempt = *record->preempt_exempt_time;
  return exempt < kNoLimit ? exempt : kNotPreemptable;
}

bool may_preempt(const ClusterState& state, const Preemptor& preemptor, const Job& running,
                 Time now) {
  // it was let in as it leaves, whatever becomes of others
  const bool guest = may_leave(running) && is_guest_of(state, preemptor.reservation, running);
  const auto may = [&](const Job& one) {
    return guest ? may_leave(one) : may_preempt_one(state, preemptor, one, now);
  };
  bool all = may(running);
  if (running.het == nullptr) return all;
  for_components(state, *running.het,
                 [&](const Job& one) { all = all && (is_terminal(one.state) || may(one)); });
  return all;
}

Time next_preemptable(const ClusterState& state, Time now) {
  Time next = kNever;
  state.active.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    const Partition* partition =
        is_completing(job) ? nullptr : find_partition(state, job.partition.view());
    const Duration exempt =
        partition == nullptr ? kNotPreemptable : preempt_exempt_in(state, *partition, qos_of(job));
    if (exempt != kNotPreemptable && job.start + exempt > now)
      next = std::min(next, job.start + exempt);
  });
  return next;
}

Duration preempt_grace(const ClusterState& state, const Preemptor& preemptor, const Job& running) {
  const Partition* partition = find_partition(state, running.partition.view());
  Duration grace(0);
  if (partition != nullptr) grace = std::chrono::seconds(partition->config->grace_time_s);
  const Policy* policy = policy_of(state);
  const QosRecord* qos = find_qos_of(state, qos_of(running));
  if (policy != nullptr && policy->by_qos && qos != nullptr)
    grace = qos->grace_time.value_or(Duration(0));
  if (is_guest_of(state, preemptor.reservation, running))
    grace = std::max(grace, leaves_within(*running.spec).value_or(grace));
  return grace;
}

}  // namespace sluice::state
