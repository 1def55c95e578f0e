// priority/multifactor: the weighed sum of a job's age, size, partition and TRES, and of what
// accounting says of its owner (fair share, association, quality of service), plus its site factor,
// less its nice value.
//
// Priorities are a function of the state and of the last multiple of PriorityCalcPeriod since the
// controller started: until the next one a job's age stands still. So all who ask in between get
// the same numbers without anybody keeping them.
#pragma once

#include "ctld/sched/policy/cluster_sizes.hpp"
#include "ctld/sched/policy/priority.hpp"

namespace sluice::sched {

class MultifactorPriority final : public PriorityPolicy {
 public:
  // O(nodes) where sizes are weighed.
  explicit MultifactorPriority(const state::ClusterState& state,
                               std::shared_ptr<const JobShares> shares = nullptr);

  [[nodiscard]] uint32_t priority(const Job& job, const PartitionConfig& partition,
                                  Time now) const override;
  [[nodiscard]] std::optional<WeighedJob> weigh(const Job& job, const PartitionConfig& partition,
                                                Time now) const override;
  [[nodiscard]] PriorityWeights weights() const override { return weights_; }
  [[nodiscard]] Time next_change(Time now) const override;

 private:
  [[nodiscard]] PriorityFactors factors(const Job& job, const PartitionConfig& partition,
                                        Time now) const;
  [[nodiscard]] double age(const Job& job, Time now) const;
  [[nodiscard]] double job_size(const Job& job, const PartitionConfig& partition) const;
  void add_tres(const Job& job, const PartitionConfig& partition, PriorityFactors& out) const;
  [[nodiscard]] double sum(const Job& job, const PriorityFactors& factors) const;

  const std::shared_ptr<const ClusterConfig> config_;
  const std::shared_ptr<const JobShares> shares_;
  const PriorityWeights weights_;
  const PartitionSizes partitions_;
  ClusterSize cluster_;
  Time started_ = kNoTime;
  uint32_t top_factor_ = 0;  // of partitions
  bool small_relative_to_time_ = false;
  bool accrue_always_ = false;
  bool normal_assoc_ = true, normal_part_ = true, normal_qos_ = true, normal_tres_ = true;
};

}  // namespace sluice::sched
