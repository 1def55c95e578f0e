// The levels of --distribution: nodes, sockets and cores of "cyclic:block:block,NoPack".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

enum class DistributionLevel : size_t { kNodes = 0, kSockets = 1, kCores = 2 };

// In lower case; empty: not given.
[[nodiscard]] std::string distribution_of(std::string_view text, DistributionLevel level);

// As SLURM_DISTRIBUTION tells it: "Cyclic:*,Pack" is "cyclic:cyclic,pack". Of a plane without what
// is behind its size.
[[nodiscard]] std::string told_distribution(std::string_view text);

// As a step's Dist= shows it: "block:cyclic" is "BCyclic".
[[nodiscard]] std::string shown_distribution(std::string_view text);

}  // namespace sluice
