// The lines of DebugFlags about what a step is given on this node.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/protocol/noded.hpp"

namespace sluice::noded {

// `devices`: how many kinds of device this node has.
void log_shares(const protocol::StepLaunch& launch, uint32_t node_index, size_t devices);

}  // namespace sluice::noded
