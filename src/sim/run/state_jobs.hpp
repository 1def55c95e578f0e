// The jobs that a controller knows, as a trace.
#pragma once

#include "common/base/result.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "sim/trace/trace.hpp"

namespace sluice::sim {

// Jobs that wait and run, and those that are over and not forgotten (MinJobAge), with all that they
// ask for; each waiting task of an array is a job. Who is not over runs to his time limit (a year
// where it is UNLIMITED): how long he would is not known. Of what stands outside of the
// configuration its reservations are taken over, and what jobs depend on; not QOS, holds and
// numbers of users. Jobs that never ran and are over are passed over.
[[nodiscard]] Trace trace_of(const state::ClusterState& state);

}  // namespace sluice::sim
