// What kind of trace a text is.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace sluice::sim {

// An export of sacct begins with names and bars; anything else is taken for SWF.
[[nodiscard]] Result<Trace> parse_trace(std::string_view text, const std::string& file);

}  // namespace sluice::sim
