// `sluice usage` as text for people and as JSON for programs.
#pragma once

#include <string>

#include "cli/usage/report.hpp"
#include "common/format/json_parts.hpp"

namespace sluice::cli {

[[nodiscard]] std::string usage_text(const UsageReport& report);
[[nodiscard]] Json usage_json(const UsageReport& report);

}  // namespace sluice::cli
