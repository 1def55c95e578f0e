// What of ClusterState is derived from jobs: which index a job is in, and what it takes of its
// nodes. Used by apply() and rebuild_derived() only.
#pragma once

#include "ctld/state/core/charging.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// Puts a new record into every index; takes one that is about to go out again. Neither touches
// nodes.
void index_job(ClusterState& state, const Job& job);
void unindex_job(ClusterState& state, const Job& job);

// The records of an array: made with its first one, which tells what its texts count, and gone with
// the last.
[[nodiscard]] ArrayTasks& tasks_of_array(ClusterState& state, JobId array, const JobSpec& spec);
void forget_array_if_over(ClusterState& state, JobId array);

// After an update that changed a specification to job.spec by the fields of `change`. An array
// keeps what it counted until it is over: its other records hold the old texts.
void recount_text(ClusterState& state, const Job& job, const JobSpec& before,
                  const JobSpec& change);

// After a change of a specification: an unfinished job is found by its name.
void rename_job(ClusterState& state, const Job& job, const JobSpec& before);

// Moves a record between the indexes after a change. `before` is what place_of() gave then.
struct JobPlace {
  enum class Kind : uint8_t { kPending, kActive, kFinished };
  Kind kind = Kind::kPending;
  bool waiting = false, age_limited = false;
  bool group_alone = false;  // it is in ClusterState::group_alone
  uint64_t count = 1;        // towards MaxJobCount
};
[[nodiscard]] JobPlace place_of(const Job& job);
void move_job(ClusterState& state, const Job& job, const JobPlace& before);
// What it counts for accounting, after a change.
void recount_job(ClusterState& state, const Job& job, const Counted& before);

// Changes a job by change(Job&) and keeps the indexes in step.
template <class Change>
void change_job(ClusterState& state, JobId id, Change&& change) {
  Job& job = state.jobs.edit(id);
  const JobPlace before = place_of(job);
  const Counted counted_before = counted(job);
  change(job);
  move_job(state, job, before);
  recount_job(state, job, counted_before);
}

// Whether the job's CPUs are its own: those of a suspended job are free for others, its memory is
// not. Between two of its time slices it keeps them.
[[nodiscard]] bool holds_processors(const Job& job);
// The CPUs of the nodes that the job has not given back.
void occupy_processors(ClusterState& state, const Job& job);
void release_processors(ClusterState& state, const Job& job);
// What jobs may use of the node's generic resources, after its configuration or registration
// changed.
void refresh_gres(Node& node);
// Takes what the job holds from its nodes, or gives the positions' part back. `time` is when, for
// LastBusyTime (kNoTime: leave it).
void occupy_nodes(ClusterState& state, const Job& job);
void vacate_nodes(ClusterState& state, const Job& job, const Bitmap& positions, Time time);
// The job's held nodes have one more (or less) completing job.
void count_completing(ClusterState& state, const Job& job, int change);

// Partitions with their nodes worked out, and the names of nodes.
[[nodiscard]] Partition make_partition(const ClusterState& state,
                                       std::shared_ptr<const PartitionConfig> config);
// With the features that nodes have.
void rebuild_node_names(ClusterState& state);
void recount_features(ClusterState& state, const NodeConfig& before, const NodeConfig& after);

}  // namespace sluice::state
