// PriorityFlags=INCR_ONLY: what a job's priority was in the last pass it does not fall below. Kept
// where passes publish what they found, so for as long as the controller runs. Jobs of several
// partitions, whose priorities in each are not published, rise and fall.
#pragma once

#include "ctld/sched/policy/priority.hpp"

namespace sluice::sched {

class IncreasingPriority final : public PriorityPolicy {
 public:
  IncreasingPriority(std::shared_ptr<const PriorityPolicy> policy,
                     std::shared_ptr<const SchedulerView> before)
      : policy_(std::move(policy)), before_(std::move(before)) {}

  [[nodiscard]] uint32_t priority(const Job& job, const PartitionConfig& partition,
                                  Time now) const override;
  [[nodiscard]] std::optional<WeighedJob> weigh(const Job& job, const PartitionConfig& partition,
                                                Time now) const override;
  [[nodiscard]] PriorityWeights weights() const override { return policy_->weights(); }
  [[nodiscard]] Time next_change(Time now) const override { return policy_->next_change(now); }

 private:
  [[nodiscard]] uint32_t least(const Job& job) const;

  const std::shared_ptr<const PriorityPolicy> policy_;
  const std::shared_ptr<const SchedulerView> before_;
};

}  // namespace sluice::sched
