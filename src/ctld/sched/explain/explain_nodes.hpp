// What each constraint of a job leaves of a partition's nodes, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ctld/sched/resources.hpp"

namespace sluice::sched {

// Who reads it: with PrivateData=jobs only one's own jobs are named, with usage, users or accounts
// only the limits of these.
struct Viewer {
  std::optional<uint32_t> only_of, only_limits_of;
  [[nodiscard]] bool sees(const Job& job) const { return !only_of || *only_of == job.spec->uid; }
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
