// Completing, releasing, requeueing.
#include "ctld/state/decide/ending.hpp"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <sys/wait.h>

#include "common/base/text.hpp"
#include "common/os/wait_status.hpp"
#include "common/syntax/cron_times.hpp"
#include "common/syntax/submit_values.hpp"
#include "ctld/state/rules/batch_host.hpp"
#include "ctld/state/decide/node/power.hpp"
#include "ctld/state/decide/node/reboot.hpp"
#include "ctld/state/decide/job/resize.hpp"
#include "ctld/state/core/exit_status.hpp"
#include "ctld/state/rules/licenses.hpp"
#include "ctld/state/core/spec_change.hpp"

namespace sluice::state {
namespace {

constexpr Duration kDefaultRequeueDelay = std::chrono::seconds(120);

// "RaisedSignal:9(Killed)", as scontrol shows it.
std::string raised(int32_t signal) {
  return fmt::format("RaisedSignal:{}({})", signal,
                     signal_description(static_cast<uint32_t>(signal)));
}

// srun ends its job with the number of an error where it could launch nothing: no status of a
// process has both parts.
bool is_error_number(int32_t status) { return signal_of(status) != 0 && code_of(status) != 0; }

bool lists_code(const std::string& list, int32_t status) {
  if (list.empty() || signal_of(status) != 0) return false;
  const auto codes = IndexSet::parse(list);
  return codes && codes->contains(static_cast<uint32_t>(code_of(status)));
}

// A component waits again if the first one does or will, though it ended alone; and not without it.
bool is_requeued(const Draft& draft, const Job& job) {
  if (!is_het_follower(job)) return (job.flags & kJobRequeued) != 0;
  const Job* leader = draft.state().jobs.find(job.het->leader);
  return leader != nullptr &&
         (leader->state == JobState::kPending || (leader->flags & kJobRequeued) != 0);
}

// Its line is still in its user's crontab: it waits for its next time after each run.
bool is_of_crontab(const ClusterState& state, const Job& job) {
  if (job.spec->cron.empty()) return false;
  const auto at = state.crontabs->find(job.spec->uid);
  return at != state.crontabs->end() &&
         std::ranges::find(at->second.jobs, job.id) != at->second.jobs.end();
}

// What a job waits for that is queued again. No pass of the scheduler may come before it begins, to
// find it out.
JobReason reason_to_wait(const JobRequeued& event) {
  if (event.hold == HoldKind::kAdmin) return JobReason::kJobHeldAdmin;
  if (event.hold == HoldKind::kUser) return JobReason::kJobHeldUser;
  return event.begin > event.time ? JobReason::kBeginTime : JobReason::kNone;
}

void wait_for_next_time(Draft& draft, const Job& job, Time now) {
  const auto times = parse_cron_times(job.spec->cron.view());
  JobRequeued event{.job = job.id,
                    .restart_count = job.restart_count + 1,
                    .hold = job.hold,
                    .begin = times ? next_cron_time(*times, now) : kNever,
                    .time = now};
  event.reason = reason_to_wait(event);
  draft.emit(std::move(event));
}

void finish(Draft& draft, JobId id, Time now) {
  const Job& job = draft.job(id);
  if (is_of_crontab(draft.state(), job)) return wait_for_next_time(draft, job, now);
  if (!is_requeued(draft, job)) {
    if ((job.flags & kJobRequeued) != 0) {  // the first component will not run again
      draft.emit(
          JobRequeueCancelled{.job = id, .cancelled_by = draft.state().config->slurm_user_id});
      return finish(draft, id, now);
    }
    draft.emit(JobEnded{.job = id,
                        .state = job.state,
                        .reason = job.reason,
                        .cancelled_by = job.cancelled_by,
                        .time = now});
    return;
  }
  JobRequeued event;
  event.job = id;
  event.restart_count = job.restart_count + 1;
  event.begin = now + requeue_delay(*draft.state().config);
  event.time = now;
  // the signal that ended it for a requeue is not the job's own word
  const bool ordered = job.state == JobState::kCancelled || job.state == JobState::kPreempted;
  event.exit_status = ordered ? 0 : job.exit_status;
  event.derived_exit_status = job.derived_exit_status;
  event.hold = job.hold;
  event.flags = job.flags & (kJobSpecialExit | kJobLaunchFailed);
  if ((job.flags & kJobRequeueHold) != 0 && event.hold == HoldKind::kNone) {
    event.hold = HoldKind::kUser;
  }
  event.reason = reason_to_wait(event);
  // of RequeueExitHold nothing more is said
  const bool by_exit = (job.flags & kJobSpecialExit) != 0 && job.state != JobState::kCancelled;
  if ((job.flags & kJobRequeueHold) != 0 && !by_exit) { event.description = kRequeuedHeld; }
  if ((job.flags & kJobLaunchFailed) != 0) {
    event.description = "launch failed requeued held";
    if (!job.state_description.empty())
      event.description =
          fmt::format("{}: {}", event.description.view(), job.state_description.view());
    if (job.restart_count + 1 >= draft.state().config->max_batch_requeue) {
      event.reason = JobReason::kJobHoldMaxRequeue;
      event.description = {};
    }
  }
  // there may be fewer by now: it would wait for ever
  if (event.hold == HoldKind::kNone && !check_licenses(*draft.state().config, *job.spec)) {
    event.hold = HoldKind::kUser;
    event.reason = JobReason::kLicenses;
  }
  draft.emit(std::move(event));
}

// A running job that lost a node ends, or goes on without it (--no-kill).
bool survives_loss(const ClusterState& state, const Job& job, size_t position) {
  const bool batch_host =
      job.spec->batch && !is_het_follower(job) && position == batch_position(state, job);
  const size_t held = job.allocation->nodes.size() - job.released.count();
  return !job.spec->kill_on_node_fail && !batch_host && held > 1;
}

// Of a heterogeneous job the script is its first component's.
bool script_is_among(const Draft& draft, JobId id, const std::vector<protocol::StepKey>& ended) {
  const JobId whole = whole_job(draft, id);
  const protocol::StepKey script{{whole, kBatchStep}, draft.job(whole).restart_count};
  return std::ranges::find(ended, script) != ended.end();
}

// What a node that is lost was still to do first, nobody waits for any more.
void stop_waiting_for(Draft& draft, JobId id, size_t position) {
  const Job& job = draft.job(id);
  Bitmap positions;
  for (const size_t at : {position, boot_position(job, position)}) {
    if (job.preparing.test(at)) positions.set(at);
  }
  if (positions.any()) draft.emit(JobPrepared{.job = id, .positions = std::move(positions)});
}

}  // namespace

void lose_step_parts(Draft& draft, JobId id, NodeId node, Time now) {
  std::vector<StepId> steps;
  for (const auto& step : draft.job(id).steps) steps.push_back(step->id);
  for (const StepId step_id : steps) {
    const Step* step = find_step(draft.job(id), step_id.step);
    StepPartsEnd end;
    end.exit_status = 9;
    for (size_t at = 0; at < step->layout->nodes.size(); ++at) {
      if (step->layout->nodes[at].node == node && step->nodes_left.test(at)) end.positions.set(at);
    }
    end_step_parts(draft, step_id, end, now);
  }
}

Duration requeue_delay(const ClusterConfig& config) {
  auto text = option_value(config.scheduler_parameters, "requeue_delay");
  if (!text) text = option_value(split_list(config.auth_info), "cred_expire");
  const auto seconds = to_number<uint32_t>(text.value_or(""));
  return seconds ? Duration(std::chrono::seconds(*seconds)) : kDefaultRequeueDelay;
}

bool is_running(const Job& job) {
  return (job.state == JobState::kRunning || job.state == JobState::kSuspended) &&
         !is_completing(job);
}

Duration time_suspended(const Job& job) {
  if (job.suspended_at == kNoTime) return Duration(0);
  return (job.suspended_at - job.start) - job.before_suspend;
}

void resume_job(Draft& draft, JobId id, Time now) {
  const Job& job = draft.job(id);
  const Time end = job.end == kNever ? kNever : job.end + (now - job.suspended_at);
  const bool has_turn = job.time_sliced;
  draft.emit(JobResumed{.job = id, .end = end, .time = now, .time_slice = has_turn});
}

void send_own_signal(Draft& draft, JobId id, Time now) {
  const std::shared_ptr<const JobSpec> spec = draft.job(id).spec;
  const protocol::SignalFlags flags =
      spec->signal_batch ? protocol::kSignalBatchOnly : protocol::kSignalStepsOnly;
  draft.emit(
      JobSignaled{.job = id, .signal = spec->signal, .flags = flags, .warning = true, .time = now});
  draft.emit(JobSignaled{.job = id, .signal = SIGCONT, .flags = flags, .time = now});
}

namespace {

// The ids of the other components of the job's heterogeneous job.
std::vector<JobId> other_components(const Draft& draft, JobId id) {
  std::vector<JobId> others;
  const auto het = draft.job(id).het;
  if (het == nullptr) return others;
  for_components(draft.state(), *het, [&](const Job& job) {
    if (job.id != id) others.push_back(job.id);
  });
  return others;
}

void complete_one(Draft& draft, JobId job, const Ending& ending, Time now) {
  // stopped processes cannot end
  if (draft.job(job).state == JobState::kSuspended) resume_job(draft, job, now);
  JobCompleting event{.job = job,
                      .state = ending.state,
                      .reason = ending.reason,
                      .description = ending.description,
                      .exit_status = ending.exit_status,
                      .cancelled_by = ending.by,
                      .flags = ending.flags,
                      .time = now,
                      .failed_node = ending.failed_node};
  const Job& run = draft.job(job);
  if ((ending.flags & kJobRequeued) != 0 || run.het != nullptr ||
      is_of_crontab(draft.state(), run)) {
    event.start = run.start;
    event.allocation = run.allocation;
  }
  draft.emit(std::move(event));
}

}  // namespace

void complete_job(Draft& draft, JobId job, const Ending& ending, Time now) {
  complete_one(draft, job, ending, now);
  if (is_het_follower(draft.job(job))) return;
  for (const JobId other : other_components(draft, job)) {
    if (is_running(draft.job(other))) {
      complete_one(draft, other, ending, now);
    } else if (is_finished(draft.job(other)) && (ending.flags & kJobRequeued) != 0) {
      requeue_ended(draft, other, ending.flags, now);
    }
  }
}

void requeue_ended(Draft& draft, JobId id, JobFlags flags, Time now) {
  const Job& job = draft.job(id);
  JobRequeued event{.job = id,
                    .restart_count = job.restart_count + 1,
                    .begin = now + requeue_delay(*draft.state().config),
                    .time = now,
                    .exit_status = job.exit_status,
                    .derived_exit_status = job.derived_exit_status};
  event.hold = job.hold;  // nobody gets rid of it by ending the job and queueing it again
  if ((flags & kJobRequeueHold) != 0) {
    if (event.hold == HoldKind::kNone) event.hold = HoldKind::kUser;
    if ((flags & kJobSpecialExit) == 0) event.description = kRequeuedHeld;
  }
  event.reason = reason_to_wait(event);
  event.flags = flags & kJobSpecialExit;
  draft.emit(std::move(event));
}

JobId whole_job(const Draft& draft, JobId id) {
  const Job& job = draft.job(id);
  if (!is_het_follower(job)) return id;
  const Job* leader = draft.state().jobs.find(job.het->leader);
  return leader != nullptr && is_running(*leader) ? leader->id : id;
}

void end_pending_job(Draft& draft, JobId job, const Ending& ending, Time now) {
  draft.emit(JobEnded{.job = job,
                      .state = ending.state,
                      .reason = ending.reason,
                      .cancelled_by = ending.by,
                      .time = now});
  for (const JobId other : other_components(draft, job)) {
    if (draft.job(other).state != JobState::kPending) continue;
    draft.emit(JobEnded{.job = other,
                        .state = ending.state,
                        .reason = ending.reason,
                        .cancelled_by = ending.by,
                        .time = now});
  }
}

void release_nodes(Draft& draft, JobId id, Bitmap positions, Time now) {
  {
    const Job& job = draft.job(id);
    positions.and_not(job.released);
    if (positions.none()) return;
  }
  draft.emit(JobNodesReleased{.job = id, .positions = positions, .time = now});
  put_down_left_idle(draft, draft.job(id), positions, now);
  const Job& job = draft.job(id);
  if (is_completing(job) && job.released.count() == job.allocation->nodes.size()) {
    finish(draft, id, now);
  }
}

Ending ending_of_exit(const ClusterConfig& config, const Job& job, int32_t status) {
  Ending ending;
  ending.exit_status = status;
  if (status == 0) return ending;
  if (status == protocol::kOutOfMemoryStatus) {
    ending.state = JobState::kOutOfMemory;
    ending.reason = JobReason::kOutOfMemory;
    return ending;
  }
  ending.state = JobState::kFailed;
  ending.reason = signal_of(status) != 0 ? JobReason::kRaisedSignal : JobReason::kNonZeroExitCode;
  if (is_error_number(status)) {
    ending.reason = JobReason::kJobLaunchFailure;
    ending.exit_status = signal_of(status);
  } else if (signal_of(status) != 0) {
    ending.description = raised(signal_of(status));
  }
  if (!job.spec->batch) return ending;
  // as in Slurm, whatever --no-requeue says: the site knows what these exit codes stand for
  if (lists_code(config.requeue_exit_hold, status)) {
    ending.flags = kJobRequeued | kJobRequeueHold | kJobSpecialExit;
  } else if (lists_code(config.requeue_exit, status)) {
    ending.flags = kJobRequeued;
  }
  return ending;
}

void end_step_parts(Draft& draft, StepId id, const StepPartsEnd& end, Time now) {
  const Step* step = find_step(draft.job(id.job), id.step);
  if (step == nullptr) return;
  const Bitmap positions = step->nodes_left & end.positions;
  if (positions.none()) return;
  if (positions.count() < step->nodes_left.count()) {
    draft.emit(StepNodesEnded{.id = id,
                              .positions = positions,
                              .exit_status = end.exit_status,
                              .out_of_memory = end.out_of_memory,
                              .time = now,
                              .usage = end.usage});
    return;
  }
  StepEnded event{.id = id,
                  .state = step->state,
                  .exit_status = worse_of_reports(step->exit_status, end.exit_status),
                  .time = now,
                  .usage = end.usage};
  if (event.state == StepState::kRunning) {
    event.state = event.exit_status == 0           ? StepState::kCompleted
                  : WIFSIGNALED(event.exit_status) ? StepState::kCancelled
                                                   : StepState::kFailed;
    if (end.out_of_memory) event.state = StepState::kOutOfMemory;
  }
  draft.emit(event);
}

void lose_node(Draft& draft, NodeId node, Time now, NodeLoss loss,
               const std::vector<protocol::StepKey>& ended) {
  const std::vector<JobId> jobs = draft.node(node).jobs;
  for (const JobId id : jobs) {
    const Job& job = draft.job(id);
    const bool waits = waits_for_boot(job, node);
    if (loss == NodeLoss::kRebooted && waits) continue;
    if (is_running(job) && script_is_among(draft, id, ended)) continue;
    const auto position = allocation_position(*job.allocation, node);
    SLUICE_CHECK(position.has_value());
    Bitmap lost;
    lost.set(*position);
    if (is_running(job)) {
      if (survives_loss(draft.state(), job, *position)) {
        stop_waiting_for(draft, id, *position);
        Bitmap keep = held_nodes(draft.job(id));
        keep.reset(node);
        keep_nodes(draft, id, keep, now);
        continue;
      } else {
        const JobState state =
            loss == NodeLoss::kBootFailed && waits ? JobState::kBootFail : JobState::kNodeFail;
        Ending ending{.state = state, .reason = JobReason::kNodeDown, .exit_status = SIGTERM};
        ending.failed_node = draft.node(node).name;
        if (may_requeue(*draft.state().config, job)) ending.flags = kJobRequeued;
        complete_job(draft, whole_job(draft, id), ending, now);
      }
    }
    release_nodes(draft, id, std::move(lost), now);
  }
}

Time delay_of_held(const Job& job, Time now) { return job.eligible > now ? job.eligible : kNoTime; }

JobUpdated present_job(const Job& job, Time now) {
  return JobUpdated{.job = job.id,
                    .array = job.array,
                    .time_limit = job.time_limit,
                    .partition = job.partition,
                    .dependency = job.dependency,
                    .eligible = job.eligible,
                    .accrue = job.accrue,
                    .end = job.end,
                    .time = now,
                    .admin_set = job.admin_set};
}

JobUpdated with_spec(const Job& job, const JobSpec& spec, Time now) {
  JobUpdated event = present_job(job, now);
  SpecChange change = difference(*job.spec, spec);
  event.spec = std::move(change.values);
  event.changed = std::move(change.fields);
  return event;
}

NodeStateChanged present_state(const Node& node, Time now) {
  return NodeStateChanged{.node = node.id,
                          .base = node.base,
                          .flags = node.flags,
                          .reason = node.reason,
                          .reason_time = node.reason_time,
                          .reason_uid = node.reason_uid,
                          .resume_after = node.resume_after,
                          .time = now,
                          .after_reboot = node.after_reboot,
                          .reboot_issued = node.reboot_issued,
                          .boot_features = node.boot_features,
                          .boot_if_needed = node.boot_if_needed};
}

void clear_reason(NodeStateChanged& event) {
  event.reason = {};
  event.reason_time = kNoTime;
  event.reason_uid = 0;
}

NodeUpdated present_values(const Node& node) {
  return NodeUpdated{.node = node.id,
                     .weight = node.weight,
                     .active_features = node.active_features,
                     .comment = node.comment,
                     .extra = node.extra,
                     .config = nullptr,
                     .features_reported = node.features_reported,
                     .features_chosen = node.features_chosen};
}

void drain_node(Draft& draft, NodeId id, std::string_view reason, uint32_t uid, Time now) {
  const Node& node = draft.node(id);
  if ((node.flags & kNodeDrain) != 0) return;
  NodeStateChanged event = present_state(node, now);
  event.flags |= kNodeDrain;
  event.resume_after = kNoTime;
  if (event.reason.empty()) {
    event.reason = reason;
    event.reason_time = now;
    event.reason_uid = uid;
  }
  draft.emit(std::move(event));
}

}  // namespace sluice::state
