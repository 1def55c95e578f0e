// Can this job start with this allocation now? The scheduler asks while it plans on a snapshot, and
// decide() asks again on the live state.
#pragma once

#include "common/base/result.hpp"
#include "ctld/state/cluster_state.hpp"

namespace sluice::state {

// Whether `wanted` is free on the node: it is schedulable, the cores are not in use (or may be shared
// in this partition), and the memory is there.
[[nodiscard]] Status fits_node(const Node& node, const NodeAllocation& wanted, bool whole_node,
                               bool may_share);

// Whether the pending `job` may start in `partition` with `allocation`: the job is eligible, the
// partition is up and has the nodes, and each node has what is wanted.
[[nodiscard]] Status fits(const ClusterState& state, const Job& job, const Partition& partition,
                          const Allocation& allocation);

// Whether memory is a resource that is allocated (SelectTypeParameters with …_Memory).
[[nodiscard]] bool memory_is_tracked(const ClusterConfig& config);

// MiB that the job takes on a node where it gets `cpus` CPUs; after defaults of partition and cluster.
[[nodiscard]] uint64_t job_memory_mib(const ClusterConfig& config, const Partition& partition,
                                      const JobSpec& spec, const NodeConfig& node, uint32_t cpus);

}  // namespace sluice::state
