// Time passes: limits, begin times, dependencies, deadlines, repeated orders, purge.
#include <map>

#include "common/model/job_age.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/node/power.hpp"
#include "ctld/state/decide/job/age.hpp"
#include "ctld/state/decide/job/gang.hpp"
#include "ctld/state/decide/job/preempt.hpp"
#include "ctld/state/decide/node/reboot.hpp"
#include "ctld/state/decide/cluster/reservation_tick.hpp"
#include "ctld/state/decide/cluster/usage_tick.hpp"
#include "ctld/state/decide/job/targets.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/rules/dependency.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/rules/mail_types.hpp"
#include "ctld/state/core/triggers.hpp"

namespace sluice::state {
namespace {

constexpr size_t kPurgedAtOnce = 5000;
constexpr uint64_t kFoldedPurgedAtOnce = 50'000;
// Nodes that have not reported a job clean are told again, no sooner than this.
constexpr Duration kRepeatAfter = std::chrono::seconds(60);

// Tasks of an array that wait each for a task of another one get records when their turn comes.
void split_decided(Draft& draft, JobId id, const Dependency& dependency, DependencyNotes& notes,
                   std::vector<JobId>& waiting) {
  const Job& job = draft.job(id);
  if (job.array == nullptr || job.array->task != kNoTask) return;
  const IndexSet decided = tasks_decided(draft.state(), job, dependency, notes);
  if (decided.empty()) return;
  const auto split = split_pending_tasks(draft, id, decided);
  if (!split) return;  // no free id: later
  for (const JobId one : *split) {
    if (one != id) waiting.push_back(one);
  }
}

bool is_killed_when_invalid(const JobSpec& spec, const ClusterConfig& config) {
  if (spec.kill_on_invalid_dependency != Toggle::kDefault)
    return spec.kill_on_invalid_dependency == Toggle::kYes;
  return has_option(config.dependency_parameters, "kill_invalid_depend") ||
         has_option(config.scheduler_parameters, "kill_invalid_depend");
}

// False when the job cannot wait any longer and has ended.
bool check_dependency(Draft& draft, JobId id, const Dependency& dependency, DependencyNotes& notes,
                      Time now) {
  const Job& job = draft.job(id);
  const DependencyResult result = evaluate_dependency(draft.state(), job, dependency, now, notes);
  const std::string left = result.satisfied() ? std::string() : format_dependency(result.left);
  JobReason reason = JobReason::kNone;
  if (!left.empty()) {
    reason = result.never ? JobReason::kDependencyNeverSatisfied : JobReason::kDependency;
  }
  // another one may have been given, or the reason lost by a hold
  const bool as_told = job.hold != HoldKind::kNone || job.reason == reason;
  // what becomes of the others changes nothing any more, and its user was told once
  const bool was_told = result.never && job.hold == HoldKind::kNone &&
                        job.reason == JobReason::kDependencyNeverSatisfied;
  if (!was_told && (job.dependency != left || !as_told))
    draft.emit(JobDependencyChanged{.job = id, .dependency = left, .reason = reason});
  if (!result.never || !is_killed_when_invalid(*job.spec, *draft.state().config)) return true;
  // what failed stays noted: a requeue does not start it once the other job is forgotten
  end_pending_job(draft, id,
                  {.state = JobState::kCancelled, .reason = JobReason::kDependencyNeverSatisfied},
                  now);
  return false;
}

// One tick looks at no more than so much of the dependencies, in pieces of text: each is about one
// item. What is more is cut into as many parts as it takes, of which each tick has the next.
class Turns {
 public:
  Turns(const ClusterState& state, uint64_t tick) {
    uint64_t all = 0;
    state.waiting.for_each([&](uint32_t id) { all += work_of(state.jobs.at(id)); });
    turn_ = tick % (all / kMost + 1);
  }
  // To be asked of all that wait, in the order of their ids.
  bool is_due(const Job& job) {
    const uint64_t from = passed_;
    passed_ += work_of(job);
    return from / kMost == turn_;
  }
  // Of what came to be in this tick, beside that.
  bool is_left_for(const Job& job) {
    more_ += work_of(job);
    return more_ <= kMost;
  }

 private:
  static constexpr uint64_t kMost = 20'000, kPiece = 16;
  static uint64_t work_of(const Job& job) {
    return job.dependency.empty() ? 0 : 1 + job.dependency.size() / kPiece;
  }

  uint64_t turn_ = 0, passed_ = 0, more_ = 0;
};

void tick_waiting(Draft& draft, uint64_t tick, Time now) {
  std::vector<JobId> waiting;
  draft.state().waiting.for_each([&](uint32_t id) { waiting.push_back(id); });
  Turns turns(draft.state(), tick);
  DependencyNotes notes;
  const size_t known = waiting.size();
  for (size_t at = 0; at < waiting.size(); ++at) {
    const JobId id = waiting[at];
    const bool due = at < known ? turns.is_due(draft.job(id)) : turns.is_left_for(draft.job(id));
    if (draft.job(id).state != JobState::kPending) continue;  // it ended with another component
    // one that is held stays so until it is released, as in Slurm
    if (draft.job(id).hold == HoldKind::kNone && is_too_late(draft.job(id), now)) {
      end_pending_job(draft, id, {.state = JobState::kDeadline, .reason = JobReason::kDeadLine},
                      now);
      continue;
    }
    if (due && !draft.job(id).dependency.empty()) {
      if (const auto dependency =
              parse_dependency(draft.job(id).dependency.view(), DependencyText::kKept)) {
        split_decided(draft, id, *dependency, notes, waiting);
        if (!check_dependency(draft, id, *dependency, notes, now)) continue;
      }
    }
    const Job& job = draft.job(id);
    if (comes_later(job) && is_eligible(job, now)) begin_to_wait(draft, id, now);
  }
}

Duration over_time(const ClusterState& state, const Job& job) {
  const Partition* partition = find_partition(state, job.partition.view());
  Minutes minutes = state.config->over_time_limit;
  if (partition != nullptr) minutes = partition->config->over_time_limit.value_or(minutes);
  return minutes == kInfiniteMinutes ? kNoLimit : Duration(std::chrono::minutes(minutes));
}

// The mails of --mail-type=TIME_LIMIT_50 and its kin.
void warn_of_limit(Draft& draft, JobId id, Time now) {
  const Job& job = draft.job(id);
  if (job.spec->mail_type.empty() || job.limit_warned >= kLimitMails.back().percent) return;
  const int64_t whole = (job.end - job.start - time_suspended(job)).count();
  const int64_t left = (job.end - now).count();
  const uint32_t before = job.limit_warned;
  for (const LimitMail& mail : kLimitMails) {
    const bool reached = (whole - left) * 100 >= whole * mail.percent;
    if (mail.percent <= before || !reached || !wants_mail(*draft.job(id).spec, mail.type)) continue;
    draft.emit(JobLimitNear{.job = id, .percent = mail.percent});
  }
}

void tick_running(Draft& draft, JobId id, Time now) {
  const Job& job = draft.job(id);
  if (job.grace_end != kNoTime && now >= job.grace_end) return end_preempted(draft, id, now);
  if (job.state == JobState::kSuspended) return;
  if (job.end != kNever && now >= job.end + over_time(draft.state(), job)) {
    complete_job(draft, whole_job(draft, id),
                 {.state = JobState::kTimeout, .reason = JobReason::kTimeLimit}, now);
    return;
  }
  const bool warns = job.end != kNever && job.grace_end == kNoTime;  // who makes room was told to
  if (warns && job.spec->signal != 0 && !job.signal_sent &&
      now >= job.end - std::chrono::seconds(job.spec->signal_seconds)) {
    send_own_signal(draft, id, now);
  }
  if (warns) warn_of_limit(draft, id, now);
  std::vector<StepId> late;
  for (const auto& step : draft.job(id).steps) {
    if (step->spec == nullptr || step->spec->time_limit == 0 || step->end != kNoTime ||
        step->spec->time_limit == kInfiniteMinutes) {
      continue;
    }
    const Duration limit =
        std::chrono::minutes(step->spec->time_limit) + time_suspended(draft.job(id));
    if (now >= step->start + limit) late.push_back(step->id);
  }
  for (const StepId step : late) draft.emit(StepEndOrdered{.id = step, .time = now});
}

void tick_active(Draft& draft, Time now) {
  std::vector<JobId> active;
  draft.state().active.for_each([&](uint32_t id) { active.push_back(id); });
  const Duration repeat = std::max(kRepeatAfter, draft.state().config->kill_wait +
                                                     draft.state().config->unkillable_step_timeout);
  for (const JobId id : active) {
    const Job& job = draft.job(id);
    if (!is_completing(job)) {
      tick_running(draft, id, now);
    } else if (now - job.kill_sent >= repeat) {
      draft.emit(JobTerminateResent{.job = id, .time = now});
    }
  }
}

// An array's own record stays until its other tasks are gone: users know the array by its number.
// The components of a heterogeneous job go together.
bool is_still_needed(const ClusterState& state, const Job& job, Time ended_before) {
  bool needed = false;
  if (job.het != nullptr) {
    for_components(state, *job.het, [&](const Job& other) {
      needed = needed || !is_finished(other) || other.end > ended_before;
    });
  }
  if (needed || job.array == nullptr || job.array->array_job != job.id) return needed;
  const ArrayTasks& tasks = state.arrays.at(job.id);
  return tasks.jobs.size() > 1 || !tasks.folded.empty();
}

bool is_array_due(const ClusterState& state, const ArrayTasks& tasks, Time ended_before) {
  bool due = true;
  tasks.jobs.for_each([&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    due = due && is_finished(job) && job.end <= ended_before;
  });
  if (due)
    tasks.folded.for_each(
        [&](uint32_t id) { due = due && state.folded.at(id).end <= ended_before; });
  return due;
}

// A task that went wrong stays until all of its array is due: who asks how the array went is to
// find out.
class Outcomes {
 public:
  Outcomes(const ClusterState& state, Time ended_before)
      : state_(state), ended_before_(ended_before) {}
  bool hold(const Job& job) {
    if (job.array == nullptr || succeeded(job)) return false;
    const auto [at, is_new] = due_.try_emplace(job.array->array_job, false);
    if (is_new) at->second = is_array_due(state_, state_.arrays.at(at->first), ended_before_);
    return !at->second;
  }

 private:
  const ClusterState& state_;
  Time ended_before_;
  std::map<JobId, bool> due_;
};

// Ended tasks that are due, a bounded number at a time.
IndexSet due_folded(const ClusterState& state, Time ended_before, Outcomes& outcomes) {
  IndexSet due;
  uint64_t count = 0;
  state.arrays.for_each([&](const ArrayTasks& tasks) {
    if (tasks.folded.empty() || tasks.oldest_end > ended_before) return;
    tasks.folded.for_each([&](uint32_t id) {
      if (count >= kFoldedPurgedAtOnce) return;
      const FoldedTask& task = state.folded.at(id);
      if (task.end > ended_before || outcomes.hold(*task.model)) return;
      due.insert(id);
      ++count;
    });
  });
  return due;
}

void tick_finished(Draft& draft, Time now) {
  const ClusterState& state = draft.state();
  // what ended while no controller ran is kept as long as what it saw end
  const Duration age = state.config->min_job_age;
  const bool purge = age > Duration(0) && now - state.epoch_start >= age;
  const Time ended_before = purge ? now - state.config->min_job_age : kNoTime;
  JobsPurged purged;
  ArrayTasksFolded folded;
  Outcomes outcomes(state, ended_before);
  state.finished.for_each([&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    if (purge && job.end <= ended_before && !is_still_needed(state, job, ended_before) &&
        !outcomes.hold(job)) {
      if (purged.jobs.size() < kPurgedAtOnce) purged.jobs.push_back(id);
    } else if (may_fold(job)) {
      folded.jobs.insert(id);
    }
  });
  if (purge) purged.folded = due_folded(state, ended_before, outcomes);
  if (!purged.jobs.empty() || !purged.folded.empty()) draft.emit(std::move(purged));
  if (!folded.jobs.empty()) draft.emit(std::move(folded));
}

void tick_nodes(Draft& draft, Time now) {
  std::vector<NodeId> due;
  draft.state().nodes.for_each([&](const Node& node) {
    if (node.resume_after != kNoTime && node.resume_after <= now) due.push_back(node.id);
  });
  for (const NodeId id : due) {
    NodeStateChanged event = present_state(draft.node(id), now);
    event.resume_after = kNoTime;
    event.flags &= ~(kNodeDrain | kNodeFailing);
    if (event.base == NodeBaseState::kDown) event.base = NodeBaseState::kIdle;
    clear_reason(event);
    draft.emit(std::move(event));
  }
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const Tick& command, Time now) {
  Draft draft(state);
  tick_active(draft, now);
  rotate_gangs(draft, now);
  tick_reservations(draft, now);
  // before the purge: what a job waits for must still be there
  tick_waiting(draft, command.number, now);
  tick_age(draft, now);
  tick_finished(draft, now);
  tick_nodes(draft, now);
  issue_reboots(draft, now);
  tick_power(draft, now);
  tick_usage(draft, now);
  for (Firing& firing : triggers_due(draft.state(), now)) {
    draft.emit(
        TriggerFired{.trigger = std::move(firing.trigger), .resource = std::move(firing.resource)});
  }
  TriggersCleared orphans{.ids = triggers_without_job(draft.state())};
  if (!orphans.ids.empty()) draft.emit(std::move(orphans));
  return draft.take();
}

}  // namespace sluice::state
