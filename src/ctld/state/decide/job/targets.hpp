// Applies an action to all that a target names, each checked on its own; shared by the verbs that
// take targets.
#pragma once

#include <functional>

#include "ctld/state/decide/draft.hpp"
#include "ctld/state/rules/target.hpp"

namespace sluice::state {

// Gives the pending tasks that a target picks out of an array records of their own; their ids.
// kTooManyJobs: no id is free.
[[nodiscard]] Result<std::vector<JobId>> split_pending_tasks(Draft& draft, JobId record,
                                                             const IndexSet& tasks);

// What of a heterogeneous job an action is told of.
enum class HetReach {
  kEach,  // each component when the target is the whole job
  // as well when the target is one component and SchedulerParameters=whole_hetjob says so
  kTogether,
  kLeader,  // the first one for the whole job: the action itself sees to the others
};
[[nodiscard]] bool is_whole_hetjob(const ClusterState& state);

// Runs `action` on each record (after splitting off single tasks, if `who` may change the array: an
// action refuses all others). One record alone: its error is the result. Several: the reply counts
// those that worked and names the others' errors. Where none worked nothing happens.
using RecordAction = std::function<Status(Draft&, JobId)>;
[[nodiscard]] Result<Decision> for_each_target(const ClusterState& state, Identity who,
                                               std::string_view target, const RecordAction& action,
                                               HetReach reach = HetReach::kEach);
// The same for an action that refuses all that waits: no task gets a record by it.
[[nodiscard]] Result<Decision> for_each_running_target(const ClusterState& state, Identity who,
                                                       std::string_view target,
                                                       const RecordAction& action, HetReach reach);
// The same, and tasks that are not there are named among the errors. Each record gets so many bytes
// of new texts. kBadRequest: it would change more than one command may.
[[nodiscard]] Result<Decision> for_each_named(const ClusterState& state, Identity who,
                                              std::string_view target, const RecordAction& action,
                                              HetReach reach = HetReach::kEach,
                                              size_t text_bytes = 0);

}  // namespace sluice::state
