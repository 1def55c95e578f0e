// How much of each trackable resource (TRES) a job asks for in a partition, or has.
#pragma once

#include <cstdint>
#include <optional>

#include "common/model/gres.hpp"
#include "common/model/job.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

struct TresCounts {
  uint64_t cpus = 0;
  uint64_t memory_mib = 0;
  uint64_t nodes = 0;
  GresShares gres;  // counts only
};

struct RequestedTres : TresCounts {
  uint64_t memory_per_cpu_mib = 0;
  uint64_t memory_per_node_mib = 0;
  bool all_memory = false;  // of its nodes
};

// Nothing where what is asked for contradicts itself; but for tasks on fewer nodes than they need.
[[nodiscard]] std::optional<RequestedTres> requested_tres(const JobSpec& spec,
                                                          const PartitionConfig& partition,
                                                          const ClusterConfig& config);
[[nodiscard]] TresCounts allocated_tres(const Allocation& allocation);

}  // namespace sluice::state
