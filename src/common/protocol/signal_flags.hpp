// Whom a signal of scancel is for.
#pragma once

#include <cstdint>

namespace sluice::protocol {

using SignalFlags = uint32_t;
inline constexpr SignalFlags kSignalBatchOnly = 1U << 0;  // scancel -b
inline constexpr SignalFlags kSignalFull = 1U << 1;       // scancel -f: batch script too
inline constexpr SignalFlags kSignalStepsOnly = 1U << 2;  // no batch script
inline constexpr SignalFlags kSignalCancel = 1U << 3;     // end the job (scancel without --signal)
inline constexpr SignalFlags kSignalHurry = 1U << 4;      // no stage-out
inline constexpr SignalFlags kSignalCron = 1U << 5;       // scancel --cron

}  // namespace sluice::protocol
