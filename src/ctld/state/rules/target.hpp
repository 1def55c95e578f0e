// What users name on scancel, scontrol hold, update, …: a job, array tasks, or a step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/index_set.hpp"
#include "common/base/result.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// 12, 12_3, 12_[1-4,7], 12_* (every task), 12+1 (a component of a heterogeneous job), 12.0,
// 12_3.batch
struct JobTarget {
  JobId job = kNoJob;
  std::optional<IndexSet> tasks;
  std::optional<uint32_t> component;
  std::optional<StepNumber> step;
};

// kInvalidJobId: the text is no such thing.
[[nodiscard]] Result<JobTarget> parse_target(std::string_view text);

// The texts of a list, as of scontrol top: "12,13_[1-4,7]", each once, in their order.
// kInvalidJobId: one of them is no target. kBadRequest: they are too many for one command.
[[nodiscard]] Result<std::vector<std::string>> split_targets(std::string_view text);

// What a target comes to: records, and tasks that are still part of a pending array's record.
struct TargetedJobs {
  std::vector<JobId> records;   // whole records
  IndexSet folded;              // ids of ended tasks that have no records
  JobId array_record = kNoJob;  // the record of which only …
  IndexSet pending_tasks;       // … these tasks are meant
  // tasks that were named one by one and are not there, where others are
  IndexSet missing;
  bool whole_het = false;  // the records are all components of a heterogeneous job
  [[nodiscard]] bool empty() const {
    return records.empty() && pending_tasks.empty() && folded.empty();
  }
};
// kInvalidJobId: nothing is there (any more).
[[nodiscard]] Result<TargetedJobs> find_targets(const ClusterState& state, const JobTarget& target);

// The live steps that a number names: all parts of 12.0, or of 12.0+1 that part.
[[nodiscard]] std::vector<const Step*> find_steps(const Job& job, StepNumber number);

// The one record that a step belongs to.
[[nodiscard]] Result<JobId> find_step_job(const ClusterState& state, const JobTarget& target);

}  // namespace sluice::state
