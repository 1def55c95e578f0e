// The text of /proc/PID/stat.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// What follows the name, which stands in brackets and may hold blanks and brackets of its own: the
// state (number 3 of proc(5)) is first. Empty when the text was cut before it.
[[nodiscard]] std::vector<std::string> stat_fields(std::string_view stat);

}  // namespace sluice
