// Gang scheduling (PreemptMode=GANG): jobs of a partition that share CPUs (OverSubscribe) run by
// turns, each for a time slice (SchedulerTimeSlice). Who is suspended meanwhile keeps its CPUs,
// memory and generic resources as far as placement goes. Heterogeneous jobs take no turns, as in
// Slurm: they run beside the others.
#pragma once

#include <vector>

#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// A job that shares CPUs with another one.
struct GangJob {
  JobId id = kNoJob;
  bool runs = false;
  Time since = kNoTime;                    // its turn began, or it began to wait for it
  const Allocation* allocation = nullptr;  // not owned
};

// Those that run from now on. A turn ends when it has lasted for a slice and a job has waited as
// long for some of its CPUs. Of those that wait, who has waited longest is next, and no other one
// begins on its CPUs while it waits for the last of them; who has had its turn goes on where nobody
// else runs.
[[nodiscard]] std::vector<JobId> jobs_with_turn(const std::vector<GangJob>& jobs, Duration slice,
                                                Time now);

// Whether jobs of the partition that share CPUs run by turns.
[[nodiscard]] bool has_turns(const PartitionConfig& partition);
// Whether it runs by turns with those that hold CPUs of its own.
[[nodiscard]] bool takes_turns(const ClusterState& state, const Job& job);
// Whether it counts among those that share its cores: not while it is suspended by hand, though it
// may go on beside one more than OverSubscribe allows then, as in Slurm.
[[nodiscard]] bool counts_as_sharer(const Job& job);
// All that share a CPU with another one, or wait for a turn.
[[nodiscard]] std::vector<GangJob> gang_jobs(const ClusterState& state);

}  // namespace sluice::state
