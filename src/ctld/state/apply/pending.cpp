// What happens to jobs while they wait: changes, holds, dependencies, array tasks.
#include <algorithm>

#include "ctld/state/apply/verbs.hpp"
#include "ctld/state/core/indexes.hpp"
#include "ctld/state/core/spec_change.hpp"

namespace sluice::state {
namespace {

// A job that runs keeps the priority that it started with, but for its nice value.
void follow_nice(Job& job, const JobSpec& before) {
  const int64_t priority = int64_t{job.priority} - job.spec->nice + before.nice;
  job.priority = static_cast<uint32_t>(std::clamp<int64_t>(priority, 1, UINT32_MAX - 1));
}

}  // namespace

void apply_event(ClusterState& state, const JobUpdated& event) {
  const std::shared_ptr<const JobSpec> before = state.jobs.at(event.job).spec;
  change_job(state, event.job, [&](Job& job) {
    if (event.spec != nullptr)
      job.spec =
          event.changed.empty() ? event.spec : with_change(*job.spec, {event.changed, event.spec});
    if (job.priority != 0) follow_nice(job, *before);
    job.array = event.array;
    job.time_limit = event.time_limit;
    job.partition = event.partition;
    job.dependency = event.dependency;
    // what has to become eligible again is looked at then
    if (job.eligible != event.eligible || event.accrue != kNoTime) job.age_limited = false;
    job.eligible = event.eligible;
    job.accrue = event.accrue;
    job.end = event.end;
    if (event.account != nullptr) job.account = event.account;
    job.admin_set = event.admin_set;
  });
  if (event.spec == nullptr) return;
  recount_text(state, state.jobs.at(event.job), *before, *event.spec);
  rename_job(state, state.jobs.at(event.job), *before);
}

void apply_event(ClusterState& state, const JobHeld& event) {
  change_job(state, event.job, [&](Job& job) {
    job.hold = event.hold;
    job.flags |= event.flags;
    if (job.state != JobState::kPending) return;
    job.reason = event.reason;
    job.state_description = event.description;
    job.eligible = event.eligible;
    job.accrue = kNoTime;
    job.age_limited = false;
  });
}

void apply_event(ClusterState& state, const JobReleased& event) {
  change_job(state, event.job, [&](Job& job) {
    job.hold = HoldKind::kNone;
    job.flags &=
        ~(kJobSpecialExit | kJobLaunchFailed | kJobRequeueHold | kJobReservationDeletedHold);
    if (job.state != JobState::kPending) return;
    job.reason = JobReason::kNone;
    job.state_description = {};
  });
}

void apply_event(ClusterState& state, const JobBecameEligible& event) {
  change_job(state, event.job, [&](Job& job) {
    if (!job.age_limited) job.eligible = event.time;  // else it has been eligible since before
    job.accrue = event.age_limited ? kNoTime : event.time;
    job.age_limited = event.age_limited;
    job.reason = JobReason::kNone;
  });
}

void apply_event(ClusterState& state, const JobDependencyChanged& event) {
  change_job(state, event.job, [&](Job& job) {
    job.dependency = event.dependency;
    if (job.hold == HoldKind::kNone) job.reason = event.reason;
  });
}

void split_tasks(ClusterState& state, JobId record,
                 const std::vector<ArrayTasksSplit::Task>& tasks) {
  const Job master = state.jobs.at(record);
  SLUICE_CHECK(master.array != nullptr && master.array->task == kNoTask);
  auto rest = std::make_shared<ArrayInfo>(*master.array);
  ArrayInfo one = *master.array;
  one.pending.clear();
  one.cancelled.clear();
  const ArrayTasksSplit::Task* last = nullptr;
  for (const ArrayTasksSplit::Task& task : tasks) {
    SLUICE_CHECK(rest->pending.contains(task.task));
    rest->pending.erase(task.task);
    auto info = std::make_shared<ArrayInfo>(one);
    info->task = task.task;
    if (task.job == record) {
      last = &task;
      continue;
    }
    Job job = master;
    job.id = task.job;
    job.array = std::move(info);
    note_job_id(state, job.id);
    index_job(state, state.jobs.insert(task.job, std::move(job)));
  }
  SLUICE_CHECK(rest->pending.empty() == (last != nullptr));
  if (last != nullptr) {
    rest->task = last->task;
    state.arrays.edit(rest->array_job).by_task.set(last->task, record);
  }
  change_job(state, record, [&](Job& job) { job.array = std::move(rest); });
}

void apply_event(ClusterState& state, const ArrayTasksSplit& event) {
  split_tasks(state, event.array_job, event.tasks);
}

void apply_event(ClusterState& state, const ArrayTasksCancelled& event) {
  change_job(state, event.array_job, [&](Job& job) {
    auto rest = std::make_shared<ArrayInfo>(*job.array);
    event.tasks.for_each([&](uint32_t task) { rest->pending.erase(task); });
    rest->cancelled.insert(event.tasks);
    SLUICE_CHECK(!rest->pending.empty());
    job.array = std::move(rest);
  });
}

}  // namespace sluice::state
