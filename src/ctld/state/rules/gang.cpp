#include "ctld/state/rules/gang.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "ctld/state/rules/room.hpp"

namespace sluice::state {
namespace {

// CPUs of several nodes.
class CoreSets {
 public:
  [[nodiscard]] bool intersects(const Allocation& allocation) const {
    return std::ranges::any_of(allocation.nodes, [this](const NodeAllocation& part) {
      const auto found = by_node_.find(part.node);
      return found != by_node_.end() && found->second.intersects(part.cores);
    });
  }
  void add(const Allocation& allocation) {
    for (const NodeAllocation& part : allocation.nodes) by_node_[part.node] |= part.cores;
  }

 private:
  std::unordered_map<NodeId, Bitmap> by_node_;
};

// Nodes on which two of these jobs hold a core.
Bitmap crowded_nodes(const std::vector<const Job*>& jobs) {
  std::unordered_map<NodeId, Bitmap> held;
  Bitmap crowded;
  for (const Job* job : jobs) {
    for (const NodeAllocation& part : job->allocation->nodes) {
      Bitmap& cores = held[part.node];
      if (cores.intersects(part.cores)) crowded.set(part.node);
      cores |= part.cores;
    }
  }
  return crowded;
}

enum class Rank : uint8_t { kInTurn, kWaiting, kHadTurn };

}  // namespace

std::vector<JobId> jobs_with_turn(const std::vector<GangJob>& jobs, Duration slice, Time now) {
  CoreSets due;  // of those that have waited for a slice
  for (const GangJob& job : jobs) {
    if (!job.runs && job.since + slice <= now) due.add(*job.allocation);
  }
  const auto rank = [&](const GangJob& job) {
    if (!job.runs) return Rank::kWaiting;
    const bool is_over = job.since + slice <= now && due.intersects(*job.allocation);
    return is_over ? Rank::kHadTurn : Rank::kInTurn;
  };
  std::vector<std::tuple<Rank, Time, JobId, const GangJob*>> order;
  order.reserve(jobs.size());
  for (const GangJob& job : jobs) order.emplace_back(rank(job), job.since, job.id, &job);
  std::ranges::sort(order);
  std::vector<JobId> run;
  CoreSets taken, spoken_for;
  for (const auto& [how, since, id, job] : order) {
    const bool waits = how == Rank::kWaiting;
    const bool free =
        !taken.intersects(*job->allocation) && !(waits && spoken_for.intersects(*job->allocation));
    if (free) {
      taken.add(*job->allocation);
      run.push_back(id);
    } else if (waits) {
      spoken_for.add(*job->allocation);
    }
  }
  std::ranges::sort(run);
  return run;
}

bool has_turns(const PartitionConfig& partition) {
  return partition.preempt_mode != PreemptMode::kOff || partition.preempt_gang;
}

bool counts_as_sharer(const Job& job) {
  return job.state != JobState::kSuspended || job.time_sliced || job.suspended_for_others;
}

bool takes_turns(const ClusterState& state, const Job& job) {
  const bool here = job.state == JobState::kRunning || job.time_sliced;
  if (!here || is_completing(job) || job.allocation == nullptr || job.preparing.any() ||
      job.allocation->whole_nodes || job.het != nullptr)
    return false;
  const Partition* partition = find_partition(state, job.partition.view());
  if (partition == nullptr) return false;
  return has_turns(*partition->config) && sharers_of(*partition->config, *job.spec) > 1;
}

std::vector<GangJob> gang_jobs(const ClusterState& state) {
  std::vector<const Job*> candidates;
  state.active.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    if (takes_turns(state, job)) candidates.push_back(&job);
  });
  std::vector<GangJob> out;
  if (candidates.empty()) return out;
  const Bitmap crowded = crowded_nodes(candidates);
  for (const Job* job : candidates) {
    const bool shares =
        job->time_sliced || std::ranges::any_of(job->allocation->nodes, [&](const auto& part) {
          return crowded.test(part.node);
        });
    if (!shares) continue;
    out.push_back({job->id, job->state == JobState::kRunning,
                   job->suspended_at != kNoTime ? job->suspended_at : job->start,
                   job->allocation.get()});
  }
  return out;
}

}  // namespace sluice::state
