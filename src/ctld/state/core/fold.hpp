// Array tasks that are over give up their records: an array of a hundred thousand ended tasks is
// kept for MinJobAge, and most of each record is the same. A fold changes nothing that is to be
// seen.
#pragma once

#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// Over for good, and not the record by whose number users know the array.
[[nodiscard]] bool may_fold(const Job& job);
// COMPLETED with status 0: what afterok waits for.
[[nodiscard]] bool succeeded(const Job& job);

[[nodiscard]] Job unfolded(const FoldedTask& task);
// A job of either kind; empty when there is none.
[[nodiscard]] FoundJob find_job(const ClusterState& state, JobId id);
// The lowest id of a job of either kind that is at least `from`; CowTable<Job>::kNone: there is
// none.
[[nodiscard]] JobId next_job(const ClusterState& state, JobId from);

// For apply(): the record of such a task becomes a folded one (no-op where it may not), and back
// again.
void fold_job(ClusterState& state, JobId id);
void unfold_job(ClusterState& state, JobId id);  // no-op unless it is folded
void purge_folded(ClusterState& state, const IndexSet& jobs);

// For checkpoints.
[[nodiscard]] std::vector<FoldedImage> make_folded_images(const ClusterState& state);
void restore_folded(ClusterState& state, const std::vector<FoldedImage>& images);
// Puts the folded tasks into ArrayTasks, where there is nothing of them yet.
void rebuild_folded(ClusterState& state);

}  // namespace sluice::state
