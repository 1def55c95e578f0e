// Which running jobs others may have make room for them: what the scheduler plans by, and what the
// check of its plans asks again. A policy is a row in preemption.cpp, keyed by Slurm's own plugin
// string ("preempt/partition_prio").
#pragma once

#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// Only a script can begin anew: --requeue, --no-requeue, JobRequeue.
[[nodiscard]] inline bool may_requeue(const ClusterConfig& config, const Job& job) {
  if (!job.spec->batch) return false;
  return job.spec->requeue == Toggle::kYes ||
         (job.spec->requeue == Toggle::kDefault && config.job_requeue);
}

// Who needs room: a pending job, where it would run.
struct Preemptor {
  const Job* job = nullptr;
  const Partition* partition = nullptr;
  const Reservation* reservation = nullptr;  // null: in none
  uint32_t priority = 0;                     // there (WITHIN, PRIORITY)
};

// Whether jobs of others may be in the reservation's nodes (MaxStartDelay). They leave when one of
// its own needs the room, whatever PreemptType, PreemptMode and PreemptExemptTime say. Null: none.
[[nodiscard]] bool has_guests(const Reservation* reservation);
// Whether any job can be preempted as the cluster is configured.
[[nodiscard]] bool preempts(const ClusterState& state);
// What becomes of preempted jobs of this partition, and with preempt/qos of this QOS: kCancel,
// kRequeue, kSuspend (which frees their CPUs alone), or kOff where they are not preempted. QOS 0:
// as the cluster has it.
[[nodiscard]] PreemptMode preempt_mode_in(const ClusterState& state, const Partition& partition,
                                          QosId qos = 0);
// How long a job that starts there is left alone (PreemptExemptTime); kNotPreemptable: for ever.
[[nodiscard]] Duration preempt_exempt_in(const ClusterState& state, const Partition& partition,
                                         QosId qos = 0);
// PreemptType=preempt/qos.
[[nodiscard]] bool preempts_by_qos(const ClusterState& state);
// The QOS that a job has; 0: none.
[[nodiscard]] QosId qos_of(const Job& job);
// Whether there can be a job that makes room for this one in the partition: of a lower tier, of a
// QOS that its own may preempt.
[[nodiscard]] bool could_preempt(const ClusterState& state, const Preemptor& preemptor);
// Whether the running job has to make room for the preemptor. All components of a heterogeneous job
// go together.
[[nodiscard]] bool may_preempt(const ClusterState& state, const Preemptor& preemptor,
                               const Job& running, Time now);
// Whether it would be suspended: it keeps its memory and generic resources then. Guests of the
// preemptor's reservation are not: they leave.
[[nodiscard]] bool is_preempted_by_suspension(const ClusterState& state, const Preemptor& preemptor,
                                              const Job& running);
// When the next running job is no longer exempt (PreemptExemptTime); kNever: none will be.
[[nodiscard]] Time next_preemptable(const ClusterState& state, Time now);
// How long it is left to end by itself: GraceTime of its partition, with preempt/qos of its QOS; a
// job that gives way to a reservation has as long as its --signal asks for.
[[nodiscard]] Duration preempt_grace(const ClusterState& state, const Preemptor& preemptor,
                                     const Job& running);

// It makes room already: it ends, or was told to.
[[nodiscard]] inline bool is_leaving(const Job& job) {
  return is_completing(job) || job.grace_end != kNoTime;
}

}  // namespace sluice::state
