// CPUs of a job on one of its nodes as its processes are told them: of each core the threads that
// it may use (--threads-per-core). It is charged for all of them.
#pragma once

#include <algorithm>

#include "common/base/bounded.hpp"
#include "common/model/allocation.hpp"
#include "common/model/job_spec.hpp"

namespace sluice {

[[nodiscard]] inline uint32_t told_cpus(const JobSpec& spec, const NodeAllocation& part) {
  const auto cores = static_cast<uint32_t>(part.cores.count());
  if (spec.threads_per_core == 0 || cores == 0) return part.cpus;
  return std::min(part.cpus, bounded_product(cores, spec.threads_per_core));
}

}  // namespace sluice
