// The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a job, -1 for what is
// not known, and a header of comments.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace sluice::sim {

// `file` is the name in messages (`FILE:LINE: …`). Jobs that never ran, or of an unknown run time
// or size, are passed over. A job with a preceding one (field 17) is submitted so long after its
// end as the think time (field 18) says, and depends on its end where no such time is told.
[[nodiscard]] Result<Trace> parse_swf(std::string_view text, const std::string& file);

}  // namespace sluice::sim
