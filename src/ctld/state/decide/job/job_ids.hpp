// Free job ids.
#pragma once

#include <optional>

#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// The first free id from `from` on, wrapping round at MaxJobId; nullopt: none is free.
[[nodiscard]] inline std::optional<JobId> free_job_id(const ClusterState& state, JobId from) {
  const JobId first = state.config->first_job_id == 0 ? 1 : state.config->first_job_id;
  JobId id = from < first || from > state.config->max_job_id ? first : from;
  for (uint64_t tried = 0; tried <= state.jobs.size() + state.folded.size() + 1; ++tried) {
    // an array's number stays taken while any of its tasks is there
    if (!state.jobs.contains(id) && !state.folded.contains(id) && !state.arrays.contains(id))
      return id;
    id = id >= state.config->max_job_id ? first : id + 1;
  }
  return std::nullopt;
}

}  // namespace sluice::state
