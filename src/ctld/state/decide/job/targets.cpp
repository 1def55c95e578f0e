// Targets and the records behind them.
#include "ctld/state/decide/job/targets.hpp"

#include <algorithm>

#include "common/model/component_name.hpp"
#include "common/names/errors.hpp"
#include "ctld/state/decide/job/job_ids.hpp"

namespace sluice::state {
namespace {

// What became of each task, gathered as Slurm tells it: the tasks of an array with one outcome are
// one line, and where something was refused, what went well has its line, too.
class Outcomes {
 public:
  // `tasks`: of the array `job`; empty: it is none.
  void note(const std::string& job, const IndexSet& tasks, const Status& done) {
    ++records_;
    if (done) ++done_;
    const std::string text = done ? "No error" : error_text(done.error());
    auto line =
        std::ranges::find_if(lines_, [&](const Line& l) { return l.text == text && l.job == job; });
    if (line == lines_.end())
      line = lines_.insert(line, {text, job, {}, done ? Error{} : done.error()});
    line->tasks.insert(tasks);
  }

  [[nodiscard]] bool any_done() const { return done_ > 0; }
  [[nodiscard]] Result<protocol::CountReply> reply() {
    protocol::CountReply reply;
    reply.count = done_;
    if (done_ == records_) return reply;
    const bool no_array =
        std::ranges::all_of(lines_, [](const Line& line) { return line.tasks.empty(); });
    if ((records_ == 1 && lines_[0].tasks.size() <= 1) || (done_ == 0 && no_array))
      return tl::unexpected(lines_[0].error);
    std::ranges::stable_sort(
        lines_, {}, [](const Line& line) { return line.tasks.empty() ? 0 : line.tasks.front(); });
    for (const Line& line : lines_) {
      reply.errors.push_back(line.job + (line.tasks.empty() ? "" : '_' + line.tasks.to_text()) +
                             ": " + line.text);
    }
    return reply;
  }

 private:
  struct Line {
    std::string text;
    std::string job;
    IndexSet tasks;
    Error error;
  };
  std::vector<Line> lines_;
  uint32_t records_ = 0, done_ = 0;
};

// 12 of the tasks of array 12, 123+1 of a component.
std::string shown_id(const Job& job) {
  if (job.het != nullptr) return component_name(*job.het);
  const ArrayInfo* array = job.array.get();
  return std::to_string(array != nullptr ? array->array_job : job.id);
}

IndexSet tasks_of(const Job& job) {
  if (job.array == nullptr) return {};
  return job.array->task != kNoTask ? IndexSet(job.array->task, job.array->task)
                                    : job.array->pending;
}

}  // namespace

bool is_whole_hetjob(const ClusterState& state) {
  return has_option(state.config->scheduler_parameters, "whole_hetjob");
}

Result<std::vector<JobId>> split_pending_tasks(Draft& draft, JobId record, const IndexSet& tasks) {
  ArrayTasksSplit event;
  event.array_job = record;
  std::vector<JobId> ids;
  JobId from = draft.state().next_job_id;
  const bool all = tasks.size() == draft.job(record).array->pending.size();
  for (const IndexSet::Range& range : tasks.ranges()) {
    for (uint32_t task = range.first; task <= range.last; ++task) {
      const bool last = all && task == tasks.back();
      const auto id = last ? std::optional(record) : free_job_id(draft.state(), from);
      // once round: what is free was given to these tasks
      const bool all_given = id && !ids.empty() && *id == ids.front();
      if (!id || all_given) return failure(ErrorCode::kTooManyJobs);
      if (!last) from = *id + 1;
      event.tasks.push_back({task, *id});
      ids.push_back(*id);
    }
  }
  draft.emit(std::move(event));
  return ids;
}

namespace {

// The records that were found as wholes, and what of a heterogeneous job is told besides.
std::vector<JobId> records_reached(const ClusterState& state, const TargetedJobs& found,
                                   HetReach reach) {
  std::vector<JobId> records = found.records;
  if (found.whole_het && reach == HetReach::kLeader) records.resize(1);
  if (reach == HetReach::kTogether && records.size() == 1 && is_whole_hetjob(state)) {
    if (const auto het = state.jobs.at(records.front()).het) {
      records.clear();
      for_components(state, *het, [&](const Job& job) { records.push_back(job.id); });
    }
  }
  return records;
}

// What one command may change: a record takes some microseconds, and the journal keeps its texts.
constexpr size_t kMostRecords = 30'000, kMostTextBytes = size_t{32} << 20;

struct Extent {
  HetReach reach = HetReach::kEach;
  bool bounded = false;   // to what one command may change
  size_t text_bytes = 0;  // that each record gets
  bool tells_missing = false;
  bool splits_tasks = true;
};

Result<Decision> for_each_of(const ClusterState& state, Identity who, std::string_view text,
                             const RecordAction& action, const Extent& extent) {
  const auto target = parse_target(text);
  if (!target) return tl::unexpected(target.error());
  // what is meant for a step alone is not done to its job
  if (target->step) return failure(ErrorCode::kInvalidJobId);
  const auto found = find_targets(state, *target);
  if (!found) return tl::unexpected(found.error());
  Draft draft(state);
  std::vector<JobId> records = records_reached(state, *found, extent.reach);
  // where all that wait are meant, their one record is among those found
  const bool waits = !found->pending_tasks.empty();
  size_t count = records.size() + found->folded.size();
  if (extent.splits_tasks) count += found->pending_tasks.size();
  if (extent.bounded && (count > kMostRecords || count * extent.text_bytes > kMostTextBytes))
    return failure(ErrorCode::kBadRequest, "this changes too much at once: name fewer");
  Outcomes outcomes;
  const bool splits = extent.splits_tasks && waits &&
                      is_owner_or_admin(state, draft.job(found->array_record), who.uid);
  if (waits && !splits) {
    Draft refused(state);  // no task gets a record by who may do nothing to it
    outcomes.note(std::to_string(target->job), found->pending_tasks,
                  action(refused, found->array_record));
  } else if (splits) {
    const auto split = split_pending_tasks(draft, found->array_record, found->pending_tasks);
    if (!split) return tl::unexpected(split.error());
    records.insert(records.end(), split->begin(), split->end());
  }
  for (const JobId id : records) {
    const Job& job = draft.job(id);
    const std::string shown = shown_id(job);
    const IndexSet tasks = tasks_of(job);
    outcomes.note(shown, tasks, action(draft, id));
  }
  Status of_folded;  // what is refused to one of them is refused to all
  found->folded.for_each([&](uint32_t id) {
    const FoldedTask& task = state.folded.at(id);
    if (of_folded) {
      draft.unfold(id);
      of_folded = action(draft, id);
    }
    outcomes.note(std::to_string(task.model->array->array_job), IndexSet(task.task, task.task),
                  of_folded);
  });
  if (extent.tells_missing && !found->missing.empty()) {
    outcomes.note(std::to_string(target->job), found->missing, failure(ErrorCode::kInvalidJobId));
  }
  auto reply = outcomes.reply();
  if (!reply) return tl::unexpected(reply.error());
  return outcomes.any_done() ? draft.take(std::move(*reply)) : Draft(state).take(std::move(*reply));
}

}  // namespace

Result<Decision> for_each_target(const ClusterState& state, Identity who, std::string_view target,
                                 const RecordAction& action, HetReach reach) {
  return for_each_of(state, who, target, action, {.reach = reach});
}

Result<Decision> for_each_running_target(const ClusterState& state, Identity who,
                                         std::string_view target, const RecordAction& action,
                                         HetReach reach) {
  return for_each_of(state, who, target, action, {.reach = reach, .splits_tasks = false});
}

Result<Decision> for_each_named(const ClusterState& state, Identity who, std::string_view target,
                                const RecordAction& action, HetReach reach, size_t text_bytes) {
  return for_each_of(
      state, who, target, action,
      {.reach = reach, .bounded = true, .text_bytes = text_bytes, .tells_missing = true});
}

}  // namespace sluice::state
