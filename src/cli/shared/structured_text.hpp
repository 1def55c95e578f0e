// The two notations of --json and --yaml, character by character as Slurm writes them, so that what reads Slurm's output
// line by line reads this, too.
#pragma once

#include <string>

#include "common/tables/json_parts.hpp"

namespace sluice::cli {

// Indented by two; what is empty takes two lines, and "/" is written "\/".
[[nodiscard]] std::string to_json_text(const Json& value);
// With a tag before every key and value: "!!str job_id: !!int 7". Long texts stay on their line.
[[nodiscard]] std::string to_yaml_text(const Json& value);

}  // namespace sluice::cli
