// Steps as people read them: 12.0, 12.batch, 12.extern, 12.interactive.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/ids.hpp"
#include "common/base/text.hpp"

namespace sluice {

[[nodiscard]] inline std::string step_number_text(StepNumber step) {
  switch (step) {
    case kExternStep: return "extern";
    case kBatchStep: return "batch";
    case kInteractiveStep: return "interactive";
    default: return std::to_string(step);
  }
}

// "3", "batch" …; nothing for anything else.
[[nodiscard]] inline std::optional<StepNumber> parse_step_number(std::string_view text) {
  if (text == "extern") return kExternStep;
  if (text == "batch") return kBatchStep;
  if (text == "interactive") return kInteractiveStep;
  return to_number<StepNumber>(text);
}

[[nodiscard]] inline std::string step_id_text(const StepId& id) {
  return std::to_string(id.job) + "." + step_number_text(id.step);
}

}  // namespace sluice
