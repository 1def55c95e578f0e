// The smallest change to a pending job with which it would start now. Each candidate is tried out:
// the update is decided and applied to a copy of the state, and a pass is run on that; so what is
// named here does work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/model/job.hpp"
#include "ctld/state/cluster_state.hpp"

namespace sluice::sched {

struct Change {
  JobUpdate update;
  bool by_admin = false;  // the job's user may not make it
};

[[nodiscard]] std::optional<Change> find_change(const state::ClusterState& state,
                                                const Job& job,
                                                Time now);

// "drop its features and let it use 2 nodes".
[[nodiscard]] std::string change_in_words(const JobUpdate& update);
// The commands that make it: `scontrol release 12`, `scontrol update JobId=12 NumNodes=2`.
[[nodiscard]] std::vector<std::string> change_commands(const JobUpdate& update,
                                                       const std::string& job_id);

}  // namespace sluice::sched
