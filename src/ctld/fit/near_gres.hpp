// --gres-flags=enforce-binding: units and cores of the same sockets. A job has units of as few
// sockets as have enough of them, in equal parts, and a core at least near the units of each. One
// with fewer cores than sockets waits until fewer have what it needs; where no node's ever have, it
// is given a core of each.
#pragma once

#include <optional>
#include <span>

#include "ctld/fit/place.hpp"

namespace sluice::fit {

// The units for a job with so many cores on the node. nullopt: not beside so many free cores.
[[nodiscard]] std::optional<GresShares> choose_gres_near(const Needs& needs, const Room& room,
                                                         std::span<const uint64_t> counts,
                                                         uint32_t cores);
// How many sets of cores the units are near to.
[[nodiscard]] uint32_t sockets_of(const Room& room, const GresShares& shares);
// So many of the room's free cores, in turn from those near the units of each socket. Nothing where
// all of the units are near the same cores, or anywhere.
[[nodiscard]] Bitmap take_cores_near_each(const Room& room, const GresShares& shares,
                                          uint32_t cores);

}  // namespace sluice::fit
