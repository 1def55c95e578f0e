#include "common/syntax/tres_weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/text.hpp"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 9> kFirst = {"cpu", "mem",  "energy", "node", "billing",
                                                    "fs/", "vmem", "pages",  ""};

size_t place_of(const TresWeight& one) {
  return static_cast<size_t>(std::ranges::find(kFirst, std::string_view(one.tres)) -
                             kFirst.begin());
}

}  // namespace

std::optional<std::vector<TresWeight>> parse_tres_weights(std::string_view text) {
  std::vector<TresWeight> out;
  for (const std::string& item : split_list(text)) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) return std::nullopt;
    const auto weight = to_number<double>(trim(std::string_view(item).substr(equals + 1)));
    if (!weight || !std::isfinite(*weight)) return std::nullopt;
    out.push_back({to_lower(trim(std::string_view(item).substr(0, equals))), *weight});
  }
  std::ranges::stable_sort(out, {}, place_of);
  return out;
}

}  // namespace sluice
