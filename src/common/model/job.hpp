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
#include "common/base/index_set.hpp"
#include "common/model/gres.hpp"
#include "common/model/job_spec.hpp"
#include "common/model/job_state.hpp"
#include "common/model/step.hpp"

namespace sluice {

using NodeId = uint32_t;  // position in the node table; stable for the life of the cluster's state
inline constexpr NodeId kNoNode = UINT32_MAX;

// What a job holds on one node.
struct NodeAllocation {
  NodeId node = kNoNode;
  Bitmap cores;       // cores of the node that are the job's
  uint32_t cpus = 0;  // CPUs (threads) charged
  uint64_t memory_mib = 0;
  GresShares gres;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &NodeAllocation::node);
    field(2, "cores", &NodeAllocation::cores);
    field(3, "cpus", &NodeAllocation::cpus);
    field(4, "memory_mib", &NodeAllocation::memory_mib);
    field(5, "gres", &NodeAllocation::gres);
  }
};

struct Allocation {
  std::vector<NodeAllocation> nodes;  // in node-table order; the first is the batch host
  std::string node_list;              // folded names
  uint32_t cpus = 0;                  // sum
  bool whole_nodes = false;           // allocated exclusively
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &Allocation::nodes);
    field(2, "node_list", &Allocation::node_list);
    field(3, "cpus", &Allocation::cpus);
    field(4, "whole_nodes", &Allocation::whole_nodes);
  }
};

// A pending array's tasks that are still one record, or the identity of one task.
struct ArrayInfo {
  JobId array_job = kNoJob;  // the id users see before the "_"
  uint32_t task = kNoTask;   // kNoTask: this record stands for `pending`
  IndexSet pending;          // tasks not split off yet
  uint32_t max_running = 0;  // %limit; 0: none
  uint32_t task_count = 0, task_min = 0, task_max = 0, task_step = 1;  // SLURM_ARRAY_TASK_*
  // cancelled while they were in `pending`; known to the array's own record only
  IndexSet cancelled;
  template <class V>
  static void describe(V&& field) {
    field(1, "array_job", &ArrayInfo::array_job);
    field(2, "task", &ArrayInfo::task);
    field(3, "pending", &ArrayInfo::pending);
    field(4, "max_running", &ArrayInfo::max_running);
    field(5, "task_count", &ArrayInfo::task_count);
    field(6, "task_min", &ArrayInfo::task_min);
    field(7, "task_max", &ArrayInfo::task_max);
    field(8, "task_step", &ArrayInfo::task_step);
    field(9, "cancelled", &ArrayInfo::cancelled);
  }
};

// The component that a job is of a heterogeneous job. The components' ids follow one another.
struct HetInfo {
  JobId leader = kNoJob;  // the first component: the id users see before the "+"
  uint32_t offset = 0;    // this one's number
  uint32_t size = 0;      // how many there are
  template <class V>
  static void describe(V&& field) {
    field(1, "leader", &HetInfo::leader);
    field(2, "offset", &HetInfo::offset);
    field(3, "size", &HetInfo::size);
  }
};

// A component that runs, as the processes of the whole job are told of it.
struct HetComponent {
  JobId job = kNoJob;
  std::shared_ptr<const JobSpec> spec;  // null where the asker has it
  std::string node_list;
  std::vector<std::string> nodes;  // names, in the order of the allocation
  std::vector<uint32_t> cpus;      // on each node
  std::string partition;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &HetComponent::job);
    field(2, "spec", &HetComponent::spec);
    field(3, "node_list", &HetComponent::node_list);
    field(4, "nodes", &HetComponent::nodes);
    field(5, "cpus", &HetComponent::cpus);
    field(6, "partition", &HetComponent::partition);
  }
};

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
  SharedText partition;  // where the reason holds
  template <class V>
  static void describe(V&& field) {
    field(1, "priority", &SchedulerHints::priority);
    field(2, "reason", &SchedulerHints::reason);
    field(3, "reason_detail", &SchedulerHints::reason_detail);
    field(4, "expected_start", &SchedulerHints::expected_start);
    field(5, "planned_nodes", &SchedulerHints::planned_nodes);
    field(6, "last_evaluated", &SchedulerHints::last_evaluated);
    field(7, "partition", &SchedulerHints::partition);
  }
};

// Changes to a job; only what is set changes. Names follow scontrol update's keys.
struct JobUpdate {
  static constexpr uint32_t kRetired[] = {48};
  std::optional<std::string> account, admin_comment, comment, extra, name, partitions, qos,
      reservation, required_nodes, excluded_nodes, constraint, dependency, licenses, wckey, std_out,
      std_err, std_in, work_dir, mail_type, mail_user, gres, switches, cluster_features,
      tres_per_job, tres_per_socket, tres_per_task, cpus_per_gpu, tres_bind, tres_freq, prefer;
  std::optional<Minutes> time_limit, time_min;
  std::optional<Time> begin, deadline, end;
  std::optional<uint32_t> priority, min_nodes, max_nodes, num_tasks, cpus_per_task, min_cpus,
      max_cpus, min_cpus_per_node, array_max_running, delay_boot_seconds, sockets_per_node,
      cores_per_socket, threads_per_core, ntasks_per_node, core_spec, thread_spec,
      wait_for_switch_seconds;
  std::optional<int32_t> nice, site_factor;
  std::optional<uint64_t> memory_per_node_mib, memory_per_cpu_mib, memory_per_gpu_mib, tmp_disk_mib;
  std::optional<bool> requeue, contiguous, hold, reset_accrue, reboot;
  std::optional<Sharing> sharing;
  template <class V>
  static void describe(V&& field) {
    field(1, "account", &JobUpdate::account);
    field(2, "admin_comment", &JobUpdate::admin_comment);
    field(3, "comment", &JobUpdate::comment);
    field(4, "extra", &JobUpdate::extra);
    field(5, "name", &JobUpdate::name);
    field(6, "partitions", &JobUpdate::partitions);
    field(7, "qos", &JobUpdate::qos);
    field(8, "reservation", &JobUpdate::reservation);
    field(9, "required_nodes", &JobUpdate::required_nodes);
    field(10, "excluded_nodes", &JobUpdate::excluded_nodes);
    field(11, "constraint", &JobUpdate::constraint);
    field(12, "dependency", &JobUpdate::dependency);
    field(13, "licenses", &JobUpdate::licenses);
    field(14, "wckey", &JobUpdate::wckey);
    field(15, "std_out", &JobUpdate::std_out);
    field(16, "std_err", &JobUpdate::std_err);
    field(17, "std_in", &JobUpdate::std_in);
    field(18, "work_dir", &JobUpdate::work_dir);
    field(19, "mail_type", &JobUpdate::mail_type);
    field(20, "mail_user", &JobUpdate::mail_user);
    field(21, "gres", &JobUpdate::gres);
    field(22, "switches", &JobUpdate::switches);
    field(23, "cluster_features", &JobUpdate::cluster_features);
    field(24, "time_limit", &JobUpdate::time_limit);
    field(25, "time_min", &JobUpdate::time_min);
    field(26, "begin", &JobUpdate::begin);
    field(27, "deadline", &JobUpdate::deadline);
    field(28, "end", &JobUpdate::end);
    field(29, "priority", &JobUpdate::priority);
    field(30, "min_nodes", &JobUpdate::min_nodes);
    field(31, "max_nodes", &JobUpdate::max_nodes);
    field(32, "num_tasks", &JobUpdate::num_tasks);
    field(33, "cpus_per_task", &JobUpdate::cpus_per_task);
    field(34, "min_cpus", &JobUpdate::min_cpus);
    field(35, "max_cpus", &JobUpdate::max_cpus);
    field(36, "min_cpus_per_node", &JobUpdate::min_cpus_per_node);
    field(37, "array_max_running", &JobUpdate::array_max_running);
    field(38, "delay_boot_seconds", &JobUpdate::delay_boot_seconds);
    field(39, "nice", &JobUpdate::nice);
    field(40, "memory_per_node_mib", &JobUpdate::memory_per_node_mib);
    field(41, "memory_per_cpu_mib", &JobUpdate::memory_per_cpu_mib);
    field(42, "tmp_disk_mib", &JobUpdate::tmp_disk_mib);
    field(43, "requeue", &JobUpdate::requeue);
    field(44, "contiguous", &JobUpdate::contiguous);
    field(45, "hold", &JobUpdate::hold);
    field(46, "reset_accrue", &JobUpdate::reset_accrue);
    field(47, "sharing", &JobUpdate::sharing);
    field(49, "tres_per_job", &JobUpdate::tres_per_job);
    field(50, "tres_per_socket", &JobUpdate::tres_per_socket);
    field(51, "tres_per_task", &JobUpdate::tres_per_task);
    field(52, "cpus_per_gpu", &JobUpdate::cpus_per_gpu);
    field(53, "tres_bind", &JobUpdate::tres_bind);
    field(54, "memory_per_gpu_mib", &JobUpdate::memory_per_gpu_mib);
    field(80, "prefer", &JobUpdate::prefer);
    field(81, "sockets_per_node", &JobUpdate::sockets_per_node);
    field(82, "cores_per_socket", &JobUpdate::cores_per_socket);
    field(83, "threads_per_core", &JobUpdate::threads_per_core);
    field(84, "ntasks_per_node", &JobUpdate::ntasks_per_node);
    field(85, "core_spec", &JobUpdate::core_spec);
    field(86, "thread_spec", &JobUpdate::thread_spec);
    field(87, "wait_for_switch_seconds", &JobUpdate::wait_for_switch_seconds);
    field(88, "reboot", &JobUpdate::reboot);
    field(89, "site_factor", &JobUpdate::site_factor);
    field(550, "tres_freq", &JobUpdate::tres_freq);
  }
};

}  // namespace sluice
