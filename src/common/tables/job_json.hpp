// Jobs and steps as --json shows them (data_parser v0.0.44).
#pragma once

#include "common/tables/job_values.hpp"
#include "common/tables/json_parts.hpp"

namespace sluice {

[[nodiscard]] Json job_to_json(const JobView& view, const RenderContext& context);
[[nodiscard]] Json exit_code_to_json(int32_t status);

}  // namespace sluice
