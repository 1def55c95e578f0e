// Names of the TRES whose numbers are the same everywhere.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "common/model/accounting.hpp"

namespace sluice {

// By their numbers; 0 is none.
inline constexpr std::array<std::string_view, kTresPages + 1> kStandardTres{
    "", "cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"};

// 0: it is none of them.
[[nodiscard]] constexpr TresId standard_tres_id(std::string_view name) {
  const auto* const found = std::ranges::find(kStandardTres, name);
  return found == kStandardTres.end() ? 0 : static_cast<TresId>(found - kStandardTres.begin());
}

// Where it stands in a list by number, in which others follow by name.
using TresOrder = std::pair<TresId, std::string_view>;
[[nodiscard]] constexpr TresOrder tres_order(std::string_view name) {
  const TresId id = standard_tres_id(name);
  return {id == 0 ? kFirstDynamicTres : id, name};
}

}  // namespace sluice
