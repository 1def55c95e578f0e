// The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a job, -1 for what is
// not known, and a header of comments.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace sluice::sim {

// `file` is the name in messages (`FILE:LINE: …`). Jobs that never ran, or of an unknown run time
// or size, are passed over.
[[nodiscard]] Result<Trace> parse_swf(std::string_view text, const std::string& file);

}  // namespace sluice::sim
