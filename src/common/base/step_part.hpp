// The parts of one step in one job: `srun ./a : ./b` in an allocation makes the steps 12.0+0
// and 12.0+1. The number of each says both, so that all that is kept by a step's number knows them
// apart.
#pragma once

#include "common/base/ids.hpp"

namespace sluice {

inline constexpr StepNumber kFirstStepPart = 0x80000000;  // numbers of steps are below it
inline constexpr uint32_t kStepPartShift = 24;
// so that their numbers stay below those of named steps
inline constexpr uint32_t kMostStepParts = 112;
inline constexpr StepNumber kMostStepsWithParts = 1U << kStepPartShift;

[[nodiscard]] constexpr bool is_step_part(StepNumber step) {
  return step >= kFirstStepPart && step <= kMaxNormalStep;
}
// part < kMostStepParts, step < kMostStepsWithParts
[[nodiscard]] constexpr StepNumber make_step_part(StepNumber step, uint32_t part) {
  return kFirstStepPart | part << kStepPartShift | step;
}
// What users call the step: of 12.0+1 it is 0. A step without parts is itself.
[[nodiscard]] constexpr StepNumber number_of_step(StepNumber step) {
  return is_step_part(step) ? step & (kMostStepsWithParts - 1) : step;
}
[[nodiscard]] constexpr uint32_t part_of_step(StepNumber step) {
  return is_step_part(step) ? (step & ~kFirstStepPart) >> kStepPartShift : 0;
}

}  // namespace sluice
