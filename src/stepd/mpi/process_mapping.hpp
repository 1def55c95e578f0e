// Where ranks are, in the words of PMI: "(vector,(0,4,2))" is two ranks on each of the nodes 0 to 3.
#pragma once

#include <string>

#include "common/model/step.hpp"

namespace sluice::stepd {

// Longer ones do not fit into a line of PMI-1: a client finds out by itself then.
inline constexpr size_t kMaxMappingBytes = 900;

// Blocks of (first node, nodes, ranks on each), rank by rank; clients begin again with the first when
// ranks are left. Empty when it would be longer than kMaxMappingBytes.
[[nodiscard]] std::string process_mapping(const StepLayout& layout);

}  // namespace sluice::stepd
