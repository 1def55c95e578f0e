// PriorityFlags=INCR_ONLY: a job's priority does not fall below what it was in the last pass,
// unless the job itself was changed since. Remembered for as long as the controller runs.
#pragma once

#include <vector>

#include "ctld/sched/policy/priority.hpp"

namespace sluice::sched {

// What the jobs' priorities were.
class PriorityMemory {
 public:
  // Of all jobs that wait. O(jobs).
  PriorityMemory(const state::ClusterState& state, const PriorityPolicy& policy, Time now);
  PriorityMemory() = default;
  // 0: the job was another, or is not known.
  [[nodiscard]] uint32_t find(const Job& job, std::string_view partition) const;

 private:
  struct Entry {
    JobId job = kNoJob;
    std::shared_ptr<const JobSpec> spec;
    std::vector<PartitionPriority> by_partition;
  };
  std::vector<Entry> entries_;  // by job
};

class IncreasingPriority final : public PriorityPolicy {
 public:
  IncreasingPriority(std::shared_ptr<const PriorityPolicy> policy,
                     std::shared_ptr<const PriorityMemory> before)
      : policy_(std::move(policy)), before_(std::move(before)) {}

  [[nodiscard]] uint32_t priority(const Job& job, const PartitionConfig& partition,
                                  Time now) const override;
  [[nodiscard]] std::optional<WeighedJob> weigh(const Job& job, const PartitionConfig& partition,
                                                Time now) const override;
  [[nodiscard]] PriorityWeights weights() const override { return policy_->weights(); }
  [[nodiscard]] Time next_change(Time now) const override { return policy_->next_change(now); }

 private:
  const std::shared_ptr<const PriorityPolicy> policy_;
  const std::shared_ptr<const PriorityMemory> before_;
};

[[nodiscard]] bool only_increases(const ClusterConfig& config);

}  // namespace sluice::sched
