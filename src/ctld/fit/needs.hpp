// What a job needs of nodes, worked out from its spec, its partition and the configuration.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/index_set.hpp"
#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/job_spec.hpp"
#include "common/model/system_cores.hpp"
#include "ctld/fit/features.hpp"
#include "ctld/fit/gres.hpp"

namespace sluice::fit {

// What of the configuration bears on placement, looked up once for many jobs.
enum class Unit : uint8_t {
  kCpu,     // CR_CPU: a job takes cores, but is charged the CPUs it uses of them
  kCore,    // CR_Core: whole cores
  kSocket,  // CR_Socket: whole sockets
  kNode,    // select/linear: whole nodes
};
struct Rules {
  Unit unit = Unit::kCore;
  bool uses_memory = false;   // memory is a resource that jobs take
  bool least_loaded = false;  // CR_LLN: the emptiest nodes first
  bool fill_sockets = false;  // CR_CORE_DEFAULT_DIST_BLOCK: cores of one socket before the next
  bool one_task_per_core = false;  // CR_ONE_TASK_PER_CORE: where --ntasks-per-core is not given
  bool pack_nodes = false;         // CR_PACK_NODES: steps fill a node before the next
  // ENFORCE_BINDING_GRES: --gres-flags=enforce-binding for all jobs
  bool near_gres_only = false;
  // Whether cores of one socket are taken before the next, with this --distribution.
  [[nodiscard]] bool fills_sockets(std::string_view distribution) const;
};
[[nodiscard]] Rules rules_of(const ClusterConfig& config);

struct Needs {
  uint32_t min_nodes = 1;
  uint32_t max_nodes = UINT32_MAX;
  // the sizes that are wanted, where not all of the range are; else empty
  IndexSet node_counts;
  bool as_many_nodes = false;  // --nodes was given: then as many nodes as allowed are used
  uint32_t tasks = 1;          // in all
  bool tasks_given = false;
  uint32_t cpus_per_task = 1;                // 0 with overcommit: tasks take no CPUs of their own
  uint32_t tasks_per_node = 0;               // each node has what so many tasks take; 0: free
  uint32_t max_tasks_per_node = UINT32_MAX;  // --ntasks-per-node beside --ntasks
  uint32_t min_cpus_per_node = 1;
  // the partition's, for all of its jobs on a node together; --exclusive goes on no node of more
  uint32_t max_cpus_per_node = UINT32_MAX;
  uint32_t max_cpus_per_socket = UINT32_MAX;   // the same of each socket
  uint32_t min_cpus = 1;                       // least CPUs in all
  uint32_t sockets = 0, cores_per_socket = 0;  // least; 0: any
  uint32_t threads_per_core = 0;  // the node has as many, and no more of a core are used; 0: any
  uint32_t tasks_per_socket = 0, tasks_per_core = 0;
  bool whole_nodes = false;
  bool all_cores = false;  // all CPUs of its nodes, on which others may be as well
  SystemShare system;  // what the job leaves of whole nodes, in place of what they keep themselves
  bool contiguous = false;
  bool uses_memory = false;  // whether memory is a consumable resource
  uint64_t memory_per_node_mib = 0;
  uint64_t memory_per_cpu_mib = 0;
  bool all_memory = false;  // --mem=0, or nothing asked for and no default
  // MaxMemPerCPU and MaxMemPerNode, as far as they are not kept by what is asked for; 0: they are
  uint64_t most_memory_per_cpu_mib = 0;
  uint64_t most_memory_per_node_mib = 0;
  uint64_t tmp_disk_mib = 0;
  FeatureExpression features;
  // idle nodes may be given features that they do not have now (helpers.conf)
  bool may_change = false;
  uint32_t uid = 0;
  bool one_user = false;  // only beside jobs of the same user, and no others beside it
  bool fill_sockets = false;
  std::vector<GresNeed> gres;
  // cores have to be near the units (--gres-flags=enforce-binding)
  bool near_only = false;
  // cores and units are chosen apart (--gres-flags=disable-binding)
  bool near_free = false;
  uint32_t cpus_per_gpu = 0;  // least CPUs on a node for each of its GPUs
  uint64_t memory_per_gpu_mib = 0;
};

// What a job that says nothing of memory gets; kDefault: all memory of its nodes.
struct DefaultMemory {
  MemoryKind kind = MemoryKind::kDefault;
  uint64_t mib = 0;
};
[[nodiscard]] DefaultMemory default_memory(const PartitionConfig& partition,
                                           const ClusterConfig& config);

// Whether it asks to share its nodes with no job of others (--exclusive, --exclusive=user).
[[nodiscard]] bool asks_alone(Sharing sharing);

// How the job shares its nodes: as it asks for, but in a partition that has several jobs share each
// resource (OverSubscribe=FORCE), which users cannot turn off, --exclusive only has it take all
// CPUs of its nodes.
[[nodiscard]] Sharing sharing_of(const JobSpec& spec, const PartitionConfig& partition);

// What `--mem-per-cpu` becomes where MaxMemPerCPU bounds the memory of a CPU: as many CPUs in place
// of each as it takes for the memory of each to stay within the bound.
struct CpuMemory {
  uint64_t per_cpu_mib = 0;
  uint32_t cpus = 1;
};
[[nodiscard]] CpuMemory within_memory_limit(uint64_t per_cpu_mib, const PartitionConfig& partition,
                                            const ClusterConfig& config);

// CPUs on each node that --mem takes where MaxMemPerCPU bounds the memory of a CPU; 0: no such
// bound.
[[nodiscard]] uint32_t cpus_for_memory(const JobSpec& spec, const PartitionConfig& partition,
                                       const ClusterConfig& config);

// Whether the job asks for more memory of a node than jobs of the partition may have, or gets it by
// default: MaxMemPerNode. Who asks for all of a node asks for `node_mib`, what the largest node of
// the partition has.
[[nodiscard]] bool exceeds_memory_limit(const JobSpec& spec, const PartitionConfig& partition,
                                        const ClusterConfig& config, uint64_t node_mib);

// Errors: kInvalidFeature, kInvalidMemory, kTooManyNodes, and those of set_gres().
[[nodiscard]] Result<Needs> needs_of(const JobSpec& spec, const PartitionConfig& partition,
                                     const ClusterConfig& config);
[[nodiscard]] Result<Needs> needs_of(const JobSpec& spec, const PartitionConfig& partition,
                                     const ClusterConfig& config, const Rules& rules);

// Whether two specs ask for the same of the nodes: all that needs_of() reads and the node lists. A
// placement that fails for one fails for the other. Specs that are the same hash the same.
[[nodiscard]] bool same_demand(const JobSpec& a, const JobSpec& b);
[[nodiscard]] size_t demand_hash(const JobSpec& spec);

}  // namespace sluice::fit
