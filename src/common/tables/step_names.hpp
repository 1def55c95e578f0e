// Steps as people read them: 12.0, 12.batch, 12.extern, 12.interactive.
#pragma once

#include <string>

#include "common/base/ids.hpp"

namespace sluice {

[[nodiscard]] inline std::string step_number_text(StepNumber step) {
  switch (step) {
    case kExternStep: return "extern";
    case kBatchStep: return "batch";
    case kInteractiveStep: return "interactive";
    default: return std::to_string(step);
  }
}

[[nodiscard]] inline std::string step_id_text(const StepId& id) {
  return std::to_string(id.job) + "." + step_number_text(id.step);
}

}  // namespace sluice
