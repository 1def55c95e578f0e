// scontrol hold, uhold, release, requeue, requeuehold.
#include "common/model/job_age.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/job/age.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/decide/job/targets.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {
namespace {

using protocol::JobAction;

// It will not run again. What is queued again while its last run is cleaned up can be held and
// released as if it waited already.
bool is_over(const Job& job) { return is_terminal(job.state) && !is_cleaning(job); }

Status hold(Draft& draft, JobId id, const ChangeJob& command, Time now) {
  const Job& job = draft.job(id);
  if (is_over(job)) return failure(ErrorCode::kJobFinished);
  const bool admin = is_operator(draft.state(), command.who.uid);
  const bool as_admin = command.action == JobAction::kHold && admin;
  const HoldKind kind = as_admin ? HoldKind::kAdmin : HoldKind::kUser;
  if (job.hold == kind || (job.hold == HoldKind::kAdmin && !admin)) return {};
  // once it is released its priority is computed
  if (job.state == JobState::kPending && job.spec->priority != UINT32_MAX) {
    JobSpec spec = *job.spec;
    spec.priority = UINT32_MAX;
    draft.emit(with_spec(job, spec, now));
  }
  draft.emit(JobHeld{.job = id,
                     .hold = kind,
                     .reason = as_admin ? JobReason::kJobHeldAdmin : JobReason::kJobHeldUser,
                     .time = now,
                     .eligible = delay_of_held(draft.job(id), now)});
  return {};
}

Status release(Draft& draft, JobId id, const ChangeJob& command, Time now) {
  const Job& job = draft.job(id);
  if (is_over(job)) return failure(ErrorCode::kJobFinished);
  const bool to_be_held = is_cleaning(job) && (job.flags & kJobRequeueHold) != 0;
  if (job.hold == HoldKind::kNone && !to_be_held) {
    // one that waits gives up a priority that was set where an operator releases it, as in Slurm
    const bool is_set = job.state == JobState::kPending && job.spec->priority != UINT32_MAX;
    if (!is_set || !is_operator(draft.state(), command.who.uid)) return {};
    JobSpec spec = *job.spec;
    spec.priority = UINT32_MAX;
    draft.emit(with_spec(job, spec, now));
    return {};
  }
  if (job.hold == HoldKind::kAdmin && !is_operator(draft.state(), command.who.uid)) {
    return failure(ErrorCode::kAccessDenied);
  }
  if (Status ok = check_release(draft.state(), *job.spec); !ok) return ok;
  draft.emit(JobReleased{.job = id, .time = now});
  const Job& after = draft.job(id);
  if (comes_later(after) && is_eligible(after, now)) begin_to_wait(draft, id, now);
  return {};
}

Status requeue(Draft& draft, JobId id, const ChangeJob& command, Time now) {
  const Job& job = draft.job(id);
  const bool held = command.action == JobAction::kRequeueHold;
  if (is_het_follower(job)) return failure(ErrorCode::kNotHetLeader);
  if (job.state == JobState::kPending) return failure(ErrorCode::kJobPending);
  if (!job.spec->batch) return failure(ErrorCode::kBatchOnly);
  if (!may_requeue(*draft.state().config, job)) return failure(ErrorCode::kRequeueDisabled);
  if (is_completing(job)) { return failure(ErrorCode::kAlreadyDone); }
  JobFlags flags = kJobRequeued;
  if (held) flags |= kJobRequeueHold;
  if (command.special_exit) flags |= kJobSpecialExit;
  if (is_running(job)) {
    complete_job(draft, id, {.state = JobState::kCancelled, .by = command.who.uid, .flags = flags},
                 now);
    return {};
  }
  std::vector<JobId> all{id};
  if (const auto het = job.het) {
    all.clear();
    // one that is still completing is queued again when its nodes are clean
    for_components(draft.state(), *het, [&](const Job& part) {
      if (is_finished(part)) all.push_back(part.id);
    });
  }
  for (const JobId one : all) requeue_ended(draft, one, flags, now);
  return {};
}

// Errors as Slurm's: only operators may, whoever the job belongs to.
Status check_stop_or_go(const Draft& draft, const Job& job, const ChangeJob& command) {
  if (!is_operator(draft.state(), command.who.uid)) return failure(ErrorCode::kAccessDenied);
  if (job.state == JobState::kPending) return failure(ErrorCode::kJobPending);
  if (is_terminal(job.state)) return failure(ErrorCode::kAlreadyDone);
  const auto target = parse_target(command.target);
  const bool one_component = target && target->component;  // 12+0 is not the whole job
  if (one_component || is_het_follower(job)) return failure(ErrorCode::kHetComponent);
  return {};
}

// The job, or all components of a heterogeneous job that are not over.
std::vector<JobId> parts_of(const Draft& draft, JobId id) {
  std::vector<JobId> parts;
  const auto het = draft.job(id).het;
  if (het == nullptr) return {id};
  for_components(draft.state(), *het, [&](const Job& part) {
    if (!is_terminal(part.state)) parts.push_back(part.id);
  });
  return parts;
}

Status suspend(Draft& draft, JobId id, const ChangeJob& command, Time now) {
  if (Status may = check_stop_or_go(draft, draft.job(id), command); !may) return may;
  const std::vector<JobId> parts = parts_of(draft, id);
  for (const JobId part : parts) {
    if (draft.job(part).preparing.any()) return failure(ErrorCode::kRetry);
  }
  for (const JobId part : parts) {
    if (draft.job(part).state == JobState::kRunning || draft.job(part).time_sliced)
      draft.emit(JobSuspended{.job = part, .time = now});
  }
  return {};
}

Status resume(Draft& draft, JobId id, const ChangeJob& command, Time now) {
  const Job& job = draft.job(id);
  if (Status may = check_stop_or_go(draft, job, command); !may) return may;
  if (job.state != JobState::kSuspended)
    return failure(ErrorCode::kDisabled, "Job is not suspended");
  for (const JobId part : parts_of(draft, id)) {
    if (draft.job(part).state == JobState::kSuspended) resume_job(draft, part, now);
  }
  return {};
}

HetReach reach_of(JobAction action) {
  const bool hold =
      action == JobAction::kHold || action == JobAction::kUserHold || action == JobAction::kRelease;
  return hold ? HetReach::kTogether : HetReach::kLeader;
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const ChangeJob& command, Time now) {
  return for_each_named(
      state, command.who, command.target,
      [&](Draft& draft, JobId id) -> Status {
        if (!is_owner_or_admin(draft.state(), draft.job(id), command.who.uid)) {
          return failure(ErrorCode::kAccessDenied);
        }
        switch (command.action) {
          case JobAction::kHold:
          case JobAction::kUserHold: return hold(draft, id, command, now);
          case JobAction::kRelease: return release(draft, id, command, now);
          case JobAction::kRequeue:
          case JobAction::kRequeueHold: return requeue(draft, id, command, now);
          case JobAction::kSuspend: return suspend(draft, id, command, now);
          case JobAction::kResume: return resume(draft, id, command, now);
          default: return failure(ErrorCode::kNotSupported);
        }
      },
      reach_of(command.action));
}

}  // namespace sluice::state
