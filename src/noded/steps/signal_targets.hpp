// Which of a job's steps here a signal is for, and which of them gets it first. Pure.
#pragma once

#include <vector>

#include "common/protocol/noded.hpp"

namespace sluice::noded {

// The batch script before all others: once a task has ended by a signal, its srun and the script
// after it may be over before the script has its own, and its trap would not run.
void script_first(std::vector<protocol::StepKey>& keys);

// Of `live`, those that the order means; they stay in their order.
[[nodiscard]] std::vector<protocol::StepKey> signal_targets(
    const protocol::SignalStepRequest& request, const std::vector<protocol::StepKey>& live);

}  // namespace sluice::noded
