// Priority policies: who is looked at first. One file a policy, chosen by Slurm's own plugin
// string.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/time.hpp"
#include "common/model/job.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::sched {

class PriorityPolicy {
 public:
  PriorityPolicy() = default;
  PriorityPolicy(const PriorityPolicy&) = delete;
  PriorityPolicy& operator=(const PriorityPolicy&) = delete;
  virtual ~PriorityPolicy() = default;
  // 1 … 2^32-2; larger goes first. `partition` is the one the job would start in.
  [[nodiscard]] virtual uint32_t priority(const Job& job, const PartitionConfig& partition,
                                          Time now) const = 0;
};

struct Policies {
  std::shared_ptr<const PriorityPolicy> priority;
};

// Of "priority/multifactor" or "priority/basic"; null for a name that is not known.
[[nodiscard]] std::shared_ptr<const PriorityPolicy> make_priority_policy(
    std::string_view type, const state::ClusterState& state);
[[nodiscard]] Policies make_policies(const state::ClusterState& state);

}  // namespace sluice::sched
