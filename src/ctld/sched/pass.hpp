// One scheduling pass: a snapshot in, a plan out. The pass takes no lock and changes nothing; the
// engine checks each start of the plan again and drops what no longer fits.
//
// Jobs are looked at in the order of priority. One that finds no room now keeps the nodes that it
// can have the earliest, and is planned for then: no later job delays it (conservative backfill,
// Mu'alem and Feitelson 2001). SchedulerParameters=bf_job_part_count_reserve=N has only the first N
// of a partition planned (with 1: EASY backfill, Lifka 1995). Running jobs may be preempted for one
// that finds no room (ctld/state/rules/preemption.hpp): it is planned for when they are gone, and
// starts in a later pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/job.hpp"
#include "ctld/sched/policy/priority.hpp"
#include "ctld/sched/stage_times.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/commands.hpp"

namespace sluice::sched {

// Bounds on one pass, so that a storm of jobs cannot hold up the next.
struct SchedulerView;
struct KeptPlan;
// What SchedulerParameters=bf_... let jobs do that others of higher priority wait before. None of
// it is needed to keep a pass short.
struct BackfillBounds {
  uint32_t most_of_partition = UINT32_MAX;          // looked at (bf_max_job_part)
  uint32_t most_of_user = UINT32_MAX;               // bf_max_job_user
  uint32_t most_of_user_in_partition = UINT32_MAX;  // bf_max_job_user_part
  uint32_t most_of_association = UINT32_MAX;        // bf_max_job_assoc
  uint32_t most_starts = UINT32_MAX;                // bf_max_job_start
  // jobs that keep nodes for later have waited for so long (bf_min_age_reserve)
  Duration least_age{0};
  uint32_t least_priority = 0;                    // and have as much (bf_min_prio_reserve)
  std::optional<Duration> window = std::nullopt;  // nothing is planned for later (bf_window)
};

struct WorkBudget {
  uint32_t most_starts = 10'000;     // jobs and array tasks
  uint32_t most_tests = UINT32_MAX;  // jobs that are tried and have to wait (bf_max_job_test)
  uint32_t most_jobs = UINT32_MAX;   // looked at, in the order of priority (default_queue_depth)
  uint32_t most_of_partition = UINT32_MAX;  // looked at, of each partition (partition_job_depth)
  // a job that a limit holds back keeps all that come after it in its partition from starting
  // (assoc_limit_stop)
  bool limits_stop = false;
  // jobs for which others are asked to make room: each costs a look at all of them
  uint32_t most_preemptors = 100;
  // of a partition that keep nodes for later (bf_job_part_count_reserve)
  uint32_t most_planned = UINT32_MAX;
  uint32_t most_planned_tasks = 20;  // of one array (bf_max_job_array_resv)
  BackfillBounds backfill = {};
  // asked now and then; true: the pass ends with what it has
  std::function<bool()> out_of_time = nullptr;
  StageClock stage_clock = nullptr;
  // what the last pass found out, for jobs that this one has no time for; may be null
  const SchedulerView* previous = nullptr;
  // what it is to repair (kept_plan.hpp); null: everything is planned anew
  std::shared_ptr<const KeptPlan> kept = nullptr;
};

// Soft facts about pending jobs, sorted by job id; published beside a snapshot, never journaled.
struct SchedulerView {
  struct Entry {
    JobId job = kNoJob;
    SchedulerHints soft;
    // the last reason in this pass or one before it that says more than that others came first
    JobReason waited_for = JobReason::kNone;
    // the same before this pass, in which tasks of its array may have started and others not
    JobReason waited_before = JobReason::kNone;
  };
  std::vector<Entry> jobs;
  Time made = kNoTime;
  [[nodiscard]] const SchedulerHints* find(JobId job) const;
  // `starts`: for what what the pass starts of it had waited.
  [[nodiscard]] JobReason waited_for(JobId job, bool starts) const;
};

struct PassTimings {
  uint32_t pending = 0;  // records looked at
  uint32_t tested = 0;   // placements tried
  uint32_t started = 0;
  uint32_t considered = 0;             // records that were tried, or found to be waiting for others
  uint32_t backfilled = 0;             // started while a job of higher priority waits for nodes
  uint32_t backfilled_components = 0;  // of heterogeneous jobs, the same
  uint32_t planned = 0;                // jobs that have nodes kept for them
  uint32_t kept = 0;                   // of these: as an earlier pass had planned them
  uint32_t unlicensed = 0;             // jobs that wait for licenses
  // the budget ended the pass
  bool most_starts = false, most_tests = false, most_jobs = false, out_of_time = false;
  bool most_of_partition = false;  // so many were looked at of a partition
  bool most_backfilled = false;    // BackfillBounds::most_starts let no more start
  bool incremental = false;        // it repaired a kept plan
  StageTimes stages{};
};

struct Plan {
  std::vector<state::PlannedStart> starts;
  std::vector<state::PlannedPreemption> preemptions;
  std::vector<state::PlannedResume> resumes;
  std::shared_ptr<const SchedulerView> soft;
  std::shared_ptr<const KeptPlan> kept;  // for the next pass; null: this one ended early
  PassTimings counts;
  // CompleteWait kept jobs from starting: there is more to plan soon, without any news
  bool settling = false;
  // then something is over that kept jobs from starting: PreemptExemptTime, --switches=n@time
  Time again = kNever;
};

[[nodiscard]] Plan plan_pass(const state::ClusterState& state, const Policies& policies, Time now,
                             const WorkBudget& budget = {});

// sbatch --test-only: where and when a job like this could start.
struct TestStart {
  Time start = kNoTime;
  std::string nodes;
  std::string partition;
  uint32_t cpus = 0;
  std::vector<JobId> preempted;  // jobs that would be for it
};
// Without regard to jobs that wait. kNodesNotAvailable when it never could; kError, in words, when
// `out_of_time` (null: never) says so before there is a start.
[[nodiscard]] Result<TestStart> test_start(const state::ClusterState& state, const Job& job,
                                           Time now,
                                           const std::function<bool()>& out_of_time = nullptr);
// At its turn, of a state in which it waits, by a pass with that budget; nullopt: it has none, is
// planned for no time, or there was not enough of it.
[[nodiscard]] std::optional<TestStart> test_start_in_turn(const state::ClusterState& state,
                                                          JobId job, Time now,
                                                          const WorkBudget& budget);

}  // namespace sluice::sched
