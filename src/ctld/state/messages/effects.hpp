// What the world must be told once events are durable. Effects are at-least-once and idempotent:
// everything sent to nodes is keyed by job, step and restart count. The engine looks up what it
// needs in the state of the frame they came from (launch_message.hpp puts messages together).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/model/job.hpp"
#include "common/model/trigger.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/noded.hpp"

namespace sluice::state {

// --- answers -------------------------------------------------------------------------------------

struct Done {};      // accepted; nothing more to say
struct DoneInPart {  // for some of what was named; of the others this is wrong
  Error error;
};
struct JobSubmittedReply {
  JobId job = kNoJob;
  std::vector<std::string> messages;
};
struct StepCreatedReply {
  StepId id;  // the engine adds layout and addresses from the state
};
struct HetStepCreatedReply {
  std::vector<StepId> parts;
};
struct RegisteredReply {
  std::vector<protocol::StepKey> forget;  // unknown here and surely orphaned: kill
  std::vector<JobId> clean;               // jobs that are over: run epilog, report
  // their scripts should run there and do not: they are over
  std::vector<JobId> missing;
  bool removed = false;  // the cluster has the node no more
  // ids go on behind it: the node knows a job that this state does not
  JobId strange_job = kNoJob;
};
struct StartedReply {
  uint32_t started = 0;
  uint32_t dropped = 0;  // no longer possible
  // of those that started: by backfilling, and the components of heterogeneous jobs among these
  uint32_t backfilled = 0;
  uint32_t backfilled_components = 0;
};
struct CrontabReply {
  std::vector<JobId> jobs;   // in the order of the lines
  uint32_t failed_line = 0;  // 0: none; else nothing was changed
  Error error;
};
struct ReservationReply {
  std::string name;
};
using Reply = std::variant<Done, DoneInPart, JobSubmittedReply, CrontabReply, ReservationReply,
                           StepCreatedReply, HetStepCreatedReply, protocol::CountReply,
                           protocol::CancelJobsReply, RegisteredReply, StartedReply>;

// --- to the nodes --------------------------------------------------------------------------------

// Start a step on its nodes. Only the nodes that are left of it matter; each starts it at most
// once.
struct LaunchStep {
  protocol::StepKey key;
  Bitmap nodes = {};  // these of them only; empty: all
};
// Run the prolog on these nodes now (PrologFlags=Alloc); each answers ReportPrologs.
struct LaunchProlog {
  JobId job = kNoJob;
  uint32_t restart = 0;
  Bitmap nodes;
};
struct SignalSteps {
  protocol::SignalStepRequest request;
  Bitmap nodes;  // NodeIds
};
struct TerminateStep {
  protocol::StepKey key;
  Bitmap nodes;
  bool at_once = false;  // with KILL
};
// End all that is left of a job on these nodes, run the epilog, answer JobsCleaned.
struct TerminateJob {
  JobId job = kNoJob;
  uint32_t restart = 0;
  Bitmap nodes;
  bool timed_out = false;
  bool at_once = false;
  std::string message;  // text before " ON <node> …" is the engine's; here: the rest, or empty
};
// The configuration changed: these nodes get it, the newest there is then, and register again.
struct ReconfigureNodes {
  Bitmap nodes;
};
// These nodes were deleted: their agents end.
struct EndAgents {
  Bitmap nodes;
};
// Give these nodes the features, if any, and run RebootProgram there. Each knows by the time
// whether it has done so already.
struct RebootNow {
  Bitmap nodes;
  Time issued = kNoTime;
  std::string reason;
  std::string features = {};
  bool if_needed = false;  // no reboot where the features can be had without
};
// Run the site's program for these nodes, in the controller: SuspendProgram, ResumeProgram or
// ResumeFailProgram.
enum class PowerProgram : uint8_t { kSuspend, kResume, kResumeFail };
struct PowerNodes {
  PowerProgram program = PowerProgram::kSuspend;
  Bitmap nodes;
};

// --- to those who wait ---------------------------------------------------------------------------

struct JobChanged {  // watches of this job have something to see
  JobId job = kNoJob;
  std::string message;  // text for its terminal (scontrol notify, time limit); usually empty
};
// What its steps held may be free: requests for steps that wait can be tried again.
struct StepRoomFreed {
  JobId job = kNoJob;
};
// The job's life (or one run of it, when it is requeued) is over: JobCompType record.
struct JobRecordEnded {
  std::shared_ptr<const Job> job;  // as it was then
};
enum class MailKind : uint8_t {
  kBegin,
  kEnd,
  kFail,
  kRequeue,
  kTimeLimit,
  kInvalidDependency,
  kTimeLimit50,
  kTimeLimit80,
  kTimeLimit90
};
struct SendMail {
  std::shared_ptr<const Job> job;
  MailKind kind = MailKind::kBegin;
  bool whole_array = false;  // about the array, not this task of it
  std::string outcome;       // of a whole array
  // Of an end: over all tasks of a whole array, else the job's own and its highest step's.
  int32_t least_code = 0, most_code = 0;
  int32_t most_signal = 0;
};
struct RunTrigger {
  Trigger trigger;
  std::string resource;  // the argument after the program's own
};
struct RunControllerProlog {  // PrologSlurmctld; answer with PrologDone
  JobId job = kNoJob;
  uint32_t restart = 0;
};
struct RunControllerEpilog {
  std::shared_ptr<const Job> job;
};
struct RunReservationProgram {  // ResvProlog or ResvEpilog
  std::string reservation;
  bool begins = false;
};
struct WakeScheduler {
  bool submitted = false;  // only as a job came: passes may wait for more of them
};
struct RunTick {};  // send a Tick soon: a dependency or begin time may be due

using Effect =
    std::variant<LaunchStep, LaunchProlog, SignalSteps, TerminateStep, TerminateJob,
                 ReconfigureNodes, EndAgents, RebootNow, PowerNodes, RunTrigger, JobChanged,
                 StepRoomFreed, JobRecordEnded, SendMail, RunControllerProlog, RunControllerEpilog,
                 RunReservationProgram, WakeScheduler, RunTick>;
using Effects = std::vector<Effect>;

}  // namespace sluice::state
