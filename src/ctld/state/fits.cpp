// The one check that scheduler and engine share.
#include "ctld/state/fits.hpp"

#include <algorithm>

#include "common/base/text.hpp"

namespace sluice::state {

Status fits_node(const Node& node, const NodeAllocation& wanted, bool whole_node, bool may_share) {
  if (!is_schedulable(node)) return failure(ErrorCode::kNodesNotAvailable);
  if (node.exclusive || (whole_node && !node.jobs.empty())) return failure(ErrorCode::kNodesBusy);
  if (wanted.cores.none() || wanted.cpus == 0 || wanted.cores.find_last() >= node.config->cores() ||
      wanted.cpus > usable_cpus(*node.config)) {
    return failure(ErrorCode::kNodesNotAvailable);
  }
  if (!may_share && (node.used_cores.intersects(wanted.cores) ||
                     node.used_cpus + wanted.cpus > usable_cpus(*node.config))) {
    return failure(ErrorCode::kNodesBusy);
  }
  if (wanted.memory_mib > 0 &&
      node.used_memory_mib + wanted.memory_mib > usable_memory_mib(*node.config)) {
    return failure(ErrorCode::kNodesBusy);
  }
  return {};
}

Status fits(const ClusterState& state, const Job& job, const Partition& partition,
            const Allocation& allocation) {
  if (job.state != JobState::kPending || job.hold != HoldKind::kNone || !job.dependency.empty()) {
    return failure(ErrorCode::kJobNotPending);
  }
  const PartitionState partition_state = partition.config->state;
  if (partition_state == PartitionState::kDown || partition_state == PartitionState::kInactive) {
    return failure(ErrorCode::kPartitionNotAvailable);
  }
  const auto wanted = partitions_of(state, job);
  if (std::find(wanted.begin(), wanted.end(), partition.config->name) == wanted.end()) {
    return failure(ErrorCode::kInvalidPartition);
  }
  if (allocation.nodes.empty()) return failure(ErrorCode::kNodesNotAvailable);
  const OverSubscribe sharing = partition.config->over_subscribe;
  const bool may_share = sharing == OverSubscribe::kForce ||
                         (sharing == OverSubscribe::kYes &&
                          job.spec->sharing == Sharing::kOversubscribe);
  NodeId last = kNoNode;
  for (const NodeAllocation& part : allocation.nodes) {
    const Node* node = state.nodes.find(part.node);
    if (node == nullptr || !partition.nodes.test(part.node) ||
        (last != kNoNode && part.node <= last)) {
      return failure(ErrorCode::kNodesNotAvailable);
    }
    last = part.node;
    if (Status fit = fits_node(*node, part, allocation.whole_nodes, may_share); !fit) return fit;
  }
  return {};
}

bool memory_is_tracked(const ClusterConfig& config) {
  return std::any_of(config.select_type_parameters.begin(), config.select_type_parameters.end(),
                     [](const std::string& p) { return to_lower(p).ends_with("memory"); });
}

uint64_t job_memory_mib(const ClusterConfig& config, const Partition& partition,
                        const JobSpec& spec, const NodeConfig& node, uint32_t cpus) {
  const PartitionConfig& p = *partition.config;
  switch (spec.memory_kind) {
    case MemoryKind::kPerNode:
      return spec.memory_mib == 0 ? usable_memory_mib(node) : spec.memory_mib;
    case MemoryKind::kPerCpu: return spec.memory_mib * cpus;
    default: break;
  }
  if (p.def_mem_per_node_mib.value_or(0) != 0) return *p.def_mem_per_node_mib;
  if (p.def_mem_per_cpu_mib.value_or(0) != 0) return *p.def_mem_per_cpu_mib * cpus;
  if (config.def_mem_per_node_mib != 0) return config.def_mem_per_node_mib;
  if (config.def_mem_per_cpu_mib != 0) return config.def_mem_per_cpu_mib * cpus;
  return memory_is_tracked(config) ? usable_memory_mib(node) : 0;
}

}  // namespace sluice::state
