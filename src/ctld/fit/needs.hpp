// What a job needs of nodes, worked out from its spec, its partition and the configuration.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/job_spec.hpp"
#include "ctld/fit/features.hpp"

namespace sluice::fit {

struct Needs {
  uint32_t min_nodes = 1;
  uint32_t max_nodes = UINT32_MAX;
  bool nodes_given = false;       // --nodes was: then as many nodes as allowed are used
  uint32_t tasks = 1;             // in all
  bool tasks_given = false;
  uint32_t cpus_per_task = 1;     // 0 with overcommit: tasks take no CPUs of their own
  uint32_t tasks_per_node = 0;    // exact number a node; 0: free
  uint32_t max_tasks_per_node = UINT32_MAX;  // --ntasks-per-node beside --ntasks
  uint32_t min_cpus_per_node = 1;
  uint32_t max_cpus_per_node = UINT32_MAX;   // the partition's
  uint32_t min_cpus = 1;          // least CPUs in all
  uint32_t sockets = 0, cores_per_socket = 0, threads_per_core = 0;  // least; 0: any
  uint32_t tasks_per_socket = 0, tasks_per_core = 0;
  bool whole_nodes = false;
  bool contiguous = false;
  bool uses_memory = false;       // whether memory is a consumable resource
  uint64_t memory_per_node_mib = 0;
  uint64_t memory_per_cpu_mib = 0;
  bool all_memory = false;        // --mem=0
  uint64_t tmp_disk_mib = 0;
  FeatureExpression features;
};

// Errors: kInvalidFeature, kInvalidMemory, kInvalidTaskCount, kTooManyNodes.
[[nodiscard]] Result<Needs> needs_of(const JobSpec& spec,
                                     const PartitionConfig& partition,
                                     const ClusterConfig& config);

// How nodes hand out processors: by thread (CR_CPU), by core, by whole node (select/linear).
enum class Unit : uint8_t { kCpu, kCore, kSocket, kNode };
[[nodiscard]] Unit unit_of(const ClusterConfig& config);
[[nodiscard]] bool memory_is_consumed(const ClusterConfig& config);

}  // namespace sluice::fit
