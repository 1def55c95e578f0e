// How large the cluster and its partitions are: what a job's size is measured by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/priority_factors.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/rules/requested_tres.hpp"

namespace sluice::sched {

// O(nodes).
struct ClusterSize {
  uint64_t nodes = 0;
  uint64_t cpus = 0;
};
[[nodiscard]] ClusterSize size_of(const state::ClusterState& state);

// The count of each weighed TRES, in the order of the weights.
using TresAmounts = std::vector<double>;
[[nodiscard]] TresAmounts amounts_of(const std::vector<TresWeight>& weights,
                                     const state::TresCounts& counts, std::string_view licenses);

// Of each partition all there is of the weighed TRES. O(nodes of all partitions).
class PartitionSizes {
 public:
  PartitionSizes(const state::ClusterState& state, const std::vector<TresWeight>& weights);
  struct Size {
    std::string name;
    TresAmounts amounts;
    uint64_t node_memory_mib = 0;  // of its largest node
  };
  // Null: there is no partition of this name.
  [[nodiscard]] const Size* find(std::string_view partition) const;

 private:
  std::vector<Size> sizes_;
};

}  // namespace sluice::sched
