// A job as the controller keeps it. The spec and the allocation are immutable and shared between
// the live state and its snapshots.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/ids.hpp"
#include "common/model/allocation.hpp"
#include "common/model/array_info.hpp"
#include "common/model/het_job.hpp"
#include "common/model/job_account.hpp"
#include "common/model/job_spec.hpp"
#include "common/model/job_state.hpp"
#include "common/model/priority_factors.hpp"
#include "common/model/step.hpp"

namespace sluice {

inline constexpr Duration kNotPreemptable{-1};

struct Job {
  JobId id = kNoJob;
  std::shared_ptr<const JobSpec> spec;
  JobState state = JobState::kPending;
  JobFlags flags = 0;
  // durable part: why it ended, or a hold; see SchedulerHints for waiting
  JobReason reason = JobReason::kNone;
  SharedText state_description;
  HoldKind hold = HoldKind::kNone;
  std::shared_ptr<const ArrayInfo> array;  // null: no array
  uint32_t restart_count = 0;
  Minutes time_limit = 0;                        // in force (after the partition's default)
  SharedText partition;                          // chosen when started; before, the first asked for
  std::shared_ptr<const Allocation> allocation;  // null while pending; kept after the end
  Time submit = kNoTime;
  Time eligible = kNoTime;
  Time accrue = kNoTime;
  Time start = kNoTime;
  Time end = kNoTime;  // real end; running: start + limit
  Time suspended_at = kNoTime;
  Duration before_suspend{0};       // run time before the last suspension
  int32_t exit_status = 0;          // as wait(2) gives it, of the batch script or salloc's command
  int32_t derived_exit_status = 0;  // highest of all steps
  uint32_t cancelled_by = UINT32_MAX;  // uid
  Time kill_sent = kNoTime;            // when its end was ordered
  StepNumber next_step = 0;
  std::vector<std::shared_ptr<const Step>> steps;  // live ones
  SharedText dependency;                           // what is left of spec->dependency
  Bitmap released;           // positions in allocation->nodes that were given back already
  Bitmap preparing;          // positions whose prolog has not ended; the position after the
                             // last node stands for PrologSlurmctld, those after it for
                             // nodes that are being rebooted: boot_position()
  bool signal_sent = false;  // spec->signal, before the time limit
  std::shared_ptr<const HetInfo> het;  // null: not heterogeneous
  SharedText reservation;  // in whose nodes it runs or ran; empty: nobody's, or it waits
  // percent of the time limit that a mail was last sent at: 50, 80, 90
  uint32_t limit_warned = 0;
  bool early_script = false;  // its script waits for the prolog of its own node only
  SharedText failed_node;     // whose loss ended its last run; empty: none
  // of a running job: request ids of its last steps that are over
  std::vector<uint64_t> ended_requests;
  // since its start it runs at least so long before it may be preempted
  Duration preempt_exempt = kNotPreemptable;
  // when it was told to make room, and when it was ended for that
  Time preempted_at = kNoTime;
  Time grace_end = kNoTime;  // told to make room: it is ended then
  // with which it was started; 0: it waits, or a controller before this one started it
  uint32_t priority = 0;
  // suspended so that others have its CPUs (PreemptMode=SUSPEND): it goes on when they are free
  bool suspended_for_others = false;
  // suspended for a time slice (PreemptMode=GANG): it keeps its CPUs, which others use meanwhile
  bool time_sliced = false;
  std::shared_ptr<const JobAccount> account;  // null: accounting does not know it
  std::shared_ptr<const JobCharge> charge;    // since its start; null: it waits, or is not charged
  Time charged = kNoTime;  // until when its run was charged; kNoTime: see Accounting::charged
  AdminSet admin_set = 0;
  // it could start, and by GrpJobsAccrue or MaxJobsAccrue its age does not grow
  bool age_limited = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &Job::id);
    field(2, "spec", &Job::spec);
    field(3, "state", &Job::state);
    field(4, "flags", &Job::flags);
    field(5, "reason", &Job::reason);
    field(6, "state_description", &Job::state_description);
    field(7, "hold", &Job::hold);
    field(8, "array", &Job::array);
    field(9, "restart_count", &Job::restart_count);
    field(10, "time_limit", &Job::time_limit);
    field(11, "partition", &Job::partition);
    field(12, "allocation", &Job::allocation);
    field(13, "submit", &Job::submit);
    field(14, "eligible", &Job::eligible);
    field(15, "accrue", &Job::accrue);
    field(16, "start", &Job::start);
    field(17, "end", &Job::end);
    field(18, "suspended_at", &Job::suspended_at);
    field(19, "before_suspend", &Job::before_suspend);
    field(20, "exit_status", &Job::exit_status);
    field(21, "derived_exit_status", &Job::derived_exit_status);
    field(22, "cancelled_by", &Job::cancelled_by);
    field(23, "kill_sent", &Job::kill_sent);
    field(24, "next_step", &Job::next_step);
    field(25, "steps", &Job::steps);
    field(26, "dependency", &Job::dependency);
    field(27, "released", &Job::released);
    field(28, "preparing", &Job::preparing);
    field(29, "signal_sent", &Job::signal_sent);
    field(30, "het", &Job::het);
    field(50, "limit_warned", &Job::limit_warned);
    field(300, "reservation", &Job::reservation);
    field(390, "early_script", &Job::early_script);
    field(391, "failed_node", &Job::failed_node);
    field(392, "ended_requests", &Job::ended_requests);
    field(560, "preempt_exempt", &Job::preempt_exempt);
    field(561, "preempted_at", &Job::preempted_at);
    field(562, "grace_end", &Job::grace_end);
    field(563, "priority", &Job::priority);
    field(564, "suspended_for_others", &Job::suspended_for_others);
    field(565, "time_sliced", &Job::time_sliced);
    field(660, "account", &Job::account);
    field(661, "charge", &Job::charge);
    field(662, "charged", &Job::charged);
    field(663, "admin_set", &Job::admin_set);
    field(664, "age_limited", &Job::age_limited);
  }
};

// Of a node that is rebooted before the job begins (--reboot), in Job::preparing.
[[nodiscard]] inline size_t boot_position(const Job& job, size_t node) {
  return job.allocation->nodes.size() + 1 + node;
}

[[nodiscard]] inline bool is_booting(const Job& job) {
  return job.allocation != nullptr &&
         job.preparing.find_next(job.allocation->nodes.size()) != Bitmap::kNone;
}

// Of a job with nodes: all have booted, and PrologSlurmctld has ended.
[[nodiscard]] inline bool prologs_may_run(const Job& job) {
  return job.preparing.find_next(job.allocation->nodes.size() - 1) == Bitmap::kNone;
}

// Over, while nodes of it are still being cleaned.
[[nodiscard]] inline bool is_completing(const Job& j) { return (j.flags & kJobCompleting) != 0; }

[[nodiscard]] inline bool is_finished(const Job& j) {
  return is_terminal(j.state) && !is_completing(j);
}

// It is to run again, once its last run is gone from its nodes.
[[nodiscard]] inline bool is_cleaning(const Job& j) {
  return (j.flags & kJobCompleting) != 0 && (j.flags & kJobRequeued) != 0;
}

// A component of a heterogeneous job that is not the first: what the job does as a whole is the
// first one's affair.
[[nodiscard]] inline bool is_het_follower(const Job& j) {
  return j.het != nullptr && j.het->offset != 0;
}

// From when on others may have it make room; kNoTime: at no time, as the site was configured when
// it started.
[[nodiscard]] inline Time preemptable_from(const Job& j) {
  return j.start == kNoTime || j.preempt_exempt < Duration(0) ? kNoTime
                                                              : j.start + j.preempt_exempt;
}

// The reservation that it uses, or those that it asks for.
[[nodiscard]] inline const SharedText& reservation_of(const Job& j) {
  return j.reservation.empty() ? j.spec->reservation : j.reservation;
}

// Never journaled: what the scheduler found out about a pending job; published beside a snapshot.
struct SchedulerHints {
  uint32_t priority = 0;
  JobReason reason = JobReason::kNone;
  SharedText reason_detail;       // text for %R where the reason alone does not say it
  Time expected_start = kNoTime;  // forecast
  SharedText planned_nodes;       // SchedNodeList
  Time last_evaluated = kNoTime;
  SharedText partition;                         // where the reason holds
  std::vector<PartitionPriority> by_partition;  // of a job that asks for several
  template <class V>
  static void describe(V&& field) {
    field(1, "priority", &SchedulerHints::priority);
    field(2, "reason", &SchedulerHints::reason);
    field(3, "reason_detail", &SchedulerHints::reason_detail);
    field(4, "expected_start", &SchedulerHints::expected_start);
    field(5, "planned_nodes", &SchedulerHints::planned_nodes);
    field(6, "last_evaluated", &SchedulerHints::last_evaluated);
    field(7, "partition", &SchedulerHints::partition);
    field(8, "by_partition", &SchedulerHints::by_partition);
  }
};

}  // namespace sluice
