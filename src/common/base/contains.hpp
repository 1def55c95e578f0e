// Whether a text is one of a list.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

[[nodiscard]] inline bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

}  // namespace sluice
