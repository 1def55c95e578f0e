// What happened, in the past tense: the only things that change ClusterState, and what the journal
// keeps. An event carries every value it needs (times, ids, allocations), so that applying it again
// gives the same state. kTag and the field numbers are the journal's format: add, never change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/ids.hpp"
#include "common/base/shared_text.hpp"
#include "common/base/time.hpp"
#include "common/base/variant_class.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/job.hpp"
#include "common/model/step.hpp"
#include "common/protocol/signal_flags.hpp"
#include "ctld/state/events/accounting_events.hpp"
#include "ctld/state/events/admin_events.hpp"
#include "ctld/state/events/node_events.hpp"

namespace sluice::state {

// --- the controller ------------------------------------------------------------------------------

struct EpochStarted {
  static constexpr uint32_t kTag = 1;
  static constexpr const char* kName = "EpochStarted";
  std::string cluster_id;
  uint64_t epoch = 0;
  Time time = kNoTime;
  // ids go on with it (--first-job-id); kNoJob: with the one that is due
  JobId next_job_id = kNoJob;
  std::string credential_key;  // the public key, in hexadecimal digits; empty: as before
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &EpochStarted::cluster_id);
    field(2, "epoch", &EpochStarted::epoch);
    field(3, "time", &EpochStarted::time);
    field(4, "next_job_id", &EpochStarted::next_job_id);
    field(5, "credential_key", &EpochStarted::credential_key);
  }
};
// Nodes and partitions follow from it: new ones appear, missing ones go.
struct ConfigReplaced {
  static constexpr uint32_t kTag = 2;
  static constexpr const char* kName = "ConfigReplaced";
  std::shared_ptr<const ClusterConfig> config;
  Time time = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "config", &ConfigReplaced::config);
    field(2, "time", &ConfigReplaced::time);
  }
};

// --- jobs ----------------------------------------------------------------------------------------

struct JobSubmitted {
  static constexpr uint32_t kTag = 3;
  static constexpr const char* kName = "JobSubmitted";
  Job job;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobSubmitted::job);
  }
};
// The parts of a job that scontrol update can change, as they are afterwards.
struct JobUpdated {
  static constexpr uint32_t kTag = 4;
  static constexpr const char* kName = "JobUpdated";
  JobId job = kNoJob;
  // null: it stays. With `changed`, of these fields alone (spec_change.hpp)
  std::shared_ptr<const JobSpec> spec;
  std::shared_ptr<const ArrayInfo> array;
  Minutes time_limit = 0;
  SharedText partition;
  SharedText dependency;
  Time eligible = kNoTime;
  Time accrue = kNoTime;
  Time end = kNoTime;
  Time time = kNoTime;
  // numbers of the specification's fields, ascending; empty: all of it is in `spec`, as in older
  // journals
  std::vector<uint32_t> changed;
  std::shared_ptr<const JobAccount> account = {};  // null: it stays
  AdminSet admin_set = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobUpdated::job);
    field(2, "spec", &JobUpdated::spec);
    field(3, "array", &JobUpdated::array);
    field(4, "time_limit", &JobUpdated::time_limit);
    field(5, "partition", &JobUpdated::partition);
    field(6, "dependency", &JobUpdated::dependency);
    field(7, "eligible", &JobUpdated::eligible);
    field(8, "accrue", &JobUpdated::accrue);
    field(9, "end", &JobUpdated::end);
    field(10, "time", &JobUpdated::time);
    field(11, "changed", &JobUpdated::changed);
    field(660, "account", &JobUpdated::account);
    field(661, "admin_set", &JobUpdated::admin_set);
  }
};
struct JobHeld {
  static constexpr uint32_t kTag = 5;
  static constexpr const char* kName = "JobHeld";
  JobId job = kNoJob;
  HoldKind hold = HoldKind::kNone;
  JobReason reason = JobReason::kNone;
  SharedText description;
  JobFlags flags = 0;  // added: kJobSpecialExit
  Time time = kNoTime;
  Time eligible = kNoTime;  // what is left of a delay: at the earliest then
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobHeld::job);
    field(2, "hold", &JobHeld::hold);
    field(3, "reason", &JobHeld::reason);
    field(4, "description", &JobHeld::description);
    field(5, "flags", &JobHeld::flags);
    field(6, "time", &JobHeld::time);
    field(7, "eligible", &JobHeld::eligible);
  }
};
struct JobReleased {
  static constexpr uint32_t kTag = 6;
  static constexpr const char* kName = "JobReleased";
  JobId job = kNoJob;
  Time time = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobReleased::job);
    field(2, "time", &JobReleased::time);
  }
};
struct JobBecameEligible {
  static constexpr uint32_t kTag = 7;
  static constexpr const char* kName = "JobBecameEligible";
  JobId job = kNoJob;
  Time time = kNoTime;
  bool age_limited =
      false;  // its age does not grow yet: a later event of this kind says that it does
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobBecameEligible::job);
    field(2, "time", &JobBecameEligible::time);
    field(3, "age_limited", &JobBecameEligible::age_limited);
  }
};
// Some of what the job waits for has come about, or never will (kDependencyNeverSatisfied).
struct JobDependencyChanged {
  static constexpr uint32_t kTag = 8;
  static constexpr const char* kName = "JobDependencyChanged";
  JobId job = kNoJob;
  SharedText dependency;  // what is left
  JobReason reason = JobReason::kNone;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobDependencyChanged::job);
    field(2, "dependency", &JobDependencyChanged::dependency);
    field(3, "reason", &JobDependencyChanged::reason);
  }
};
// Tasks of a pending array got records of their own (to be held, cancelled, changed alone).
struct ArrayTasksSplit {
  static constexpr uint32_t kTag = 9;
  static constexpr const char* kName = "ArrayTasksSplit";
  struct Task {
    uint32_t task = kNoTask;
    JobId job = kNoJob;  // new id; the last pending task takes the array's own
    template <class V>
    static void describe(V&& field) {
      field(1, "task", &Task::task);
      field(2, "job", &Task::job);
    }
  };
  JobId array_job = kNoJob;
  std::vector<Task> tasks;
  template <class V>
  static void describe(V&& field) {
    field(1, "array_job", &ArrayTasksSplit::array_job);
    field(2, "tasks", &ArrayTasksSplit::tasks);
  }
};
// A job got its nodes; of an array: some of its tasks, each of which gets a record of its own.
struct JobStarted {
  static constexpr uint32_t kTag = 10;
  static constexpr const char* kName = "JobStarted";
  struct Start {
    uint32_t task = kNoTask;
    JobId job = kNoJob;  // the record that runs: `record` itself, or a task's new id
    std::shared_ptr<const Allocation> allocation;
    Bitmap booting = {};  // positions of nodes that get features for it; as `reboot`, for these
    // where its script runs; null: it has none, or an earlier version
    std::shared_ptr<const StepNode> batch = {};
    // wrote this, which worked it out when it was applied
    std::shared_ptr<const JobCharge> charge = {};  // null: it is not charged
    template <class V>
    static void describe(V&& field) {
      field(1, "task", &Start::task);
      field(2, "job", &Start::job);
      field(3, "allocation", &Start::allocation);
      field(450, "booting", &Start::booting);
      field(451, "batch", &Start::batch);
      field(660, "charge", &Start::charge);
    }
  };
  JobId record = kNoJob;  // the pending record
  SharedText partition;
  Minutes time_limit = 0;
  Time time = kNoTime;
  Time end = kNoTime;              // start + limit; kNever without one
  bool prolog = false;             // configuring until each node has reported its prolog's end
  bool controller_prolog = false;  // configuring until PrologSlurmctld has ended
  bool reboot = false;             // configuring until the nodes have been rebooted
  std::vector<Start> starts;
  SharedText reservation;     // whose nodes these are; empty: nobody's
  bool early_script = false;  // the script begins when the prolog of its own node has ended
  Duration preempt_exempt = kNotPreemptable;
  uint32_t priority = 0;
  std::shared_ptr<const JobAccount> account = {};  // null: as it was
  SharedText soft_qos = {};  // it runs in this one (soft_limit_qos); empty: in its own
  template <class V>
  static void describe(V&& field) {
    field(1, "record", &JobStarted::record);
    field(2, "partition", &JobStarted::partition);
    field(3, "time_limit", &JobStarted::time_limit);
    field(4, "time", &JobStarted::time);
    field(5, "end", &JobStarted::end);
    field(6, "prolog", &JobStarted::prolog);
    field(7, "controller_prolog", &JobStarted::controller_prolog);
    field(8, "starts", &JobStarted::starts);
    field(20, "reboot", &JobStarted::reboot);
    field(300, "reservation", &JobStarted::reservation);
    field(390, "early_script", &JobStarted::early_script);
    field(560, "preempt_exempt", &JobStarted::preempt_exempt);
    field(563, "priority", &JobStarted::priority);
    field(660, "account", &JobStarted::account);
    field(661, "soft_qos", &JobStarted::soft_qos);
  }
};
// Prologs have ended on these nodes of the job, or the controller's own (`controller`).
struct JobPrepared {
  static constexpr uint32_t kTag = 11;
  static constexpr const char* kName = "JobPrepared";
  JobId job = kNoJob;
  Bitmap positions;  // in allocation->nodes, and boot_position()
  bool controller = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobPrepared::job);
    field(2, "positions", &JobPrepared::positions);
    field(3, "controller", &JobPrepared::controller);
  }
};
// The job is over (or is to be: its processes are being ended) and its nodes are being cleaned.
struct JobCompleting {
  static constexpr uint32_t kTag = 12;
  static constexpr const char* kName = "JobCompleting";
  JobId job = kNoJob;
  JobState state = JobState::kCompleted;
  JobReason reason = JobReason::kNone;
  SharedText description;
  int32_t exit_status = 0;
  uint32_t cancelled_by = UINT32_MAX;  // uid
  // kJobRequeued, kJobRequeueHold, kJobSpecialExit, kJobLaunchFailed
  JobFlags flags = 0;
  Time time = kNoTime;
  SharedText failed_node;  // whose loss is the reason
  // Of a job that is queued again, maybe in the same frame: when and where it ran.
  Time start = kNoTime;
  std::shared_ptr<const Allocation> allocation = nullptr;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobCompleting::job);
    field(2, "state", &JobCompleting::state);
    field(3, "reason", &JobCompleting::reason);
    field(4, "description", &JobCompleting::description);
    field(5, "exit_status", &JobCompleting::exit_status);
    field(6, "cancelled_by", &JobCompleting::cancelled_by);
    field(7, "flags", &JobCompleting::flags);
    field(8, "time", &JobCompleting::time);
    field(9, "failed_node", &JobCompleting::failed_node);
    field(10, "start", &JobCompleting::start);
    field(11, "allocation", &JobCompleting::allocation);
  }
};
// These nodes are free of the job: cleaned, or lost.
struct JobNodesReleased {
  static constexpr uint32_t kTag = 13;
  static constexpr const char* kName = "JobNodesReleased";
  JobId job = kNoJob;
  Bitmap positions;  // in allocation->nodes
  Time time = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobNodesReleased::job);
    field(2, "positions", &JobNodesReleased::positions);
    field(3, "time", &JobNodesReleased::time);
  }
};
// The end for good: all nodes are clean, or the job never had any (then with state and reason).
struct JobEnded {
  static constexpr uint32_t kTag = 14;
  static constexpr const char* kName = "JobEnded";
  JobId job = kNoJob;
  JobState state = JobState::kCompleted;
  JobReason reason = JobReason::kNone;
  uint32_t cancelled_by = UINT32_MAX;
  Time time = kNoTime;  // of this event; the job's own end was set when it was completing
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobEnded::job);
    field(2, "state", &JobEnded::state);
    field(3, "reason", &JobEnded::reason);
    field(4, "cancelled_by", &JobEnded::cancelled_by);
    field(5, "time", &JobEnded::time);
  }
};
// Back to pending, its nodes being clean.
struct JobRequeued {
  static constexpr uint32_t kTag = 15;
  static constexpr const char* kName = "JobRequeued";
  JobId job = kNoJob;
  uint32_t restart_count = 0;
  HoldKind hold = HoldKind::kNone;
  JobReason reason = JobReason::kNone;
  SharedText description;
  JobFlags flags = 0;    // afterwards: kJobSpecialExit, kJobLaunchFailed
  Time begin = kNoTime;  // not before
  Time time = kNoTime;
  int32_t exit_status = 0;          // of the run that is over: shown until the next one starts
  int32_t derived_exit_status = 0;  // of steps of all runs
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobRequeued::job);
    field(2, "restart_count", &JobRequeued::restart_count);
    field(3, "hold", &JobRequeued::hold);
    field(4, "reason", &JobRequeued::reason);
    field(5, "description", &JobRequeued::description);
    field(6, "flags", &JobRequeued::flags);
    field(7, "begin", &JobRequeued::begin);
    field(8, "time", &JobRequeued::time);
    field(320, "exit_status", &JobRequeued::exit_status);
    field(321, "derived_exit_status", &JobRequeued::derived_exit_status);
  }
};
// A job that is completing will not be requeued: it was cancelled meanwhile.
struct JobRequeueCancelled {
  static constexpr uint32_t kTag = 35;
  static constexpr const char* kName = "JobRequeueCancelled";
  JobId job = kNoJob;
  uint32_t cancelled_by = UINT32_MAX;  // uid
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobRequeueCancelled::job);
    field(2, "cancelled_by", &JobRequeueCancelled::cancelled_by);
  }
};
// The job's processes are stopped; it keeps nodes and memory, its CPUs are free for others.
struct JobSuspended {
  static constexpr uint32_t kTag = 36;
  static constexpr const char* kName = "JobSuspended";
  JobId job = kNoJob;
  Time time = kNoTime;
  bool for_others = false;  // PreemptMode=SUSPEND: the scheduler has it go on
  bool time_slice = false;  // PreemptMode=GANG: those that share its CPUs have their turn
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobSuspended::job);
    field(2, "time", &JobSuspended::time);
    field(3, "for_others", &JobSuspended::for_others);
    field(4, "time_slice", &JobSuspended::time_slice);
  }
};
// It goes on, on the same CPUs: beside others, if these were given away meanwhile.
struct JobResumed {
  static constexpr uint32_t kTag = 37;
  static constexpr const char* kName = "JobResumed";
  JobId job = kNoJob;
  Time end = kNoTime;  // time limit's end, later by the time of the suspension
  Time time = kNoTime;
  bool time_slice = false;  // its turn has come (PreemptMode=GANG)
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobResumed::job);
    field(2, "end", &JobResumed::end);
    field(3, "time", &JobResumed::time);
    field(4, "time_slice", &JobResumed::time_slice);
  }
};
// The job is to make room for another one, and was given some time to end by itself.
struct JobPreempted {
  static constexpr uint32_t kTag = 72;
  static constexpr const char* kName = "JobPreempted";
  JobId job = kNoJob;
  JobId preemptor = kNoJob;
  Time grace_end = kNoTime;  // it is ended then
  Time time = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobPreempted::job);
    field(2, "preemptor", &JobPreempted::preemptor);
    field(3, "grace_end", &JobPreempted::grace_end);
    field(4, "time", &JobPreempted::time);
  }
};
struct JobsPurged {
  static constexpr uint32_t kTag = 16;
  static constexpr const char* kName = "JobsPurged";
  std::vector<JobId> jobs;
  IndexSet folded;  // ids of folded array tasks
  template <class V>
  static void describe(V&& field) {
    field(1, "jobs", &JobsPurged::jobs);
    field(2, "folded", &JobsPurged::folded);
  }
};
// Array tasks that are over for good gave up their records for a compact form.
struct ArrayTasksFolded {
  static constexpr uint32_t kTag = 70;
  static constexpr const char* kName = "ArrayTasksFolded";
  IndexSet jobs;  // their ids
  template <class V>
  static void describe(V&& field) {
    field(1, "jobs", &ArrayTasksFolded::jobs);
  }
};
// A running job gave some of its nodes back (scontrol update NumNodes, NodeList).
struct JobShrunk {
  static constexpr uint32_t kTag = 71;
  static constexpr const char* kName = "JobShrunk";
  JobId job = kNoJob;
  std::shared_ptr<const Allocation> allocation;  // what it keeps
  Bitmap nodes;                                  // NodeIds that it gave back
  Time time = kNoTime;
  std::shared_ptr<const JobCharge> charge = {};  // of what it keeps; null: as it was
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobShrunk::job);
    field(2, "allocation", &JobShrunk::allocation);
    field(3, "nodes", &JobShrunk::nodes);
    field(4, "time", &JobShrunk::time);
    field(660, "charge", &JobShrunk::charge);
  }
};
// A signal was sent on to the processes of a job or step; the state does not change by it, except
// that --signal is sent once, and that STOP has a whole job shown as STOPPED until CONT.
struct JobSignaled {
  static constexpr uint32_t kTag = 17;
  static constexpr const char* kName = "JobSignaled";
  JobId job = kNoJob;
  StepNumber step = UINT32_MAX;  // UINT32_MAX: as the flags say
  uint32_t signal = 0;
  protocol::SignalFlags flags = 0;
  bool warning = false;  // the job's own --signal
  SharedText message;    // scontrol notify
  Time time = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobSignaled::job);
    field(2, "step", &JobSignaled::step);
    field(3, "signal", &JobSignaled::signal);
    field(4, "flags", &JobSignaled::flags);
    field(5, "warning", &JobSignaled::warning);
    field(6, "message", &JobSignaled::message);
    field(7, "time", &JobSignaled::time);
  }
};
// Nodes have not reported a job clean for long: they are told again.
struct JobTerminateResent {
  static constexpr uint32_t kTag = 18;
  static constexpr const char* kName = "JobTerminateResent";
  JobId job = kNoJob;
  Time time = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobTerminateResent::job);
    field(2, "time", &JobTerminateResent::time);
  }
};

// Tasks of a pending array were cancelled before they had records of their own.
struct ArrayTasksCancelled {
  static constexpr uint32_t kTag = 19;
  static constexpr const char* kName = "ArrayTasksCancelled";
  JobId array_job = kNoJob;
  IndexSet tasks;  // not all that were pending: then the record itself ends
  uint32_t cancelled_by = UINT32_MAX;
  Time time = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "array_job", &ArrayTasksCancelled::array_job);
    field(2, "tasks", &ArrayTasksCancelled::tasks);
    field(3, "cancelled_by", &ArrayTasksCancelled::cancelled_by);
    field(4, "time", &ArrayTasksCancelled::time);
  }
};

using AnyEvent =
    std::variant<EpochStarted, ConfigReplaced, JobSubmitted, JobUpdated, JobHeld, JobReleased,
                 JobBecameEligible, JobDependencyChanged, ArrayTasksSplit, JobStarted, JobPrepared,
                 JobCompleting, JobNodesReleased, JobEnded, JobRequeued, JobRequeueCancelled,
                 JobSuspended, JobResumed, JobPreempted, JobsPurged, ArrayTasksFolded, JobShrunk,
                 JobSignaled, JobTerminateResent, ArrayTasksCancelled, StepCreated, StepNodesEnded,
                 StepEnded, StepEndOrdered, NodeRegistered, NodeStateChanged, NodeUpdated,
                 PartitionChanged, PartitionDeleted, JobLimitNear, StepUpdated, TriggerSet,
                 TriggersCleared, TriggerFired, CrontabReplaced, NodesCreated, NodesDeleted,
                 ReservationChanged, ReservationDeleted, ReservationTurned, StateForgotten,
                 UserGroupsFound, AccountingChanged, UsageDecayed, UsageReset>;

// One event. Its special members are in events.cpp: as a plain variant they made up a quarter of
// each unit's compile time.
class Event : public AnyEvent {
 public:
  Event();
  Event(const Event& other);
  Event(Event&& other) noexcept;
  Event& operator=(const Event& other);
  Event& operator=(Event&& other) noexcept;
  ~Event();
  template <AlternativeOf<AnyEvent> T>
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): as a variant
  Event(T&& value) : AnyEvent(std::in_place_type<std::remove_cvref_t<T>>, std::forward<T>(value)) {}
};
using Events = std::vector<Event>;

// The event's name, as in journal_dump.
[[nodiscard]] const char* name_of(const Event& event);

// What one command led to: the content of one frame of the journal.
struct EventFrame {
  Events events;
  template <class V>
  static void describe(V&& field) {
    field(1, "events", &EventFrame::events);
  }
};

}  // namespace sluice::state
