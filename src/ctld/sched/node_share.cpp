#include "ctld/sched/node_share.hpp"

#include <algorithm>

#include "ctld/state/rules/room.hpp"

namespace sluice::sched {

uint32_t NodeShare::units(NodeId node, const timeline::Free& free) const {
  const fit::Needs& needs = request_.needs;
  if (free.core_count == 0) return 0;
  const bool alone = needs.whole_nodes || (needs.uses_memory && needs.all_memory);
  if (alone && free.jobs > 0) return 0;
  if (fit::bars(free.jobs, free.user, needs.uid, free.one_user || needs.one_user)) return 0;
  const uint32_t each = resources_.threads_of(node);
  const uint32_t threads =
      needs.threads_per_core > 0 ? std::min(each, needs.threads_per_core) : each;
  uint32_t cpus = free.core_count * threads;
  if (needs.uses_memory) {
    if (free.memory_mib < needs.memory_per_node_mib) return 0;
    if (needs.memory_per_cpu_mib > 0) {
      const uint64_t backed = free.memory_mib / needs.memory_per_cpu_mib;
      if (needs.whole_nodes && backed < cpus) return 0;
      cpus = static_cast<uint32_t>(std::min<uint64_t>(cpus, backed / threads * threads));
    }
  }
  if (cpus == 0 || cpus < needs.min_cpus_per_node) return 0;
  uint32_t tasks = needs.cpus_per_task > 0 ? cpus / needs.cpus_per_task : needs.tasks;
  tasks = std::min(tasks, needs.max_tasks_per_node);
  if (needs.tasks_per_node > 0) tasks = tasks < needs.tasks_per_node ? 0 : needs.tasks_per_node;
  return tasks;
}

}  // namespace sluice::sched
