// What a job asks for, checked against the cluster: used when it is submitted and when it is
// updated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "ctld/state/rules/access.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

inline constexpr std::string_view kTooLong =
    "Pathname of a file, directory or other parameter too long";

inline constexpr size_t kMostHetComponents = 128;  // of a heterogeneous job, as Slurm's

// What only administrators may ask for is left out for others, or refused, as Slurm does.
[[nodiscard]] Status check_rights(const ClusterState& state, uint32_t uid, JobSpec& spec);

// No text is longer than one can be that makes sense: they are kept in memory. What is as it was in
// `before` is not looked at.
[[nodiscard]] Status check_texts(const JobSpec& spec, const JobSpec& before = {});
[[nodiscard]] Status check_texts(const StepSpec& spec);
[[nodiscard]] Status check_listener(const IoEndpoint& io);

// No memory for each CPU asks for all of each node, as no memory for each node does:
// --mem-per-cpu=0, MinMemoryCPU=0.
void ask_for_all_memory(JobSpec& spec);

// Time, nodes and memory that the partition allows.
[[nodiscard]] Status within_limits(const ClusterState& state, const JobSpec& spec,
                                   const Partition& partition);
// The partitions that `spec` names (or the default one), each known.
[[nodiscard]] Result<std::vector<const Partition*>> find_partitions(const ClusterState& state,
                                                                    const JobSpec& spec);
// The same when one of them at least is open to the user, with EnforcePartLimits=ALL each. Those
// that are not stay among them, but start nothing of his: why_not_admitted().
[[nodiscard]] Result<std::vector<const Partition*>> check_partitions(const ClusterState& state,
                                                                     const JobSpec& spec,
                                                                     const Submitter& who);
// Could any node of these partitions ever give what one node must have? Nodes and features exist?
// Only the latter of a job that is held: it may be larger than what is there now. `looked_at`
// counts the nodes that were looked at (SizeChecks).
[[nodiscard]] Status check_size(const ClusterState& state, const JobSpec& spec,
                                const std::vector<const Partition*>& partitions, bool held,
                                size_t* looked_at = nullptr);
// Submission: some reservation that it names and that has begun could ever give what the job needs.
[[nodiscard]] Status check_reserved_room(const ClusterState& state, const JobSpec& spec,
                                         const std::vector<const Partition*>& partitions, Time now,
                                         size_t* looked_at = nullptr);
// kPartitionNotNow: the job needs more CPUs than any of its partitions has, so that it stays held.
[[nodiscard]] Status check_release(const ClusterState& state, const JobSpec& spec);
// Limits of the partitions that EnforcePartLimits makes errors at submission.
[[nodiscard]] Status check_limits(const ClusterState& state, const JobSpec& spec,
                                  const std::vector<const Partition*>& partitions);
// --time-min within what a partition of the job allows, with EnforcePartLimits=ALL each.
[[nodiscard]] Status check_time_min(const ClusterState& state, const JobSpec& spec,
                                    const std::vector<const Partition*>& partitions);
// Reservations, licenses and generic resources that do not exist here.
[[nodiscard]] Status check_extras(const ClusterState& state, const JobSpec& spec);

// --switches=N@time: the time is no longer than SchedulerParameters=max_switch_wait, and is that
// where none is given.
void bound_switch_wait(const ClusterConfig& config, JobSpec& spec);

// CPUs that the job needs on one node of the partition at least.
[[nodiscard]] uint32_t least_cpus_per_node(const JobSpec& spec, const PartitionConfig& partition,
                                           const ClusterConfig& config);
// The time limit in force: the job's own, else the partition's default.
[[nodiscard]] Minutes time_limit_in(const JobSpec& spec, const PartitionConfig& partition);

}  // namespace sluice::state
