// How jobs end, whatever the cause: shared by the verbs that end jobs.
#pragma once

#include <optional>
#include <vector>

#include "common/protocol/node_reports.hpp"
#include "ctld/state/decide/draft.hpp"
#include "ctld/state/rules/preemption.hpp"

namespace sluice::state {

// After a requeue a job does not start again at once: SchedulerParameters=requeue_delay=…, without
// it AuthInfo=cred_expire=… (120 s), as the credentials of its last run live that long in Slurm.
[[nodiscard]] Duration requeue_delay(const ClusterConfig& config);

// What scontrol requeuehold leaves as the job's reason.
inline constexpr std::string_view kRequeuedHeld = "job requeued in held state";

struct Ending {
  JobState state = JobState::kCompleted;
  JobReason reason = JobReason::kNone;
  SharedText description;
  int32_t exit_status = 0;
  uint32_t by = UINT32_MAX;  // uid of who cancelled it
  JobFlags flags = 0;        // kJobRequeued and its companions
  SharedText failed_node;    // whose loss is the reason
};

// The job's steps end on this node, killed.
void lose_step_parts(Draft& draft, JobId job, NodeId node, Time now);
// A suspended job goes on; its time limit ends as much later as it was stopped.
void resume_job(Draft& draft, JobId job, Time now);
// How long the job was stopped since it started, up to its last stop or continuation: its limit and
// its steps' have as much longer.
[[nodiscard]] Duration time_suspended(const Job& job);
// The job's --signal, and a CONT so that what is stopped hears of it.
void send_own_signal(Draft& draft, JobId job, Time now);
// A job that holds nodes is over; its nodes are to be cleaned. With the first component of a
// heterogeneous job all others are over, too, and queued again when it is.
void complete_job(Draft& draft, JobId job, const Ending& ending, Time now);
// A job that waits is over; of a heterogeneous job all components.
void end_pending_job(Draft& draft, JobId job, const Ending& ending, Time now);
// A job that is over waits again. `flags` are those of Ending.
void requeue_ended(Draft& draft, JobId job, JobFlags flags, Time now);
// What concerns a heterogeneous job as a whole: its first component, while that holds nodes; else
// the job itself.
[[nodiscard]] JobId whole_job(const Draft& draft, JobId job);
// These nodes are free of the job (positions already given back are left out). When the job is
// completing and they were the last, it ends or is requeued.
void release_nodes(Draft& draft, JobId job, Bitmap positions, Time now);

// The ending of a batch script or an allocation's command that exited with `status`.
[[nodiscard]] Ending ending_of_exit(const ClusterConfig& config, const Job& job, int32_t status);
[[nodiscard]] bool is_running(const Job& job);

enum class NodeLoss : uint8_t {
  kFailed,      // DOWN, removed, rebooted by itself or by force
  kRebooted,    // as it was to be: not lost to those that wait for just that
  kBootFailed,  // it did not come back as it should: those that wait for that end BOOT_FAIL
};
// The node is lost to the jobs on it, but not to those whose script is among `ended`: the report of
// that is on its way.
void lose_node(Draft& draft, NodeId node, Time now, NodeLoss loss = NodeLoss::kFailed,
               const std::vector<protocol::StepKey>& ended = {});
// Parts of a step are over on these positions of its layout.
struct StepPartsEnd {
  Bitmap positions;
  int32_t exit_status = 0;
  bool out_of_memory = false;
  std::optional<protocol::StepUsage> usage;
};
void end_step_parts(Draft& draft, StepId id, const StepPartsEnd& end, Time now);

// Drains a node (a reason that is there already stays).
void drain_node(Draft& draft, NodeId node, std::string_view reason, uint32_t uid, Time now);
// When a job that is held now may be eligible at the earliest: what is left of a delay goes on.
// kNoTime: when it is released.
[[nodiscard]] Time delay_of_held(const Job& job, Time now);
// Events with the present state of a job or a node, to be changed and emitted.
[[nodiscard]] JobUpdated present_job(const Job& job, Time now);
// The job as it is, but for its specification.
[[nodiscard]] JobUpdated with_spec(const Job& job, const JobSpec& spec, Time now);
[[nodiscard]] NodeStateChanged present_state(const Node& node, Time now);
void clear_reason(NodeStateChanged& event);  // nobody said anything, at no time
[[nodiscard]] NodeUpdated present_values(const Node& node);

}  // namespace sluice::state
