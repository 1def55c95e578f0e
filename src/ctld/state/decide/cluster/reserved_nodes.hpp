// Which nodes, and which of their cores, a reservation gets.
#pragma once

#include <vector>

#include "common/model/gres.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::state {

// Whether it was not made to overlap others (MAINT, OVERLAP).
[[nodiscard]] bool stands_apart(const Reservation& r);

// What nodes are chosen for a reservation by.
struct NodeWish {
  const Reservation* reservation = nullptr;  // as it will be; its own nodes are not looked at
  Bitmap keep;                               // nodes that it has and keeps
  uint32_t count = 0;                        // nodes in all
  Bitmap without = {};                       // nodes that are not to be chosen
};
// kNodesBusy: so many cannot be had.
[[nodiscard]] Result<Bitmap> choose_nodes(const ClusterState& state, const NodeWish& wish,
                                          Time now);
// The cores of so many (in all, or of one node after the other) that are to be reserved: of the
// nodes that are named (`wish.keep`), or of as many as are asked for (`wish.count`; 0: any number).
// What the state says of nodes is not looked at of those that are named.
[[nodiscard]] Result<std::vector<ReservedCores>> choose_cores(const ClusterState& state,
                                                              const NodeWish& wish,
                                                              const std::vector<uint32_t>& counts,
                                                              Time now);
// Generic resources that are to be reserved, of all nodes together or of each one.
struct GresWish {
  std::vector<GresItem> items;
  bool per_node = false;
  // cores in all, or of one node after the other; empty: none
  std::vector<uint32_t> cores;
};
struct ReservedParts {
  std::vector<ReservedCores> cores;
  std::vector<ReservedGres> gres;
};
// Nodes as choose_cores() does: without a number as few as have it. Units that the reservation has
// already are preferred.
[[nodiscard]] Result<ReservedParts> choose_gres(const ClusterState& state, const NodeWish& wish,
                                                const GresWish& gres, Time now);
// Whether running jobs hold one of these nodes at or after `from`; those left out that leave when
// the reservation wants their nodes (null: nobody is).
[[nodiscard]] bool has_jobs(const ClusterState& state, const Bitmap& nodes, Time from,
                            const Reservation* left_for = nullptr);

}  // namespace sluice::state
