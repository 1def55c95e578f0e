// What users' commands say to the controller, and what it answers. Every call carries a proved
// identity (common/auth).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error_code.hpp"
#include "common/model/allocation.hpp"
#include "common/model/het_job.hpp"
#include "common/model/job_spec.hpp"
#include "common/model/job_state.hpp"
#include "common/model/job_update.hpp"
#include "common/model/node.hpp"
#include "common/model/step.hpp"
#include "common/protocol/empty.hpp"
#include "common/protocol/node_address.hpp"
#include "common/protocol/job_filter.hpp"
#include "common/protocol/query.hpp"
#include "common/protocol/signal_flags.hpp"

namespace sluice::protocol {

// --- submitting ---------------------------------------------------------------------------------

struct SubmitJobRequest {
  static constexpr std::string_view kMethod = "Controller/SubmitJob";
  using Reply = struct SubmitJobReply;
  JobSpec spec;
  std::string script;               // batch script; empty for an allocation
  std::string environment;          // KEY=VALUE, each ended by NUL
  bool test_only = false;           // answer when and where it could start, submit nothing
  std::vector<JobSpec> components;  // further ones of a heterogeneous job
  template <class V>
  static void describe(V&& field) {
    field(1, "spec", &SubmitJobRequest::spec);
    field(2, "script", &SubmitJobRequest::script);
    field(3, "environment", &SubmitJobRequest::environment);
    field(4, "test_only", &SubmitJobRequest::test_only);
    field(5, "components", &SubmitJobRequest::components);
  }
};
struct SubmitJobReply {
  JobId job = kNoJob;
  uint32_t priority = 0;
  Time start = kNoTime;               // test_only
  uint32_t cpus = 0;                  // test_only
  std::string nodes;                  // test_only
  std::string partition;              // test_only
  std::vector<std::string> messages;  // for the user's stderr
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &SubmitJobReply::job);
    field(2, "priority", &SubmitJobReply::priority);
    field(3, "start", &SubmitJobReply::start);
    field(4, "cpus", &SubmitJobReply::cpus);
    field(5, "nodes", &SubmitJobReply::nodes);
    field(6, "partition", &SubmitJobReply::partition);
    field(7, "messages", &SubmitJobReply::messages);
  }
};

// What srun and salloc need to know of their job; streamed by WatchJob at each change, and once at
// the start of the watch. The stream ends after the job's end, or when the controller goes away
// (then the client connects again).
struct WatchJobRequest {
  static constexpr std::string_view kMethod = "Controller/WatchJob";
  using Chunk = struct JobWatchUpdate;
  JobId job = kNoJob;
  bool end_when_cancelled = false;  // the job is cancelled if this watch breaks off
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &WatchJobRequest::job);
    field(2, "end_when_cancelled", &WatchJobRequest::end_when_cancelled);
  }
};
struct JobWatchUpdate {
  JobId job = kNoJob;
  JobState state = JobState::kPending;
  JobFlags flags = 0;
  JobReason reason = JobReason::kNone;
  std::shared_ptr<const Allocation> allocation;
  std::vector<NodeAddress> nodes;  // of the allocation, in its order
  std::vector<uint32_t> cpus_per_node;
  std::string partition;
  std::string message;  // scontrol notify, time-limit warnings: print it
  int32_t exit_status = 0;
  bool ready = false;    // nodes up and prolog done
  bool booting = false;  // it runs, and some of its nodes are still to boot
  Time end = kNoTime;
  std::vector<HetComponent> components;  // of a heterogeneous job that runs: all, without specs
  std::string account, qos;              // where the user named none, too
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobWatchUpdate::job);
    field(2, "state", &JobWatchUpdate::state);
    field(3, "flags", &JobWatchUpdate::flags);
    field(4, "reason", &JobWatchUpdate::reason);
    field(5, "allocation", &JobWatchUpdate::allocation);
    field(6, "nodes", &JobWatchUpdate::nodes);
    field(7, "cpus_per_node", &JobWatchUpdate::cpus_per_node);
    field(8, "partition", &JobWatchUpdate::partition);
    field(9, "message", &JobWatchUpdate::message);
    field(10, "exit_status", &JobWatchUpdate::exit_status);
    field(11, "ready", &JobWatchUpdate::ready);
    field(12, "end", &JobWatchUpdate::end);
    field(13, "components", &JobWatchUpdate::components);
    field(380, "booting", &JobWatchUpdate::booting);
    field(381, "account", &JobWatchUpdate::account);
    field(382, "qos", &JobWatchUpdate::qos);
  }
};

struct CreateStepRequest {
  static constexpr std::string_view kMethod = "Controller/CreateStep";
  using Reply = struct CreateStepReply;
  JobId job = kNoJob;
  StepSpec spec;
  std::string environment;
  // the answer kStepsBusy may be kept back so long, until other steps end; at most 5 s of it
  Duration patience{0};
  Duration waited{0};  // since it was asked for first
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &CreateStepRequest::job);
    field(2, "spec", &CreateStepRequest::spec);
    field(3, "environment", &CreateStepRequest::environment);
    field(4, "patience", &CreateStepRequest::patience);
    field(610, "waited", &CreateStepRequest::waited);
  }
};
struct CreateStepReply {
  StepId id;
  StepLayout layout;
  std::vector<NodeAddress> nodes;  // in layout order
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &CreateStepReply::id);
    field(2, "layout", &CreateStepReply::layout);
    field(3, "nodes", &CreateStepReply::nodes);
  }
};

// srun -Z: a step on these nodes without a job, for SlurmUser and root. Nothing is kept of it, and
// its id is of no job (is_outside_jobs()). Answered when the nodes have the launch.
// kInvalidNodeName, kAccessDenied.
struct LaunchOutsideRequest {
  static constexpr std::string_view kMethod = "Controller/LaunchOutside";
  using Reply = struct CreateStepReply;
  StepId id;  // chosen at random
  std::string node_list;
  JobSpec job;  // whose it is, and what tasks are told of it
  StepSpec spec;
  std::string environment;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &LaunchOutsideRequest::id);
    field(2, "node_list", &LaunchOutsideRequest::node_list);
    field(3, "job", &LaunchOutsideRequest::job);
    field(4, "spec", &LaunchOutsideRequest::spec);
    field(5, "environment", &LaunchOutsideRequest::environment);
  }
};

// A step over several components of a heterogeneous job: a part in each, all of them or none.
struct CreateHetStepRequest {
  static constexpr std::string_view kMethod = "Controller/CreateHetStep";
  using Reply = struct CreateHetStepReply;
  // in the order of the components; one environment each, the first one's patience and waiting
  std::vector<CreateStepRequest> parts;
  template <class V>
  static void describe(V&& field) {
    field(1, "parts", &CreateHetStepRequest::parts);
  }
};
struct CreateHetStepReply {
  std::vector<CreateStepReply> parts;  // ranks count through all of them
  template <class V>
  static void describe(V&& field) {
    field(1, "parts", &CreateHetStepReply::parts);
  }
};

// Where a running step's daemons listen, and what sattach must know.
struct DescribeStepRequest {
  static constexpr std::string_view kMethod = "Controller/DescribeStep";
  using Reply = struct DescribeStepReply;
  StepId id;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &DescribeStepRequest::id);
  }
};
struct DescribeStepReply {
  Step step;
  std::vector<NodeAddress> nodes;
  template <class V>
  static void describe(V&& field) {
    field(1, "step", &DescribeStepReply::step);
    field(2, "nodes", &DescribeStepReply::nodes);
  }
};

// sattach: the step's daemons connect to `io` as to a further srun.
struct AttachStepRequest {
  static constexpr std::string_view kMethod = "Controller/AttachStep";
  using Reply = struct DescribeStepReply;
  StepId id;
  IoEndpoint io;
  bool with_stdin = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &AttachStepRequest::id);
    field(2, "io", &AttachStepRequest::io);
    field(3, "with_stdin", &AttachStepRequest::with_stdin);
  }
};

// salloc and srun give an allocation of theirs back.
struct EndAllocationRequest {
  static constexpr std::string_view kMethod = "Controller/EndAllocation";
  using Reply = struct Empty;
  JobId job = kNoJob;
  int32_t exit_status = 0;  // as wait(2) gives it
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &EndAllocationRequest::job);
    field(2, "exit_status", &EndAllocationRequest::exit_status);
  }
};

// --- changing -----------------------------------------------------------------------------------

// A job (12), one or several array tasks (12_3, 12_[1-4]), or a step (12.0).
struct SignalRequest {
  static constexpr std::string_view kMethod = "Controller/Signal";
  using Reply = struct CountReply;
  std::string target;
  uint32_t signal = 0;  // 0 with kSignalCancel: TERM, KillWait, KILL
  SignalFlags flags = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "target", &SignalRequest::target);
    field(2, "signal", &SignalRequest::signal);
    field(3, "flags", &SignalRequest::flags);
  }
};

// scancel with filters: which jobs, array tasks and steps are meant is decided with what becomes of
// them, so that nothing is hit that passes the filters no more.
struct CancelJobsRequest {
  static constexpr std::string_view kMethod = "Controller/CancelJobs";
  using Reply = struct CancelJobsReply;
  QueryJobsRequest filter;  // ids as in SignalRequest
  uint32_t signal = 0;      // as there
  SignalFlags flags = 0;    // of jobs
  bool ends_steps = true;   // those that are named are cancelled, not signalled
  bool find_only = false;   // say what it would be, and leave it alone
  // The ids one after the other, each as SignalRequest would do it, and nothing else of the filter.
  // There may be fewer outcomes than ids: what is behind them is to be asked for again.
  bool each_id = false;
  SignalFlags step_flags = 0;  // of steps, then
  template <class V>
  static void describe(V&& field) {
    field(1, "filter", &CancelJobsRequest::filter);
    field(2, "signal", &CancelJobsRequest::signal);
    field(3, "flags", &CancelJobsRequest::flags);
    field(4, "ends_steps", &CancelJobsRequest::ends_steps);
    field(5, "find_only", &CancelJobsRequest::find_only);
    field(6, "each_id", &CancelJobsRequest::each_id);
    field(7, "step_flags", &CancelJobsRequest::step_flags);
  }
};
struct CancelOutcome {
  std::string target;  // 12, 12_3, 12_[2-4%1], 12+1, 12.0
  ErrorCode code = ErrorCode::kOk;
  std::string text;                 // of the error, where it says more than the code
  std::string name;                 // of the job; find_only
  std::string partition;            // find_only
  std::vector<std::string> errors;  // each_id: as in CountReply, as the next one
  uint32_t count = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "target", &CancelOutcome::target);
    field(2, "code", &CancelOutcome::code);
    field(3, "text", &CancelOutcome::text);
    field(4, "name", &CancelOutcome::name);
    field(5, "partition", &CancelOutcome::partition);
    field(6, "errors", &CancelOutcome::errors);
    field(7, "count", &CancelOutcome::count);
  }
};
struct CancelJobsReply {
  // of all that passed the filters, by job id; each_id: in the order of the ids
  std::vector<CancelOutcome> outcomes;
  std::vector<std::string> missing;  // ids that name nothing, or what is over
  template <class V>
  static void describe(V&& field) {
    field(1, "outcomes", &CancelJobsReply::outcomes);
    field(2, "missing", &CancelJobsReply::missing);
  }
};

enum class JobAction : uint8_t {
  kHold = 0,  // by admin when done by one
  kUserHold = 1,
  kRelease = 2,
  kRequeue = 3,
  kRequeueHold = 4,
  kSuspend = 5,
  kResume = 6,
  kTop = 7,
};
struct JobActionRequest {
  static constexpr std::string_view kMethod = "Controller/JobAction";
  using Reply = struct CountReply;
  std::string target;  // as in SignalRequest
  JobAction action = JobAction::kHold;
  bool special_exit = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "target", &JobActionRequest::target);
    field(2, "action", &JobActionRequest::action);
    field(3, "special_exit", &JobActionRequest::special_exit);
  }
};
struct UpdateJobRequest {
  static constexpr std::string_view kMethod = "Controller/UpdateJob";
  using Reply = struct CountReply;
  std::string target;
  JobUpdate update;
  template <class V>
  static void describe(V&& field) {
    field(1, "target", &UpdateJobRequest::target);
    field(2, "update", &UpdateJobRequest::update);
  }
};
struct UpdateNodeRequest {
  static constexpr std::string_view kMethod = "Controller/UpdateNode";
  using Reply = struct Empty;
  NodeUpdate update;
  template <class V>
  static void describe(V&& field) {
    field(1, "update", &UpdateNodeRequest::update);
  }
};
enum class PartitionAction : uint8_t { kUpdate = 0, kCreate = 1, kDelete = 2 };
// Keys and values as typed after scontrol; the controller checks them with the same table that
// slurm.conf's PartitionName lines go through.
struct UpdatePartitionRequest {
  static constexpr std::string_view kMethod = "Controller/UpdatePartition";
  using Reply = struct Empty;
  PartitionAction action = PartitionAction::kUpdate;
  std::string name;
  std::map<std::string, std::string> values;
  template <class V>
  static void describe(V&& field) {
    field(1, "action", &UpdatePartitionRequest::action);
    field(2, "name", &UpdatePartitionRequest::name);
    field(3, "values", &UpdatePartitionRequest::values);
  }
};
// scontrol create NodeName=…: the keys of such a line of slurm.conf.
struct CreateNodesRequest {
  static constexpr std::string_view kMethod = "Controller/CreateNodes";
  using Reply = struct Empty;
  std::map<std::string, std::string> values;
  template <class V>
  static void describe(V&& field) {
    field(1, "values", &CreateNodesRequest::values);
  }
};
struct DeleteNodesRequest {
  static constexpr std::string_view kMethod = "Controller/DeleteNodes";
  using Reply = struct CountReply;
  std::string nodes;  // host list
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &DeleteNodesRequest::nodes);
  }
};
struct NotifyRequest {
  static constexpr std::string_view kMethod = "Controller/Notify";
  using Reply = struct CountReply;
  std::string target;  // job or step
  std::string message;
  template <class V>
  static void describe(V&& field) {
    field(1, "target", &NotifyRequest::target);
    field(2, "message", &NotifyRequest::message);
  }
};
struct ReconfigureRequest {
  static constexpr std::string_view kMethod = "Controller/Reconfigure";
  using Reply = struct Empty;
  template <class V>
  static void describe(V&&) {}
};
struct ShutdownRequest {
  static constexpr std::string_view kMethod = "Controller/Shutdown";
  using Reply = struct Empty;
  bool controller_only = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "controller_only", &ShutdownRequest::controller_only);
  }
};
struct SetDebugRequest {
  static constexpr std::string_view kMethod = "Daemon/SetDebug";
  using Reply = struct Empty;
  std::string level;               // empty: unchanged
  std::vector<std::string> flags;  // +Flag, -Flag
  template <class V>
  static void describe(V&& field) {
    field(1, "level", &SetDebugRequest::level);
    field(2, "flags", &SetDebugRequest::flags);
  }
};
struct CountReply {  // how many jobs (or tasks) a change reached, and what was refused
  uint32_t count = 0;
  std::vector<std::string> errors;
  template <class V>
  static void describe(V&& field) {
    field(1, "count", &CountReply::count);
    field(2, "errors", &CountReply::errors);
  }
};

}  // namespace sluice::protocol
