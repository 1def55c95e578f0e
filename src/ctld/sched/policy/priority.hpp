// Priority policies: who is looked at first. One file a policy, chosen by Slurm's own plugin
// string.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "common/base/time.hpp"
#include "common/model/job.hpp"
#include "common/model/priority_factors.hpp"
#include "ctld/sched/policy/job_shares.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::sched {

class PriorityMemory;

// A job's place in one of the partitions that it asks for, and how it came to it. That of a job
// which was given its priority weighs nothing.
struct WeighedJob {
  PriorityFactors factors;
  double sum = 0;  // before it becomes a whole number
  uint32_t priority = 0;
};

class PriorityPolicy {
 public:
  PriorityPolicy() = default;
  PriorityPolicy(const PriorityPolicy&) = delete;
  PriorityPolicy& operator=(const PriorityPolicy&) = delete;
  virtual ~PriorityPolicy() = default;
  // 1 … 2^32-2; larger goes first. `partition` is the one the job would start in.
  [[nodiscard]] virtual uint32_t priority(const Job& job, const PartitionConfig& partition,
                                          Time now) const = 0;
  // The same with what it is made of; nullopt: this policy weighs nothing.
  [[nodiscard]] virtual std::optional<WeighedJob> weigh(const Job&, const PartitionConfig&,
                                                        Time) const {
    return std::nullopt;
  }
  [[nodiscard]] virtual PriorityWeights weights() const { return {}; }
  // When priorities change next by themselves.
  [[nodiscard]] virtual Time next_change(Time /*now*/) const { return kNever; }
};

struct Policies {
  std::shared_ptr<const PriorityPolicy> priority;
};

// Of "priority/multifactor" or "priority/basic"; null for a name that is not known.
[[nodiscard]] std::shared_ptr<const PriorityPolicy> make_priority_policy(
    std::string_view type, const state::ClusterState& state,
    std::shared_ptr<const JobShares> shares = nullptr);
// `before` is what priorities were (incr_only.hpp); without it INCR_ONLY does nothing. Without
// `shares` they are those of the state's accounting.
[[nodiscard]] Policies make_policies(const state::ClusterState& state,
                                     std::shared_ptr<const PriorityMemory> before = nullptr,
                                     std::shared_ptr<const JobShares> shares = nullptr);

// The priority that the job was given (--priority, an update), else the policy's.
[[nodiscard]] uint32_t priority_of(const PriorityPolicy& policy, const Job& job,
                                   const PartitionConfig& partition, Time now);
// Whether it was given one.
[[nodiscard]] bool has_fixed_priority(const Job& job);

}  // namespace sluice::sched
