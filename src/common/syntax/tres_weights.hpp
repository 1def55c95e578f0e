// PriorityWeightTRES: "CPU=1000,Mem=2000,GRES/gpu=3000".
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "common/model/priority_factors.hpp"

namespace sluice {

// Names in small letters, in the order of Slurm's TRES: cpu, mem, energy, node, billing, then the
// others as they are given. nullopt: an item has no number.
[[nodiscard]] std::optional<std::vector<TresWeight>> parse_tres_weights(std::string_view text);

}  // namespace sluice
