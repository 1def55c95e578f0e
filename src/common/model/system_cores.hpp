// Cores of a node that are kept for the system and given to no job (CoreSpecCount, CPUSpecList),
// and what a job says of them (--core-spec, --thread-spec). Cores and CPUs have the abstract
// numbers of the node: socket by socket, core by core, thread by thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/bitmap.hpp"
#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/job_spec.hpp"

namespace sluice {

// CPUs of one core: its hardware threads, or 1 where the node's CPUs are cores.
[[nodiscard]] uint32_t cpus_of_core(const NodeConfig& config);

// The node's own ones: those of CPUSpecList with all their threads, or CoreSpecCount of them: from
// the last socket to the first in turn, each time the last core that is left there; with
// SchedulerParameters=spec_cores_first from the first ones on.
[[nodiscard]] Bitmap system_cores(const NodeConfig& config);
// The same as CPUs: "14-15"; empty: none.
[[nodiscard]] std::string system_cpu_list(const NodeConfig& config);
// CPUs that jobs can get (CPUEfctv).
[[nodiscard]] uint32_t effective_cpus(const NodeConfig& config);

// Takes over from the cluster's SchedulerParameters from which end the cores are taken.
void follow_core_order(const ClusterConfig& config, NodeConfig& node);

// Fails with a text when the node's values name no cores of its own, or leave none to jobs.
[[nodiscard]] Status check_system_cores(const NodeConfig& config);

// What a job leaves to the system on each of its nodes, in place of what the nodes keep.
// UINT32_MAX: not given.
struct SystemShare {
  uint32_t cores = UINT32_MAX;
  uint32_t threads = UINT32_MAX;
  [[nodiscard]] bool given() const { return cores != UINT32_MAX || threads != UINT32_MAX; }
};
// Nothing is given where AllowSpecResourcesUsage does not let jobs say so.
[[nodiscard]] SystemShare system_share(const JobSpec& spec, const ClusterConfig& config);
// The cores that such a job does not get; the node's own ones when nothing is given. Of a node with
// fewer cores: all.
[[nodiscard]] Bitmap system_cores(const NodeConfig& config, const SystemShare& share);

}  // namespace sluice
