// What may be asked of the core. Whoever sends a command has proved who it is (Identity); times are
// passed to decide() beside it. Commands are not journaled, only the events they lead to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/base/variant_class.hpp"
#include "common/model/accounting.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/job.hpp"
#include "common/model/job_update.hpp"
#include "common/model/node.hpp"
#include "common/model/step.hpp"
#include "common/model/trigger.hpp"
#include "common/protocol/admin.hpp"
#include "common/protocol/assoc_mgr.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/noded.hpp"
#include "common/protocol/reservation.hpp"

namespace sluice::state {

struct Identity {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

// --- from users ----------------------------------------------------------------------------------

// `job` is what the user asked for, with user_name, group_name and the blobs' hashes filled in.
struct SubmitJob {
  Identity who;
  JobSpec job;
  std::vector<std::string> groups;  // names of the user's groups, for AllowGroups
  std::vector<JobSpec> components;  // further ones of a heterogeneous job, completed like `job`
  // A script of the site's has seen it (JobSubmitPlugins=lua): check_rights() was asked before, and
  // what is beyond the user's rights is the site's.
  bool seen_by_site = false;
};
// What a pending job has by now.
struct JobRank {
  JobId job = kNoJob;
  uint32_t priority = 0;
};
struct UpdateJob {
  Identity who;
  std::string target;  // 12, 12_3, 12_[1-4], 12+1
  JobUpdate update;
  // names of the groups of the job's user, when it moves to another partition
  std::vector<std::string> owner_groups;
  // of the user's pending jobs, when one who is no operator gives a priority
  std::vector<JobRank> ranks = {};
};
// Cancel (kSignalCancel) or signal a job, array tasks or a step (12.0, 12.batch).
struct SignalJob {
  Identity who;
  std::string target;
  uint32_t signal = 0;
  protocol::SignalFlags flags = 0;
};
class JobFilter;
// All that the filter means, which the edge has read.
struct CancelJobs {
  Identity who;
  std::shared_ptr<const JobFilter> filter;
  uint32_t signal = 0;
  protocol::SignalFlags flags = 0;  // of jobs
  bool ends_steps = true;
  bool find_only = false;
};
// SignalJob for each of the targets, in their order, as many as one command may do.
struct SignalJobs {
  Identity who;
  std::vector<std::string> targets;
  uint32_t signal = 0;
  protocol::SignalFlags flags = 0;
  protocol::SignalFlags step_flags = 0;  // of targets that are steps
};
struct ChangeJob {  // hold, release, requeue, …
  Identity who;
  std::string target;
  protocol::JobAction action = protocol::JobAction::kHold;
  bool special_exit = false;
};
struct TopJob {  // scontrol top
  Identity who;
  std::string target;  // one or several: 12,13_[1-4]; the first goes before the others
  // of pending jobs, in no order; those of other users are not looked at
  std::vector<JobRank> ranks;
};
struct NotifyJob {  // scontrol notify
  Identity who;
  std::string target;
  std::string message;
};
struct EndAllocation {
  Identity who;
  JobId job = kNoJob;
  int32_t exit_status = 0;
};
// The command that asked for the allocation is gone, or silent for InactiveLimit.
struct ClientGone {
  JobId job = kNoJob;
};
struct CreateStep {
  Identity who;
  JobId job = kNoJob;
  StepSpec step;  // environment_blob filled in
};
// Parts of one step in several components of a heterogeneous job.
struct CreateHetStep {
  Identity who;
  struct Part {
    JobId job = kNoJob;
    StepSpec step;  // environment_blob filled in
  };
  std::vector<Part> parts;
};
struct UpdateNode {
  Identity who;
  NodeUpdate update;
};
// The partition as it is to be: `config`, or with `values` what these make of it as it is when it
// is decided. Unset for kDelete.
struct UpdatePartition {
  Identity who;
  protocol::PartitionAction action = protocol::PartitionAction::kUpdate;
  std::string name;
  PartitionConfig config;
  std::map<std::string, std::string> values = {};  // by slurm.conf's keys
};

// The edge has read the line with slurm.conf's table of keys.
struct CreateNodes {
  Identity who;
  std::vector<NodeConfig> nodes;
};
struct DeleteNodes {
  Identity who;
  std::string nodes;  // host list
};
struct RebootNodes {  // scontrol reboot
  Identity who;
  protocol::RebootNodesRequest request;
};
struct UpdateStep {  // scontrol update StepId=…
  Identity who;
  protocol::UpdateStepRequest request;
};
struct SetTrigger {
  Identity who;
  Trigger trigger;  // as asked for; the user's name filled in
};
struct ClearTriggers {
  Identity who;
  protocol::TriggerFilter filter;
};
// The user's crontab, and a job for each of its lines; an empty text takes it away.
struct ReplaceCrontab {
  Identity who;
  std::string text;
  std::vector<JobSpec> jobs;
  std::vector<std::string> groups;
  bool seen_by_site = false;  // as of SubmitJob, all of them
};

// The names in the request's lists, looked up by the edge.
struct ChangeReservation {
  Identity who;
  protocol::ChangeReservationRequest request;
  // uids by the name of a user, members by that of a group; unknown: not there
  std::map<std::string, std::vector<uint32_t>> users;
};
struct ResetUsage {
  Identity who;
  protocol::ResetUsageRequest request;
};

// --- from node agents ----------------------------------------------------------------------------

struct EndSteps {
  std::vector<protocol::StepEnded> ended;
};
struct JobsCleaned {
  std::vector<protocol::JobCleaned> cleaned;
};
struct PrologDone {
  JobId job = kNoJob;
  uint32_t restart = 0;
  std::string nodes;        // host list; empty: PrologSlurmctld
  int32_t status = 0;       // as wait(2) gives it
  Time happened = kNoTime;  // as in protocol::StepEnded, by our clock
};
struct PrologsDone {
  std::vector<PrologDone> reports;
};
struct RegisterNode {
  protocol::RegisterNodeRequest node;
};

// --- from the controller itself ------------------------------------------------------------------

struct StartEpoch {
  std::string cluster_id;
  uint64_t epoch = 0;
  bool clean = false;               // slurmctld -c
  JobId first_job_id = kNoJob;      // --first-job-id; kNoJob: ids go on with the one that is due
  std::string credential_key = {};  // public, in hexadecimal digits
  bool new_key = false;             // --new-credential-key: it may be another one than before
};
struct ReplaceConfig {
  std::shared_ptr<const ClusterConfig> config;
  // slurmctld -R: an unchanged configuration leaves scontrol's changes of them alone
  bool keep_partitions = false;
  // scontrol reconfigure: triggers fire, nodes are as their lines say
  bool ordered = false;
};
// The nodes have not answered for SlurmdTimeout: DOWN.
struct NodesTimedOut {
  std::vector<NodeId> nodes;
};
// The nodes missed a ping (shown as `*`), or answer again.
struct NodesNotResponding {
  std::vector<NodeId> nodes;
};
struct NodesResponding {
  std::vector<NodeId> nodes;
};
// The scheduler's plan; each start is checked again and dropped when it is no longer possible. One
// entry is one job or one array task.
struct PlannedStart {
  JobId job = kNoJob;       // the record (of an array: the one with the pending tasks)
  uint32_t task = kNoTask;  // of an array with pending tasks: which
  std::string partition;
  std::shared_ptr<const Allocation> allocation;
  std::string reservation;  // whose nodes these are; empty: nobody's
  // 0: as asked for; else less, down to --time-min, so that it fits before others
  Minutes time_limit = 0;
  uint32_t priority = 0;  // that it had
  // what it asked for then; null: not told
  std::shared_ptr<const JobSpec> spec = nullptr;
  bool backfilled = false;  // while a job of higher priority waits for nodes
  bool softly = false;      // a limit holds it back: it starts in the QOS of soft_limit_qos
};
// A running job is to make room for one that waits; looked at again, too.
struct PlannedPreemption {
  JobId job = kNoJob;
  uint32_t restart = 0;      // this run of it
  JobId preemptor = kNoJob;  // the record that waits
  std::string partition;     // where that would run
  std::string reservation;   // and in whose nodes; empty: nobody's
  uint32_t priority = 0;     // that it has there
};
// A job that was suspended for others goes on.
struct PlannedResume {
  JobId job = kNoJob;
  uint32_t restart = 0;  // this run of it
};
struct StartJobs {
  std::vector<PlannedStart> starts;
  std::vector<PlannedPreemption> preemptions = {};
  std::vector<PlannedResume> resumes = {};
};
// The batch step could not be started on the node for `reason`: the job is requeued and held.
struct LaunchFailed {
  protocol::StepKey key;
  std::string nodes;  // host list
  std::string reason;
  bool drain_node = false;
};
// In which groups users with waiting jobs are, as the system says now.
struct UsersGroups {
  struct User {
    uint32_t uid = 0;
    std::vector<std::string> groups;  // names
  };
  std::vector<User> users;
};
// What the accounting daemon says of the site, and the uids of its users as this host knows them.
struct FollowAccounting {
  AccountingRecords records;
  std::map<std::string, uint32_t> uids;
};
// What happened to the accounting daemon, its database or the records that wait for it: triggers
// fire.
struct AccountingNoticed {
  TriggerEvents events = 0;
};
// Time has passed: limits, begin times, dependencies, purge. About once a second, and after
// RunTick.
struct Tick {
  uint64_t number = 0;  // one more each time: long dependencies are looked at by turns
};

using AnyCommand =
    std::variant<SubmitJob, UpdateJob, SignalJob, CancelJobs, SignalJobs, ChangeJob, TopJob,
                 NotifyJob, EndAllocation, ClientGone, CreateStep, CreateHetStep, UpdateNode,
                 UpdatePartition, CreateNodes, DeleteNodes, RebootNodes, UpdateStep, SetTrigger,
                 ClearTriggers, ReplaceCrontab, ChangeReservation, ResetUsage, EndSteps,
                 JobsCleaned, PrologDone, PrologsDone, RegisterNode, StartEpoch, ReplaceConfig,
                 NodesTimedOut, NodesNotResponding, NodesResponding, StartJobs, LaunchFailed,
                 UsersGroups, FollowAccounting, AccountingNoticed, Tick>;

// One command; its special members are in commands.cpp, as those of Event are in events.cpp.
class Command : public AnyCommand {
 public:
  Command();
  Command(const Command& other);
  Command(Command&& other) noexcept;
  Command& operator=(const Command& other);
  Command& operator=(Command&& other) noexcept;
  ~Command();
  template <AlternativeOf<AnyCommand> T>
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): as a variant
  Command(T&& value)
      : AnyCommand(std::in_place_type<std::remove_cvref_t<T>>, std::forward<T>(value)) {}
};

}  // namespace sluice::state
