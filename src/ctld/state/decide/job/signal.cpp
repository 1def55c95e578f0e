// scancel and scontrol notify: cancel or signal jobs, array tasks and steps.
#include "ctld/state/decide/job/signal.hpp"

#include <algorithm>

#include "common/base/printable.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/job/targets.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {
namespace {

constexpr uint32_t kKill = 9;
constexpr uint32_t kTerm = 15;
constexpr uint32_t kLastSignal = 64;

// Whoever runs jobs in a partition that is root's alone sees to them; InactiveLimit does not.
bool is_roots_alone(const ClusterState& state, const Job& job) {
  const Partition* partition = find_partition(state, job.partition.view());
  return partition != nullptr && partition->config->root_only;
}

// A waiting job is nothing but its script.
bool kills_the_script(const SignalJob& command) {
  return (command.flags & protocol::kSignalBatchOnly) != 0 &&
         (command.signal == 0 || command.signal == kKill);
}

// A job that would wait again when its nodes are clean ends for good; its other components that
// wait already do, too.
void cancel_requeue(Draft& draft, JobId id, const SignalJob& command, Time now) {
  const Job& job = draft.job(id);
  if ((job.flags & kJobRequeued) == 0) return;
  std::vector<JobId> all{id};
  if (const auto het = job.het) {
    all.clear();
    for_components(draft.state(), *het, [&](const Job& part) { all.push_back(part.id); });
  }
  for (const JobId one : all) {
    const Job& part = draft.job(one);
    const bool requeued = is_completing(part) && (part.flags & kJobRequeued) != 0;
    if (requeued) draft.emit(JobRequeueCancelled{.job = one, .cancelled_by = command.who.uid});
    else if (part.state == JobState::kPending) {
      end_pending_job(draft, one, {.state = JobState::kCancelled, .by = command.who.uid}, now);
    }
  }
}

}  // namespace

bool ends_the_job(const SignalJob& command) {
  const bool partly =
      (command.flags & (protocol::kSignalBatchOnly | protocol::kSignalStepsOnly)) != 0;
  const bool cancel = (command.flags & protocol::kSignalCancel) != 0;
  return !partly && (cancel || command.signal == kKill);
}

Status signal_job(Draft& draft, JobId id, const SignalJob& command, Time now) {
  const Job job = draft.job(id);
  if (!is_owner_or_admin(draft.state(), job, command.who.uid))
    return failure(ErrorCode::kAccessDenied);
  if (is_finished(job)) return failure(ErrorCode::kAlreadyDone);
  if (ends_the_job(command) && !job.spec->cron.empty()) {
    const bool may = (command.flags & protocol::kSignalCron) != 0 ||
                     !has_option(draft.state().config->scron_parameters, "explicit_scancel");
    if (!may)
      return failure(ErrorCode::kDisabled, "Cannot cancel scrontab jobs without --cron flag.");
    disable_cron_line(draft, job);
  }
  const Ending cancelled{
      .state = JobState::kCancelled, .reason = JobReason::kNone, .by = command.who.uid};
  if (is_het_follower(job) && ends_the_job(command)) {
    const Job* leader = draft.state().jobs.find(job.het->leader);
    const bool whole = leader != nullptr && is_whole_hetjob(draft.state());
    if (whole && !is_finished(*leader)) return signal_job(draft, leader->id, command, now);
    if (job.state == JobState::kPending) return failure(ErrorCode::kHetComponent);
  }
  if (job.state == JobState::kPending) {
    if (!ends_the_job(command) && !kills_the_script(command))
      return failure(ErrorCode::kJobPending);
    end_pending_job(draft, id, cancelled, now);
    return {};
  }
  if (is_completing(job)) {
    if (!ends_the_job(command)) return failure(ErrorCode::kAlreadyDone);
    cancel_requeue(draft, id, command, now);
    return {};
  }
  if (ends_the_job(command)) {
    complete_job(draft, id, cancelled, now);
    return {};
  }
  if (job.state == JobState::kSuspended) {
    // a signal could have it run beside those that it was suspended for
    if (command.signal != kKill && command.signal != 0)
      return failure(ErrorCode::kError, "Job can not be altered now, try again later");
    complete_job(draft, id, cancelled, now);
    return {};
  }
  const bool to_script = (command.flags & protocol::kSignalBatchOnly) != 0;
  if (to_script && !job.spec->batch && !is_het_follower(job))
    return failure(ErrorCode::kError, "Job script not specified");
  const uint32_t signal = command.signal == 0 ? kKill : command.signal;
  draft.emit(JobSignaled{.job = id, .signal = signal, .flags = command.flags, .time = now});
  return {};
}

Status signal_step(Draft& draft, StepId id, const SignalJob& command, Time now) {
  const FoundJob found = find_job(draft.state(), id.job);
  if (!found) return failure(ErrorCode::kInvalidJobId);
  const Job& job = *found;
  if (!is_owner_or_admin(draft.state(), job, command.who.uid))
    return failure(ErrorCode::kAccessDenied);
  if (is_finished(job)) return failure(ErrorCode::kInvalidJobId);
  struct Part {
    StepId id;
    bool cancelled;
  };
  std::vector<Part> parts;  // what find_steps() gives ends with the first event
  for (const Step* step : find_steps(job, id.step)) {
    parts.push_back({step->id, step->state == StepState::kCancelled});
  }
  if (parts.empty()) {
    if (job.state == JobState::kPending) return failure(ErrorCode::kJobPending);
    return failure(is_completing(job) ? ErrorCode::kInvalidJobId : ErrorCode::kInvalidStepId);
  }
  const bool cancel = (command.flags & protocol::kSignalCancel) != 0 || command.signal == 0;
  if (job.state == JobState::kSuspended && !cancel && command.signal != kKill)
    return failure(ErrorCode::kError, "Job step not running");
  // The job's end has given its steps KillWait. An srun in its script got TERM with it, and asks
  // for KILL.
  if (cancel && is_completing(job)) return failure(ErrorCode::kInvalidJobId);
  for (const Part& part : parts) {
    if (!cancel) {
      draft.emit(JobSignaled{.job = id.job,
                             .step = part.id.step,
                             .signal = command.signal,
                             .flags = command.flags,
                             .time = now});
    } else if (!part.cancelled) {
      // as slurmctld: a step that is cancelled gets no time to end by itself, but for the one that
      // asks with TERM (srun -K)
      draft.emit(StepEndOrdered{
          .id = part.id, .by = command.who.uid, .time = now, .at_once = command.signal != kTerm});
    }
  }
  return {};
}

namespace {

Result<Decision> decide_on_step(const ClusterState& state, const JobTarget& target,
                                const SignalJob& command, Time now) {
  const auto id = find_step_job(state, target);
  if (!id) return tl::unexpected(id.error());
  Draft draft(state);
  if (Status done = signal_step(draft, {*id, *target.step}, command, now); !done)
    return tl::unexpected(done.error());
  return draft.take(protocol::CountReply{.count = 1, .errors = {}});
}

// Tasks that have no records of their own are taken out of the array without making any.
Result<Decision> cancel_pending_tasks(const ClusterState& state, const TargetedJobs& found,
                                      const SignalJob& command, Time now) {
  const Job& master = state.jobs.at(found.array_record);
  if (!is_owner_or_admin(state, master, command.who.uid)) return failure(ErrorCode::kAccessDenied);
  Draft draft(state);
  draft.emit(ArrayTasksCancelled{.array_job = found.array_record,
                                 .tasks = found.pending_tasks,
                                 .cancelled_by = command.who.uid,
                                 .time = now});
  protocol::CountReply reply;
  reply.count = static_cast<uint32_t>(found.pending_tasks.size());
  for (const JobId id : found.records) {
    if (signal_job(draft, id, command, now)) ++reply.count;
  }
  return draft.take(std::move(reply));
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const SignalJob& command, Time now) {
  if (command.signal > kLastSignal) return failure(ErrorCode::kInvalidSignal);
  const auto target = parse_target(command.target);
  if (!target) return tl::unexpected(target.error());
  if (target->step) return decide_on_step(state, *target, command, now);
  if (target->tasks && ends_the_job(command)) {
    const auto found = find_targets(state, *target);
    if (!found) return tl::unexpected(found.error());
    if (!found->pending_tasks.empty()) return cancel_pending_tasks(state, *found, command, now);
  }
  if (target->tasks && !ends_the_job(command)) {
    const auto found = find_targets(state, *target);
    if (found && !found->pending_tasks.empty() && found->records.empty()) {
      return failure(ErrorCode::kJobPending);
    }
  }
  const RecordAction action = [&](Draft& draft, JobId id) {
    return signal_job(draft, id, command, now);
  };
  if (ends_the_job(command))
    return for_each_target(state, command.who, command.target, action, HetReach::kLeader);
  if (kills_the_script(command))
    return for_each_target(state, command.who, command.target, action, HetReach::kEach);
  return for_each_running_target(state, command.who, command.target, action, HetReach::kEach);
}

namespace {

// About how many times two microseconds it takes to look at what the target names, whatever becomes
// of it.
size_t work_of(const ClusterState& state, const std::string& text,
               const Result<JobTarget>& target) {
  constexpr size_t kEach = 5, kBytes = 64, kRanges = 8, kRangesOfArray = 128;
  size_t work = kEach + text.size() / kBytes;
  if (!target) return work;
  if (const ArrayTasks* array = state.arrays.find(target->job)) {
    const size_t there = array->jobs.size() + array->folded.size();
    work += target->tasks ? std::min<size_t>(target->tasks->size(), there) : there;
  }
  if (!target->tasks) return work;
  // the array's waiting tasks are written anew without those that end
  const Job* master = state.jobs.find(target->job);
  const bool waits = master != nullptr && master->array != nullptr;
  return work + target->tasks->ranges().size() / kRanges +
         (waits ? master->array->pending.ranges().size() / kRangesOfArray : 0);
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const SignalJobs& command, Time now) {
  constexpr size_t kMostWork = 2000;
  if (command.signal > kLastSignal) return failure(ErrorCode::kInvalidSignal);
  Draft draft(state);
  protocol::CancelJobsReply reply;
  size_t work = 0;
  for (const std::string& text : command.targets) {
    const auto target = parse_target(text);
    work += work_of(draft.state(), text, target);
    if (work > kMostWork && !reply.outcomes.empty()) break;
    auto& outcome = reply.outcomes.emplace_back();
    outcome.target = text;
    const bool step = target && target->step;
    auto done = decide_on(
        draft.state(),
        SignalJob{command.who, text, command.signal, step ? command.step_flags : command.flags},
        now);
    if (!done) {
      outcome.code = done.error().code, outcome.text = done.error().text;
      continue;
    }
    auto& counted = std::get<protocol::CountReply>(done->reply);
    outcome.errors = std::move(counted.errors), outcome.count = counted.count;
    for (Event& event : done->events) draft.emit(std::move(event));
  }
  return draft.take(std::move(reply));
}

Result<Decision> decide_on(const ClusterState& state, const NotifyJob& command, Time now) {
  constexpr size_t kMostMessage = 4096;  // it is kept until every node has it
  if (command.message.size() > kMostMessage)
    return failure(ErrorCode::kBadRequest, "the message is longer than 4096 bytes");
  const auto target = parse_target(command.target);
  if (!target) return tl::unexpected(target.error());
  const auto id = find_step_job(state, *target);
  if (!id) return tl::unexpected(id.error());
  const FoundJob found = find_job(state, *id);
  const Job& job = *found;
  if (!is_owner_or_admin(state, job, command.who.uid)) return failure(ErrorCode::kAccessDenied);
  if (!is_running(job)) {
    return failure(job.state == JobState::kPending ? ErrorCode::kJobPending
                                                   : ErrorCode::kAlreadyDone);
  }
  Draft draft(state);
  // it stands in a file of the job's user, where another may write no line of his own
  const bool own = may_act_as_owner(state, job, command.who.uid);
  JobSignaled event{
      .job = *id, .message = own ? command.message : mask_controls(command.message), .time = now};
  if (target->step) event.step = *target->step;
  draft.emit(std::move(event));
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const EndAllocation& command, Time now) {
  const Job* job = state.jobs.find(command.job);
  if (job == nullptr) return failure(ErrorCode::kInvalidJobId);
  if (!is_owner_or_admin(state, *job, command.who.uid)) return failure(ErrorCode::kAccessDenied);
  Draft draft(state);
  if (job->state == JobState::kPending) {
    end_pending_job(draft, command.job, {.state = JobState::kCancelled, .by = command.who.uid},
                    now);
  } else if (is_running(*job)) {
    complete_job(draft, command.job, ending_of_exit(*state.config, *job, command.exit_status), now);
  } else {
    return failure(ErrorCode::kAlreadyDone);
  }
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const ClientGone& command, Time now) {
  Draft draft(state);
  const Job* job = state.jobs.find(command.job);
  if (job == nullptr) return draft.take();
  Ending ending{.state = JobState::kCancelled, .by = state.config->slurm_user_id};
  if (job->state == JobState::kPending) {
    end_pending_job(draft, command.job, ending, now);
  } else if (is_running(*job)) {
    if (state.config->inactive_limit > Duration(0) && state.config->inactive_limit < kNoLimit) {
      if (is_roots_alone(state, *job)) return draft.take();
      ending = {.state = JobState::kTimeout, .reason = JobReason::kInactiveLimit};
    }
    complete_job(draft, command.job, ending, now);
  }
  return draft.take();
}

}  // namespace sluice::state
