#include "ctld/state/decide/job/gang.hpp"

#include <algorithm>

#include "ctld/state/decide/ending.hpp"
#include "ctld/state/rules/gang.hpp"

namespace sluice::state {
namespace {

// GANG was taken from the configuration: all of them run again.
void end_turns(Draft& draft, Time now) {
  std::vector<JobId> waiting;
  draft.state().active.for_each([&](JobId id) {
    if (draft.job(id).time_sliced) waiting.push_back(id);
  });
  for (const JobId id : waiting) resume_job(draft, id, now);
}

}  // namespace

void rotate_gangs(Draft& draft, Time now) {
  const ClusterConfig& config = *draft.state().config;
  if (!config.preempt_gang) return end_turns(draft, now);
  const std::vector<GangJob> jobs = gang_jobs(draft.state());
  if (jobs.empty()) return;
  const std::vector<JobId> run = jobs_with_turn(jobs, config.scheduler_time_slice, now);
  const auto has_turn = [&](const GangJob& job) { return std::ranges::binary_search(run, job.id); };
  for (const GangJob& job : jobs) {
    if (job.runs && !has_turn(job))
      draft.emit(JobSuspended{.job = job.id, .time = now, .time_slice = true});
  }
  for (const GangJob& job : jobs) {
    if (!job.runs && has_turn(job)) resume_job(draft, job.id, now);
  }
}

}  // namespace sluice::state
