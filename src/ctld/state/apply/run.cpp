// A job starts, ends and gives its nodes back.
#include <algorithm>
#include <csignal>

#include "common/protocol/node_reports.hpp"
#include "ctld/state/apply/verbs.hpp"
#include "ctld/state/rules/batch_host.hpp"
#include "ctld/state/core/charging.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/core/heavy_texts.hpp"
#include "ctld/state/core/indexes.hpp"
#include "ctld/state/core/triggers.hpp"

namespace sluice::state {
namespace {

std::shared_ptr<const Step> make_batch_step(const Job& job, StepNode part) {
  auto layout = std::make_shared<StepLayout>();
  layout->num_tasks = 1;
  layout->node_list = part.name;
  layout->nodes.push_back(std::move(part));
  auto step = std::make_shared<Step>();
  step->id = StepId{job.id, kBatchStep};
  step->layout = std::move(layout);
  step->state = StepState::kRunning;
  step->start = job.start;
  step->nodes_left.set(0);
  return step;
}

std::shared_ptr<const JobSpec> with_qos(const JobSpec& spec, const SharedText& qos) {
  auto changed = std::make_shared<JobSpec>(spec);
  changed->qos = qos;
  return changed;
}

// It waits in the QOS that it asked for.
void leave_soft_qos(const ClusterState& state, Job& job) {
  auto account = std::make_shared<JobAccount>(*job.account);
  const Partition* partition = find_partition(state, job.partition.view());
  job.spec = with_qos(*job.spec, account->own_qos);
  account->qos = find_qos_id(state.accounting, account->own_qos.view());
  if (partition != nullptr)
    account->partition_qos = find_qos_id(state.accounting, partition->config->qos);
  account->own_qos = {};
  job.account = std::move(account);
}

void start_job(ClusterState& state, const JobStarted& event, const JobStarted::Start& start) {
  const std::shared_ptr<const JobSpec> before = state.jobs.at(start.job).spec;
  change_job(state, start.job, [&](Job& job) {
    SLUICE_CHECK(job.state == JobState::kPending && start.allocation != nullptr);
    job.state = JobState::kRunning;
    job.reason = JobReason::kNone;
    job.state_description = {};
    job.partition = event.partition;
    job.reservation = event.reservation;
    job.time_limit = event.time_limit;
    job.start = event.time;
    job.end = event.end;
    job.exit_status = 0;  // until now that of the run before
    job.allocation = start.allocation;
    job.released.clear();
    job.preparing.clear();
    job.early_script = event.early_script;
    job.preempt_exempt = event.preempt_exempt;
    if (event.prolog) job.preparing = Bitmap::first(job.allocation->nodes.size());
    if (event.controller_prolog) job.preparing.set(job.allocation->nodes.size());
    for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
      if (event.reboot || start.booting.test(at)) job.preparing.set(boot_position(job, at));
    }
    job.flags &= ~(kJobRequeued | kJobLaunchFailed | kJobSpecialExit);
    if (job.preparing.any()) job.flags |= kJobConfiguring;
    job.priority = event.priority;
    if (event.account != nullptr) job.account = event.account;
    if (!event.soft_qos.empty()) job.spec = with_qos(*job.spec, event.soft_qos);
    job.charge = start.charge;
    job.charged = kNoTime;
    if (!job.spec->batch || is_het_follower(job)) return;
    // earlier versions left out of the event where the script runs
    const auto batch =
        start.batch != nullptr ? start.batch : batch_part(state, *job.spec, *job.allocation);
    job.steps.push_back(make_batch_step(job, *batch));
  });
  if (!event.soft_qos.empty()) recount_text(state, state.jobs.at(start.job), *before, JobSpec());
  occupy_nodes(state, state.jobs.at(start.job));
  note_busy(state, state.jobs.at(start.job));
}

void forget_steps(ClusterState& state, Job& job) {
  count_heavy_text(state, job.spec->uid, heavy_text_of_steps(job), 0);
  job.steps.clear();
}

}  // namespace

void apply_event(ClusterState& state, const JobStarted& event) {
  const Job& record = state.jobs.at(event.record);
  if (record.array != nullptr && record.array->task == kNoTask) {
    std::vector<ArrayTasksSplit::Task> tasks;
    tasks.reserve(event.starts.size());
    for (const JobStarted::Start& start : event.starts) tasks.push_back({start.task, start.job});
    split_tasks(state, event.record, tasks);
  }
  for (const JobStarted::Start& start : event.starts) start_job(state, event, start);
}

void apply_event(ClusterState& state, const JobPrepared& event) {
  change_job(state, event.job, [&](Job& job) {
    job.preparing.and_not(event.positions);
    if (event.controller) job.preparing.reset(job.allocation->nodes.size());
    if (job.preparing.none()) job.flags &= ~kJobConfiguring;
  });
}

void apply_event(ClusterState& state, const JobCompleting& event) {
  // where it ran before this state is an older one that was put back: its time was charged then
  const bool ran_before = event.description.view() == protocol::kUsedJobId;
  const Time end = ran_before ? state.jobs.at(event.job).start : event.time;
  charge_run(state, state.jobs.at(event.job), end);
  change_job(state, event.job, [&](Job& job) {
    SLUICE_CHECK(!is_terminal(job.state) && is_terminal(event.state) && job.allocation != nullptr);
    job.state = event.state;
    job.reason = event.reason;
    job.state_description = event.description;
    job.exit_status = event.exit_status;
    job.cancelled_by = event.cancelled_by;
    job.failed_node = event.failed_node;
    job.flags = (job.flags & ~(kJobConfiguring | kJobStopped)) | event.flags | kJobCompleting;
    job.preparing.clear();
    job.ended_requests = {};
    job.end = end;
    job.kill_sent = event.time;
    job.grace_end = kNoTime;
    if (event.state == JobState::kPreempted) job.preempted_at = event.time;
  });
  count_completing(state, state.jobs.at(event.job), 1);
  note_job_over(state, state.jobs.at(event.job), event.time);
}

void apply_event(ClusterState& state, const JobNodesReleased& event) {
  const Job& held = state.jobs.at(event.job);
  SLUICE_CHECK(!held.released.intersects(event.positions));
  vacate_nodes(state, held, event.positions, event.time);
  change_job(state, event.job, [&](Job& job) {
    job.released |= event.positions;
    job.preparing.and_not(event.positions);
    event.positions.for_each([&](size_t at) { job.preparing.reset(boot_position(job, at)); });
    if (job.preparing.none()) job.flags &= ~kJobConfiguring;
  });
  note_drained(state, state.jobs.at(event.job), event.positions, event.time);
}

void apply_event(ClusterState& state, const JobEnded& event) {
  change_job(state, event.job, [&](Job& job) {
    if (!is_completing(job)) {  // it never had nodes
      SLUICE_CHECK(job.state == JobState::kPending);
      job.state = event.state;
      if (event.reason != JobReason::kNone) job.reason = event.reason;
      job.cancelled_by = event.cancelled_by;
      job.start = job.end = event.time;
      job.flags &=
          ~(kJobSpecialExit | kJobLaunchFailed | kJobRequeueHold | kJobReservationDeletedHold);
    }
    job.flags &= ~(kJobCompleting | kJobConfiguring);
    forget_steps(state, job);
    job.steps.shrink_to_fit();
  });
  note_job_over(state, state.jobs.at(event.job), event.time);
}

void apply_event(ClusterState& state, const JobRequeueCancelled& event) {
  change_job(state, event.job, [&](Job& job) {
    job.flags &= ~(kJobRequeued | kJobRequeueHold | kJobSpecialExit | kJobLaunchFailed);
    job.state = JobState::kCancelled;
    job.cancelled_by = event.cancelled_by;
  });
}

void apply_event(ClusterState& state, const JobRequeued& event) {
  unfold_job(state, event.job);
  const std::shared_ptr<const JobSpec> before = state.jobs.at(event.job).spec;
  change_job(state, event.job, [&](Job& job) {
    job.state = JobState::kPending;
    job.flags = event.flags;
    job.reason = event.reason;
    job.state_description = event.description;
    job.hold = event.hold;
    job.restart_count = event.restart_count;
    job.allocation.reset();
    job.reservation = {};
    job.released.clear();
    job.preparing.clear();
    forget_steps(state, job);
    job.next_step = 0;
    job.signal_sent = false;
    job.limit_warned = 0;
    job.exit_status = event.exit_status;
    job.derived_exit_status = event.derived_exit_status;
    job.cancelled_by = UINT32_MAX;
    job.submit = event.time;
    job.eligible = event.begin;
    job.accrue = job.start = job.end = job.kill_sent = job.suspended_at = kNoTime;
    job.age_limited = false;
    job.before_suspend = Duration(0);
    job.preempt_exempt = kNotPreemptable;
    job.preempted_at = kNoTime;
    job.priority = 0;
    job.charge = nullptr;
    job.charged = kNoTime;
    if (runs_softly(job.account.get())) leave_soft_qos(state, job);
  });
  const Job& job = state.jobs.at(event.job);
  if (job.spec != before) recount_text(state, job, *before, JobSpec());
}

void apply_event(ClusterState& state, const JobSuspended& event) {
  const Job& before = state.jobs.at(event.job);
  const bool runs = before.state == JobState::kRunning;
  SLUICE_CHECK(runs || before.time_sliced);
  if (!event.time_slice) release_processors(state, before);
  charge_run(state, state.jobs.at(event.job), event.time);
  change_job(state, event.job, [&](Job& job) {
    job.suspended_for_others = event.for_others;
    job.time_sliced = event.time_slice;
    if (!runs) return;  // it had not its turn: now it has no CPUs either
    job.before_suspend += event.time - (job.suspended_at != kNoTime ? job.suspended_at : job.start);
    job.suspended_at = event.time;
    job.state = JobState::kSuspended;
    job.flags &= ~kJobStopped;
  });
}

void apply_event(ClusterState& state, const JobResumed& event) {
  SLUICE_CHECK(state.jobs.at(event.job).state == JobState::kSuspended);
  if (!state.jobs.at(event.job).time_sliced) occupy_processors(state, state.jobs.at(event.job));
  change_job(state, event.job, [&](Job& job) {
    job.suspended_at = event.time;
    job.end = event.end;
    job.state = JobState::kRunning;
    job.suspended_for_others = job.time_sliced = false;
  });
}

void apply_event(ClusterState& state, const JobPreempted& event) {
  change_job(state, event.job, [&](Job& job) {
    SLUICE_CHECK(!is_terminal(job.state) && job.allocation != nullptr);
    job.preempted_at = event.time;
    job.grace_end = event.grace_end;
    job.end = std::min(job.end, event.grace_end);
  });
}

void apply_event(ClusterState& state, const JobsPurged& event) {
  for (const JobId id : event.jobs) {
    const Job& job = state.jobs.at(id);
    SLUICE_CHECK(is_finished(job));
    unindex_job(state, job);
    state.jobs.erase(id);
  }
  purge_folded(state, event.folded);
}

void apply_event(ClusterState& state, const ArrayTasksFolded& event) {
  event.jobs.for_each([&](uint32_t id) { fold_job(state, id); });
}

void apply_event(ClusterState& state, const JobShrunk& event) {
  const Job& before = state.jobs.at(event.job);
  SLUICE_CHECK(before.allocation != nullptr && event.allocation != nullptr);
  const size_t were = before.allocation->nodes.size(), are = event.allocation->nodes.size();
  Bitmap dropped, released, preparing;  // positions in the allocation so far; in the new one
  if (before.preparing.test(were)) preparing.set(are);  // PrologSlurmctld
  for (size_t at = 0; at < were; ++at) {
    const auto kept = allocation_position(*event.allocation, before.allocation->nodes[at].node);
    if (!kept && !before.released.test(at)) dropped.set(at);
    if (kept && before.released.test(at)) released.set(*kept);
    if (kept && before.preparing.test(at)) preparing.set(*kept);
    if (kept && before.preparing.test(boot_position(before, at))) preparing.set(are + 1 + *kept);
  }
  vacate_nodes(state, before, dropped, event.time);
  charge_run(state, before, event.time);
  change_job(state, event.job, [&](Job& job) {
    job.allocation = event.allocation;
    if (event.charge != nullptr) job.charge = event.charge;
    if (job.charge != nullptr) job.charged = event.time;
    job.released = std::move(released);
    job.preparing = std::move(preparing);
    if (job.preparing.none()) job.flags &= ~kJobConfiguring;
  });
}

void apply_event(ClusterState& state, const JobSignaled& event) {
  const bool whole_job = event.step == UINT32_MAX && event.message.view().empty();
  const bool stops = whole_job && event.signal == SIGSTOP,
             goes_on = whole_job && event.signal == SIGCONT;
  if (!event.warning && !stops && !goes_on) return;
  change_job(state, event.job, [&](Job& job) {
    if (event.warning) job.signal_sent = true;
    if (stops) job.flags |= kJobStopped;
    if (goes_on) job.flags &= ~kJobStopped;
  });
}

void apply_event(ClusterState& state, const JobTerminateResent& event) {
  change_job(state, event.job, [&](Job& job) { job.kill_sent = event.time; });
}

}  // namespace sluice::state
