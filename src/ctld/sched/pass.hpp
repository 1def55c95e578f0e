// One scheduling pass: a snapshot in, a plan out. The pass takes no lock and changes nothing; the
// engine checks each start of the plan again and drops what no longer fits.
//
// Stages, each timed: eligible, prioritise, place (in order of priority; the first job of a
// partition that does not fit gets its nodes reserved for the earliest time that running jobs'
// limits allow, and later jobs may only use those nodes when they end before: EASY backfill, Lifka
// 1995). A job that finds no room may have others make room for it
// (ctld/state/rules/preemption.hpp): it holds what they leave from then on, and starts in a later
// pass, when they are gone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/job.hpp"
#include "ctld/sched/policy/priority.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/commands.hpp"

namespace sluice::sched {

// Bounds on one pass, so that a storm of jobs cannot hold up the next.
struct WorkBudget {
  uint32_t most_starts = 10'000;    // jobs and array tasks
  uint32_t most_tests = 2'000;      // different demands tried that fail (Slurm: bf_max_job_test)
  uint32_t most_jobs = UINT32_MAX;  // looked at, in the order of priority (default_queue_depth)
  // jobs for which others are asked to make room: each costs a look at all of them
  uint32_t most_preemptors = 100;
};

// Soft facts about pending jobs, sorted by job id; published beside a snapshot, never journaled.
struct SchedulerView {
  struct Entry {
    JobId job = kNoJob;
    SchedulerHints soft;
  };
  std::vector<Entry> jobs;
  Time made = kNoTime;
  [[nodiscard]] const SchedulerHints* find(JobId job) const;
};

struct PassTimings {
  uint32_t pending = 0;  // records looked at
  uint32_t tested = 0;   // placements tried
  uint32_t started = 0;
  uint32_t considered = 0;  // records that were tried, or found to be waiting for others
  uint32_t backfilled = 0;  // started while a job of higher priority waits for nodes
  uint32_t planned = 0;     // jobs that have nodes kept for them
  uint32_t unlicensed = 0;  // jobs that wait for licenses
  bool most_starts = false, most_tests = false, most_jobs = false;  // the budget ended the pass
};

struct Plan {
  std::vector<state::PlannedStart> starts;
  std::vector<state::PlannedPreemption> preemptions;
  std::shared_ptr<const SchedulerView> soft;
  PassTimings counts;
  // CompleteWait kept jobs from starting: there is more to plan soon, without any news
  bool settling = false;
  // then something is over that kept jobs from starting: PreemptExemptTime, --switches=n@time
  Time again = kNever;
};

[[nodiscard]] Plan plan_pass(const state::ClusterState& state, const Policies& policies, Time now,
                             const WorkBudget& budget = {});

// sbatch --test-only: where and when a job like this could start, without regard to jobs that wait.
struct TestStart {
  Time start = kNoTime;
  std::string nodes;
  std::string partition;
  uint32_t cpus = 0;
};
// kNodesNotAvailable when it never could.
[[nodiscard]] Result<TestStart> test_start(const state::ClusterState& state, const Job& job,
                                           Time now);

}  // namespace sluice::sched
