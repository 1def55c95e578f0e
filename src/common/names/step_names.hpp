// Steps as people read them: 12.0, 12.0+1, 12.batch, 12.extern, 12.interactive.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/ids.hpp"
#include "common/base/step_part.hpp"
#include "common/base/text.hpp"

namespace sluice {

[[nodiscard]] inline std::string step_number_text(StepNumber step) {
  switch (step) {
    case kExternStep: return "extern";
    case kBatchStep: return "batch";
    case kInteractiveStep: return "interactive";
    default: break;
  }
  const std::string number = std::to_string(number_of_step(step));
  return is_step_part(step) ? number + "+" + std::to_string(part_of_step(step)) : number;
}

// "3", "3+1", "batch" …; nothing for anything else.
[[nodiscard]] inline std::optional<StepNumber> parse_step_number(std::string_view text) {
  if (text == "extern") return kExternStep;
  if (text == "batch") return kBatchStep;
  if (text == "interactive") return kInteractiveStep;
  const size_t plus = text.find('+');
  const auto number = to_number<StepNumber>(text.substr(0, plus));
  if (plus == std::string_view::npos || !number) return number;
  const auto part = to_number<uint32_t>(text.substr(plus + 1));
  if (!part || *part >= kMostStepParts || *number >= kMostStepsWithParts) return std::nullopt;
  return make_step_part(*number, *part);
}

[[nodiscard]] inline std::string step_id_text(const StepId& id) {
  return std::to_string(id.job) + "." + step_number_text(id.step);
}

// As logs name it: a search for JobId=12 finds its steps, too.
[[nodiscard]] inline std::string step_log_name(const StepId& id) {
  return "JobId=" + std::to_string(id.job) + " StepId=" + step_id_text(id);
}

// Where mpi/pmix keeps what it needs for a step. `base` is PMIxCliTmpDirBase, which nodes of one
// host may have in common; with an empty one it is in the node's own SlurmdSpoolDir.
[[nodiscard]] inline std::string pmix_folder(const std::string& base, const std::string& spool_dir,
                                             const std::string& node, const StepId& id) {
  const std::string step = step_id_text(id);
  return base.empty() ? spool_dir + "/pmix." + step : base + "/pmix." + node + "." + step;
}

}  // namespace sluice
