// The levels of --distribution: nodes, sockets and cores of "cyclic:block:block,NoPack".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

enum class DistributionLevel : size_t { kNodes = 0, kSockets = 1, kCores = 2 };

// In lower case; empty: not given.
[[nodiscard]] std::string distribution_of(std::string_view text, DistributionLevel level);

}  // namespace sluice
