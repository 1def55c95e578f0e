#include "ctld/sched/policy/incr_only.hpp"

#include <algorithm>

namespace sluice::sched {

PriorityMemory::PriorityMemory(const state::ClusterState& state, const PriorityPolicy& policy,
                               Time now) {
  state.pending.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    Entry& entry = entries_.emplace_back(Entry{id, job.spec, {}});
    for (const std::string& name : state::partitions_of(state, job)) {
      const state::Partition* partition = state::find_partition(state, name);
      if (partition == nullptr) continue;
      entry.by_partition.push_back({name, policy.priority(job, *partition->config, now)});
    }
  });
}

uint32_t PriorityMemory::find(const Job& job, std::string_view partition) const {
  const auto at = std::ranges::lower_bound(entries_, job.id, {}, &Entry::job);
  if (at == entries_.end() || at->job != job.id || at->spec != job.spec) return 0;
  for (const PartitionPriority& one : at->by_partition) {
    if (one.partition == partition) return one.priority;
  }
  return 0;
}

uint32_t IncreasingPriority::priority(const Job& job, const PartitionConfig& partition,
                                      Time now) const {
  return std::max(policy_->priority(job, partition, now), before_->find(job, partition.name));
}

std::optional<WeighedJob> IncreasingPriority::weigh(const Job& job,
                                                    const PartitionConfig& partition,
                                                    Time now) const {
  auto weighed = policy_->weigh(job, partition, now);
  const uint32_t least = before_->find(job, partition.name);
  if (weighed && !has_fixed_priority(job) && least > weighed->priority)
    weighed->sum = weighed->priority = least;
  return weighed;
}

bool only_increases(const ClusterConfig& config) {
  return has_option(config.priority_flags, "INCR_ONLY");
}

}  // namespace sluice::sched
