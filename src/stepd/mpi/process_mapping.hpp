// Where ranks are, in the words of PMI: "(vector,(0,4,2))" is two ranks on each of the nodes 0
// to 3.
#pragma once

#include <string>
#include <vector>

#include "common/model/step.hpp"

namespace sluice::stepd {

// What a value of PMI may have (kMaxPmiValue) less its end: clients break when they are given a
// longer one, and find out by themselves when they are given none.
inline constexpr size_t kMaxMappingBytes = 849;

// Blocks of (first node, nodes, ranks on each), rank by rank; clients begin again with the first
// when ranks are left, and stop within a block when none are. Empty when it would be longer than
// kMaxMappingBytes.
[[nodiscard]] std::string process_mapping(const StepLayout& layout);

// A name for each node of the step. Components of a heterogeneous job that share a node have a step
// daemon each, and an MPI library takes them for nodes of their own: "n1", then "n1_2".
[[nodiscard]] std::vector<std::string> distinct_node_names(const StepLayout& layout);

}  // namespace sluice::stepd
