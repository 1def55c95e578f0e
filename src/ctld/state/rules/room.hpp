// What a node has free, for the scheduler's plan and for the check of it; and who may share it.
#pragma once

#include "ctld/fit/place.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// The node as it is now, with the users of its jobs.
[[nodiscard]] fit::Room room_of(const ClusterState& state, const Node& node, fit::Unit unit);

// Whether the partition's jobs are bounded on a node (MaxCPUsPerNode, MaxCPUsPerSocket).
[[nodiscard]] bool bounds_cpus(const PartitionConfig& partition);
// What its jobs hold of the node.
[[nodiscard]] fit::PartitionUse use_of(const ClusterState& state, const Partition& partition,
                                       const Node& node);

// How many jobs may hold one core when this job is one of them (OverSubscribe=YES and FORCE); 1:
// none but itself.
[[nodiscard]] uint32_t sharers_of(const PartitionConfig& partition, const JobSpec& spec);

// Whether a job that runs there shares its nodes with no other user's jobs. The partition may be
// null.
[[nodiscard]] bool is_one_user(const Partition* partition, const JobSpec& spec);

// Whether a job like this could run on these nodes of the partition if nothing else did and all
// were up: what sbatch asks at submission. A job larger than the partition may wait for more nodes
// (PartitionConfig). kNodesNotAvailable: it never could, whatever the nodes' number; needs_of()'s
// errors. `looked_at` counts the nodes that were looked at for it.
[[nodiscard]] Status could_serve(const ClusterState& state, const Partition& partition,
                                 const Bitmap& among, const JobSpec& spec,
                                 size_t* looked_at = nullptr);

}  // namespace sluice::state
