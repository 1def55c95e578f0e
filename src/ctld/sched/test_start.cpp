// sbatch --test-only: the start of a job that is not submitted.
#include <algorithm>
#include <utility>

#include "ctld/sched/idle_placement.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/sched/pass_run.hpp"
#include "ctld/sched/start_finder.hpp"
#include "ctld/sched/why.hpp"
#include "ctld/state/rules/access.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::sched {

Result<TestStart> test_start(const state::ClusterState& state, const Job& job, Time now,
                             const std::function<bool()>& out_of_time) {
  Error refused{ErrorCode::kNodesNotAvailable, {}};
  Job waited = job;
  // when it starts, it has waited for that
  waited.accrue = now - std::chrono::seconds(job.spec->delay_boot_seconds);
  Resources resources(state, now);
  for (const std::string& name : state::partitions_of(state, job)) {
    const state::Partition* partition = state::find_partition(state, name);
    if (partition == nullptr) return failure(ErrorCode::kInvalidPartition);
    if (state::why_not_admitted(state, *partition, *job.spec)) {
      // one that lets him in has been found at submission
      refused = Error{ErrorCode::kAccessDenied, {}};
      continue;
    }
    const auto request = request_of(state, resources.rules(), job, *partition);
    if (!request) {
      refused = request.error();
      continue;
    }
    TestStart found;
    found.partition = name;
    found.start = std::max(now, job.spec->begin);
    if (request->reservation != nullptr && (request->reservation->flags & kReservationFlex) == 0) {
      found.start = std::max(found.start, state::period_of(*request->reservation, now).start);
    }
    Finders alone;
    alone.out_of_time = out_of_time;
    StartFinder finder(resources, *request, &alone);
    StartFinder::Wanted wanted;
    wanted.duration = resources.duration_of(limit_of(job, *partition));
    wanted.patience = patience_of(*request, waited, now, resources.topology() != nullptr);
    wanted.from = resources.tick_from(found.start);
    auto placed = finder.first(wanted);
    if (!placed && out_of_time && out_of_time())
      return failure(
          "no start was found in the time that there is to look for one: try again later");
    if (!placed) {
      auto idle = place_idle(resources, *request, false);
      if (!idle) continue;
      placed = FoundStart{0, std::move(*idle)};
      found.start = now + std::chrono::hours(24 * 365);  // as Slurm does when no end is in sight
    } else {
      found.start = std::max(found.start, resources.time_of(placed->at));
    }
    Bitmap nodes;
    for (const NodeAllocation& a : placed->nodes) {
      found.cpus += a.cpus;
      nodes.set(a.node);
    }
    found.nodes = state::node_list(state, nodes);
    return found;
  }
  return tl::unexpected(std::move(refused));
}

std::optional<TestStart> test_start_in_turn(const state::ClusterState& state, JobId job, Time now,
                                            const WorkBudget& budget) {
  return PassRun(state, make_policies(state), now, budget).run_to_test(job);
}

std::optional<TestStart> PassRun::run_to_test(JobId job) {
  size_t before = 0;  // claims
  const auto remember = [&](Group) {
    before = resources_.claims().size();
    return false;
  };
  uint32_t entry = 0;
  const auto has_had_turn = [&](Group group) {
    entry = group.front().entry;
    return job_of(group) == job;
  };
  if (!take_turns(remember, has_had_turn) || !looked_at_[entry]) return std::nullopt;
  TestStart found;
  JobId last = kNoJob;  // of an array the first task is told
  for (const Claimed& claim : resources_.claims().subspan(before)) {
    if (std::exchange(last, claim.job) == claim.job) continue;
    for (const NodeAllocation& part : *claim.nodes) found.cpus += part.cpus;
  }
  const auto start = std::ranges::find(plan_.starts, job, &state::PlannedStart::job);
  if (start != plan_.starts.end()) {
    Bitmap nodes;  // of all components
    for (auto at = start; at != plan_.starts.end(); ++at) {
      if (at != start && at->job == job) continue;
      for (const NodeAllocation& part : at->allocation->nodes) nodes.set(part.node);
    }
    found.start = now_;
    found.nodes = state::node_list(state_, nodes);
    found.partition = start->partition;
    return found;
  }
  const SchedulerHints& soft = soft_->jobs[entry].soft;
  if (soft.expected_start == kNoTime) return std::nullopt;
  found.start = soft.expected_start;
  found.nodes = soft.planned_nodes.str();
  found.partition = soft.partition.empty() ? jobs_[entry]->partition.str() : soft.partition.str();
  for (const state::PlannedPreemption& one : plan_.preemptions) {
    const Job* preemptor = state_.jobs.find(one.preemptor);
    const bool of_it = one.preemptor == job || (preemptor != nullptr && preemptor->het != nullptr &&
                                                preemptor->het->leader == job);
    if (of_it) found.preempted.push_back(one.job);
  }
  std::ranges::sort(found.preempted);
  return found;
}

}  // namespace sluice::sched
