// JobSubmitPlugins: what a site has checked or filled in when jobs are submitted and changed. One
// function a plugin, in the order that slurm.conf lists them. "logging" writes to the log, and
// "lua" runs a script, so they are the edge's (rpc, job_submit); others do nothing.
#pragma once

#include <string_view>

#include "common/base/result.hpp"
#include "common/model/job_update.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/decide/job/job_checks.hpp"

namespace sluice::state {

// all_partitions   a job that names no partition may start in all that are open to its user
// partition        the same gets the default one, or the first where it could run when it could not
// run there require_timelimit  kMissingTimeLimit for a job without a time limit
[[nodiscard]] Status apply_submit_plugins(const ClusterState& state, const Submitter& who,
                                          JobSpec& spec);
// One of them, by its name.
[[nodiscard]] Status apply_submit_plugin(const ClusterState& state, std::string_view name,
                                         const Submitter& who, JobSpec& spec);

// require_timelimit: kMissingTimeLimit for an update that takes the limit away.
[[nodiscard]] Status check_update_plugins(const ClusterConfig& config, const Job& job,
                                          const JobUpdate& update);

}  // namespace sluice::state
