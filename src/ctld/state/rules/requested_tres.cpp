#include "ctld/state/rules/requested_tres.hpp"

#include <algorithm>

#include "ctld/fit/needs.hpp"

namespace sluice::state {

std::optional<RequestedTres> requested_tres(const JobSpec& spec, const PartitionConfig& partition,
                                            const ClusterConfig& config) {
  auto needs = fit::needs_of(spec, partition, config);
  if (!needs && spec.ntasks_per_node > 0) {
    // more tasks than its nodes may have: it is held, and counted by its tasks
    JobSpec spread = spec;
    spread.ntasks_per_node = 0;
    needs = fit::needs_of(spread, partition, config);
  }
  if (!needs) return std::nullopt;
  RequestedTres out;
  out.memory_per_cpu_mib = needs->memory_per_cpu_mib;
  out.memory_per_node_mib = needs->memory_per_node_mib;
  out.all_memory = needs->all_memory;
  out.nodes = needs->min_nodes;
  out.cpus = std::max(needs->min_cpus, needs->min_nodes * needs->min_cpus_per_node);
  out.memory_mib = needs->memory_per_cpu_mib > 0 ? needs->memory_per_cpu_mib * out.cpus
                                                 : needs->memory_per_node_mib * needs->min_nodes;
  const uint32_t tasks = (needs->tasks + needs->min_nodes - 1) / needs->min_nodes;
  const std::vector<uint64_t> on_node = fit::gres_counts(*needs, tasks, {});
  for (size_t i = 0; i < on_node.size(); ++i) {
    const fit::GresNeed& need = needs->gres[i];
    const uint64_t by_task = need.per_task * needs->tasks;
    const uint64_t all = need.per_job > 0                    ? need.per_job
                         : by_task > 0 && need.per_node == 0 ? by_task
                                                             : on_node[i] * needs->min_nodes;
    out.gres.push_back({need.name, need.type, all, {}, {}});
  }
  return out;
}

TresCounts allocated_tres(const Allocation& allocation) {
  TresCounts out;
  out.cpus = allocation.cpus;
  out.nodes = allocation.nodes.size();
  for (const NodeAllocation& node : allocation.nodes) {
    out.memory_mib += node.memory_mib;
    for (const GresShare& share : node.gres)
      add_shares(out.gres, {{share.name, share.type, share.count, {}, {}}});
  }
  return out;
}

}  // namespace sluice::state
