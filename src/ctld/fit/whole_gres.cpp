#include "ctld/fit/gres.hpp"

#include "ctld/fit/place.hpp"

namespace sluice::fit {

GresShares choose_whole_gres(const Needs& needs, const Room& room,
                             std::span<const uint64_t> counts) {
  GresShares out;
  for (GresShare& share : choose_gres(needs, room, counts)) {
    if (!share.parts.empty()) out.push_back(std::move(share));
  }
  const GresShares served = out;
  for (GresShare& share : all_of(*room.gres)) {
    for (const GresShare& parts : served) {
      if (share.name != "gpu") continue;
      share.units.and_not(parts.units);
      share.count = share.units.count();
    }
    if (share.count > 0) out.push_back(std::move(share));
  }
  return out;
}

}  // namespace sluice::fit
