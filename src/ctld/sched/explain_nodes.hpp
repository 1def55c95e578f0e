// What each constraint of a job leaves of a partition's nodes, in words.
#pragma once

#include <string>
#include <vector>

#include "ctld/sched/rooms.hpp"

namespace sluice::sched {

// `rooms` as the job finds them when it is its turn.
[[nodiscard]] std::vector<std::string> explain_nodes(const state::ClusterState& state,
                                                     const Rooms& rooms,
                                                     const Ask& ask,
                                                     Minutes limit);

// "1 node", "3 nodes".
[[nodiscard]] std::string count_of(uint64_t number, std::string_view thing);
// 12, or 12_3 for a task of an array.
[[nodiscard]] std::string shown_id(const Job& job);

}  // namespace sluice::sched
