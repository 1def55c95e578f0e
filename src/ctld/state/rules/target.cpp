// Reading targets and finding their records.
#include "ctld/state/rules/target.hpp"

#include <algorithm>
#include <vector>

#include "common/base/hostlist.hpp"
#include "common/base/index_ops.hpp"
#include "common/base/text.hpp"
#include "common/names/step_names.hpp"
#include "ctld/state/core/fold.hpp"

namespace sluice::state {
namespace {

constexpr uint32_t kEveryTask = UINT32_MAX - 1;  // up to which "12_*" reaches

// Of the tasks that were named, those behind nothing that was found. Of "5_[*]" none is missing.
IndexSet missing_tasks(const ClusterState& state, const IndexSet& named,
                       const TargetedJobs& found) {
  if (named.back() == kEveryTask) return {};
  IndexSet missing = without(named, found.pending_tasks);
  std::vector<uint32_t> there;
  for (const JobId id : found.records) {
    const ArrayInfo& array = *state.jobs.at(id).array;
    if (array.task == kNoTask) missing = without(missing, array.pending);
    else there.push_back(array.task);
  }
  found.folded.for_each([&](uint32_t id) { there.push_back(state.folded.at(id).task); });
  return without(missing, index_set_of(there));
}

// Those of the tasks that have records, and what is still one record of them. Few are looked up one
// by one, however large the array is.
void find_tasks(const ClusterState& state, JobId array_job, const IndexSet& wanted,
                TargetedJobs& found) {
  const ArrayTasks& array = state.arrays.at(array_job);
  std::vector<uint32_t> folded;
  const auto take = [&](JobId id, bool has_record) {
    if (has_record) found.records.push_back(id);
    else folded.push_back(id);
  };
  if (wanted.size() < array.jobs.size() + array.folded.size()) {
    wanted.for_each([&](uint32_t task) {
      if (const JobId id = array.by_task.find(task); id != kNoJob)
        take(id, state.jobs.contains(id));
    });
  } else {
    array.jobs.for_each([&](uint32_t id) {
      const uint32_t task = state.jobs.at(id).array->task;
      if (task != kNoTask && wanted.contains(task)) take(id, true);
    });
    array.folded.for_each([&](uint32_t id) {
      if (wanted.contains(state.folded.at(id).task)) take(id, false);
    });
  }
  const Job* waiting = state.jobs.find(array_job);
  if (waiting != nullptr && waiting->array->task == kNoTask &&
      waiting->state == JobState::kPending) {
    IndexSet tasks = waiting->array->pending & wanted;
    if (tasks == waiting->array->pending) {
      found.records.push_back(array_job);
    } else if (!tasks.empty()) {
      found.array_record = array_job;
      found.pending_tasks = std::move(tasks);
    }
  }
  std::ranges::sort(found.records);
  found.folded = index_set_of(folded);
}

}  // namespace

Result<JobTarget> parse_target(std::string_view text) {
  const auto invalid = failure(ErrorCode::kInvalidJobId);
  JobTarget target;
  if (const size_t dot = text.find('.'); dot != std::string_view::npos) {
    target.step = parse_step_number(text.substr(dot + 1));
    if (!target.step) return invalid;
    text = text.substr(0, dot);
  }
  if (const size_t bar = text.find('_'); bar != std::string_view::npos) {
    const std::string_view tasks = text.substr(bar + 1);
    text = text.substr(0, bar);
    if (tasks == "*" || tasks == "[*]") target.tasks = IndexSet(0, kEveryTask);
    else target.tasks = IndexSet::parse_tasks(tasks);
    if (!target.tasks || target.tasks->empty()) return invalid;
  }
  if (const size_t plus = text.find('+'); plus != std::string_view::npos) {
    target.component = to_number<uint32_t>(text.substr(plus + 1));
    if (!target.component || target.tasks) return invalid;
    text = text.substr(0, plus);
  }
  const auto id = to_number<uint32_t>(text);
  if (!id || *id == kNoJob) return invalid;
  target.job = *id;
  return target;
}

Result<std::vector<std::string>> split_targets(std::string_view text) {
  constexpr size_t kMostTargets = 100;  // each may be of thousands of tasks
  std::vector<std::string> out;
  if (text.find(' ') != std::string_view::npos) return failure(ErrorCode::kInvalidJobId);
  for (std::string& target : split_hosts(text)) {
    if (std::ranges::find(out, target) != out.end()) continue;
    if (out.size() == kMostTargets)
      return failure(ErrorCode::kBadRequest, "this changes too much at once: name fewer");
    if (!parse_target(target)) return failure(ErrorCode::kInvalidJobId);
    out.push_back(std::move(target));
  }
  if (out.empty()) return failure(ErrorCode::kInvalidJobId);
  return out;
}

Result<TargetedJobs> find_targets(const ClusterState& state, const JobTarget& target) {
  TargetedJobs found;
  const ArrayTasks* array = state.arrays.find(target.job);
  const Job* exact = target.component ? find_component(state, target.job, *target.component)
                                      : state.jobs.find(target.job);
  if (target.component) {
    if (exact == nullptr) return failure(ErrorCode::kInvalidJobId);
    found.records.push_back(exact->id);
    return found;
  }
  if (exact != nullptr && exact->het != nullptr && !is_het_follower(*exact)) {
    for_components(state, *exact->het, [&](const Job& job) { found.records.push_back(job.id); });
    found.whole_het = true;
    return found;
  }
  if (!target.tasks && array == nullptr) {
    if (state.folded.contains(target.job)) found.folded.insert(target.job);
    else if (exact == nullptr) return failure(ErrorCode::kInvalidJobId);
    if (exact == nullptr) return found;
    found.records.push_back(target.job);
    return found;
  }
  if (array == nullptr) return failure(ErrorCode::kInvalidJobId);
  if (!target.tasks) {
    array->jobs.for_each([&](uint32_t id) { found.records.push_back(id); });
    found.folded = array->folded;
  } else {
    find_tasks(state, target.job, *target.tasks, found);
  }
  if (found.empty()) return failure(ErrorCode::kInvalidJobId);
  if (target.tasks) found.missing = missing_tasks(state, *target.tasks, found);
  return found;
}

std::vector<const Step*> find_steps(const Job& job, StepNumber number) {
  std::vector<const Step*> found;
  for (const auto& step : job.steps) {
    const bool meant = step->id.step == number || number_of_step(step->id.step) == number;
    if (meant) found.push_back(step.get());
  }
  return found;
}

Result<JobId> find_step_job(const ClusterState& state, const JobTarget& target) {
  if (target.component) {
    const Job* part = find_component(state, target.job, *target.component);
    if (part == nullptr) return failure(ErrorCode::kInvalidJobId);
    return part->id;
  }
  if (!target.tasks) {
    if (!find_job(state, target.job)) return failure(ErrorCode::kInvalidJobId);
    return target.job;
  }
  const FoundJob job = find_array_task(state, target.job, target.tasks->front());
  if (!job || job->array->task == kNoTask) return failure(ErrorCode::kInvalidJobId);
  return job->id;
}

}  // namespace sluice::state
