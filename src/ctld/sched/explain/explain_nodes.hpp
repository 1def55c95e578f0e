// What each constraint of a job leaves of a partition's nodes, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ctld/sched/resources.hpp"
#include "ctld/state/limits/visible_jobs.hpp"

namespace sluice::sched {

// Who reads it: only jobs that are visible to him are named, with PrivateData=usage, users or
// accounts only his own limits.
struct Viewer {
  state::VisibleJobs visible;
  std::optional<uint32_t> only_limits_of;
  [[nodiscard]] bool sees(const Job& job) const { return visible.contains(job); }
  [[nodiscard]] bool sees_limits_of(const Job& job) const {
    return !only_limits_of || *only_limits_of == job.spec->uid;
  }
};

// `resources` as the job finds them when it is its turn.
[[nodiscard]] std::vector<std::string> explain_nodes(const state::ClusterState& state,
                                                     const Resources& resources,
                                                     const Request& request, Minutes limit,
                                                     const Viewer& viewer = {});

// "1 node", "3 nodes"; `things` where it is not the word with an s.
[[nodiscard]] std::string count_of(uint64_t number, std::string_view thing,
                                   std::string_view things = {});
// 12, or 12_3 for a task of an array.
[[nodiscard]] std::string shown_id(const Job& job);

}  // namespace sluice::sched
