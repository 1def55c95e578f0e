// Usage of associations and QOS as time passes: each PriorityCalcPeriod running jobs are charged
// and usage decays (PriorityDecayHalfLife), or is forgotten (PriorityUsageResetPeriod).
#pragma once

#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

void tick_usage(Draft& draft, Time now);
// Running jobs are charged now, and usage decays as far as it would have.
void charge_now(Draft& draft, Time now);

// What is left of usage after so long; 1: it does not decay. By Slurm's approximation of ln 2.
[[nodiscard]] double decay_factor(const ClusterConfig& config, Duration passed);
// When usage was to be forgotten last, by local time; kNoTime: never.
[[nodiscard]] Time last_reset(const ClusterConfig& config, Time now);

}  // namespace sluice::state
