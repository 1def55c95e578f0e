// Placements on nodes that nothing runs on: whether a job could run at all, and what keeps it off.
#pragma once

#include "ctld/sched/resources.hpp"
#include "ctld/sched/start_finder.hpp"

namespace sluice::sched {

// On schedulable nodes, or (`any_state`) on all, but for `closed` ones.
[[nodiscard]] Placed place_idle_but(const Resources& resources, const Request& request,
                                    bool any_state, const state::NodeHold& closed);
// The same for nodes that are open to the job now.
[[nodiscard]] Placed place_idle(const Resources& resources, const Request& request, bool any_state);
// Beside the reservations that hold before the job would end.
[[nodiscard]] Placed place_beside_reservations(const Resources& resources, const Request& request,
                                               Minutes limit);

// Whether all of them find room beside one another when nothing else runs.
[[nodiscard]] bool fit_together(const Resources& resources,
                                const std::vector<const Request*>& requests);

}  // namespace sluice::sched
