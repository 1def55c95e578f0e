// Groups of nodes that topology.conf makes: leaf switches, or the blocks of topology/block. A job
// with --exclusive=topo, or in a partition with ExclusiveTopo=YES, has its groups for itself.
#pragma once

#include <vector>

#include "common/base/bitmap.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// TopologyPlugin=topology/block.
[[nodiscard]] bool has_blocks(const ClusterConfig& config);
// How many blocks in a row are one group, of each of BlockSizes but the smallest.
[[nodiscard]] std::vector<uint32_t> blocks_of_levels(const ClusterConfig& config);
// The smallest of BlockSizes, or of blocks: nodes.
[[nodiscard]] uint32_t block_size(const ClusterConfig& config);

[[nodiscard]] bool wants_groups_alone(const ClusterState& state, const PartitionConfig* partition,
                                      const JobSpec& spec);
// All nodes of the groups of these.
[[nodiscard]] Bitmap with_groups(const std::vector<Bitmap>& groups, const Bitmap& nodes);
// Whether the job may start there: it is not in a group that another one has for itself, and where
// it wants its groups alone, nobody else is there.
[[nodiscard]] bool groups_are_open(const ClusterState& state, const Job& job,
                                   const Partition& partition, const Allocation& allocation);

}  // namespace sluice::state
