// A job as `scontrol show job` prints it.
#pragma once

#include <string>

#include "common/format/job_values.hpp"

namespace sluice {

// Without the blank line that follows. `details` (-d) adds where its CPUs and memory are.
[[nodiscard]] std::string show_job(const JobView& view, const RenderContext& context, bool one_line,
                                   bool details);

}  // namespace sluice
