// Targets and the records behind them.
#include "ctld/state/decide/targets.hpp"

#include "common/tables/errors.hpp"
#include "ctld/state/decide/job_ids.hpp"

namespace sluice::state {
namespace {

std::string shown_id(const Job& job) {
  if (job.het != nullptr) return std::to_string(job.het->leader) + '+' + std::to_string(job.het->offset);
  if (job.array == nullptr || job.array->task == kNoTask) return std::to_string(job.id);
  return std::to_string(job.array->array_job) + '_' + std::to_string(job.array->task);
}

}  // namespace

bool may_change(const ClusterState& state, const Job& job, Identity who) {
  return who.uid == job.spec->uid || is_admin(state, who.uid);
}

bool is_whole_hetjob(const ClusterState& state) {
  return has_option(state.config->scheduler_parameters, "whole_hetjob");
}

Result<std::vector<JobId>> split_pending_tasks(Draft& draft, JobId record, const IndexSet& tasks) {
  ArrayTasksSplit event;
  event.array_job = record;
  std::vector<JobId> ids;
  JobId from = draft.state().next_job_id;
  for (const IndexSet::Range& range : tasks.ranges()) {
    for (uint32_t task = range.first; task <= range.last; ++task) {
      const auto id = free_job_id(draft.state(), from);
      if (!id) return failure(ErrorCode::kTooManyJobs);
      from = *id + 1;
      event.tasks.push_back({task, *id});
      ids.push_back(*id);
    }
  }
  draft.emit(std::move(event));
  return ids;
}

Result<Decision> for_each_target(const ClusterState& state, std::string_view text,
                                 const RecordAction& action, HetReach reach) {
  const auto target = parse_target(text);
  if (!target) return tl::unexpected(target.error());
  const auto found = find_targets(state, *target);
  if (!found) return tl::unexpected(found.error());
  Draft draft(state);
  std::vector<JobId> records = found->records;
  if (found->whole_het && reach == HetReach::kLeader) records.resize(1);
  if (reach == HetReach::kTogether && records.size() == 1 && is_whole_hetjob(state)) {
    if (const auto het = state.jobs.at(records.front()).het) {
      records.clear();
      for_components(state, *het, [&](const Job& job) { records.push_back(job.id); });
    }
  }
  if (!found->pending_tasks.empty()) {
    const auto split = split_pending_tasks(draft, found->array_record, found->pending_tasks);
    if (!split) return tl::unexpected(split.error());
    records.insert(records.end(), split->begin(), split->end());
  }
  protocol::CountReply reply;
  Error first_error;
  for (const JobId id : records) {
    const std::string shown = shown_id(draft.job(id));
    if (Status done = action(draft, id); !done) {
      if (reply.errors.empty()) first_error = done.error();
      reply.errors.push_back(shown + ": " + error_text(done.error()));
    } else {
      ++reply.count;
    }
  }
  if (reply.count == 0) return tl::unexpected(first_error);
  return draft.take(std::move(reply));
}

}  // namespace sluice::state
