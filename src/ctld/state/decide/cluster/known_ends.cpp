#include "ctld/state/decide/cluster/known_ends.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ctld/state/core/fold.hpp"
#include "ctld/state/decide/draft.hpp"
#include "ctld/state/decide/ending.hpp"

namespace sluice::state {
namespace {

constexpr const char* kForgotten =
    "It ended after this state was saved; how, the accounting records say";

bool is_over(const Job& job) { return is_terminal(job.state) && (job.flags & kJobRequeued) == 0; }

struct End {
  Ending ending;
  Time time = kNoTime;
  bool is_clean = true;  // its nodes are given back
};

// Nothing: it is not over.
std::optional<End> end_of(const ClusterState& restored, const ClusterState& later, const Job& job) {
  const Time first = std::max({job.submit, job.start, job.suspended_at});
  const FoundJob now = find_job(later, job.id);
  if (!now) {
    return End{{.state = JobState::kCancelled,
                .description = kForgotten,
                .by = restored.config->slurm_user_id},
               first};
  }
  if (!is_over(*now)) return std::nullopt;
  return End{{.state = now->state,
              .reason = now->reason,
              .description = now->state_description,
              .exit_status = now->exit_status,
              .by = now->cancelled_by,
              .failed_node = now->failed_node},
             std::max(now->end, first),
             !is_completing(*now)};
}

// Of tasks that wait in `restored` without records of their own, those that are over.
IndexSet tasks_over(const ClusterState& later, const ArrayInfo& array) {
  IndexSet over;
  array.pending.for_each([&](uint32_t task) {
    const FoundJob now = find_array_task(later, array.array_job, task);
    if (!now || is_over(*now)) over.insert(task);
  });
  return over;
}

void end_waiting(Draft& draft, const ClusterState& later, JobId id) {
  const Job& job = draft.job(id);
  if (job.state != JobState::kPending) return;  // with another component
  const uint32_t by = draft.state().config->slurm_user_id;
  if (job.array == nullptr || job.array->task != kNoTask) {
    if (const auto end = end_of(draft.state(), later, job))
      end_pending_job(draft, id, end->ending, end->time);
    return;
  }
  const IndexSet over = tasks_over(later, *job.array);
  if (over.empty()) return;
  if (over == job.array->pending) {
    return end_pending_job(draft, id, {.state = JobState::kCancelled, .by = by}, job.submit);
  }
  draft.emit(
      ArrayTasksCancelled{.array_job = id, .tasks = over, .cancelled_by = by, .time = job.submit});
}

void end_running(Draft& draft, const ClusterState& later, JobId id) {
  const auto end = end_of(draft.state(), later, draft.job(id));
  if (!end || (draft.job(id).flags & kJobRequeued) != 0) return;
  if (is_running(draft.job(id))) complete_job(draft, id, end->ending, end->time);
  const Job& job = draft.job(id);
  if (!end->is_clean || !is_completing(job)) return;
  release_nodes(draft, id, Bitmap::first(job.allocation->nodes.size()), end->time);
}

}  // namespace

Events known_ends(const ClusterState& restored, const ClusterState& later) {
  Draft draft(restored);
  std::vector<JobId> waiting, running;
  restored.pending.for_each([&](JobId id) { waiting.push_back(id); });
  restored.active.for_each([&](JobId id) { running.push_back(id); });
  for (const JobId id : running) end_running(draft, later, id);
  for (const JobId id : waiting) end_waiting(draft, later, id);
  return draft.take().events;
}

}  // namespace sluice::state
