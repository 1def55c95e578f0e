// Whether a text is one of a list, as it is written or with capitals and small letters alike.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.hpp"

namespace sluice {

[[nodiscard]] inline bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}
[[nodiscard]] inline bool contains_iequal(const std::vector<std::string>& list,
                                          std::string_view text) {
  return std::ranges::any_of(list, [&](const std::string& one) { return iequals(one, text); });
}

}  // namespace sluice
