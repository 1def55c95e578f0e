// The names of output and input files: Slurm's %-symbols and what they stand for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/ids.hpp"
#include "common/model/array_info.hpp"

namespace sluice {

// What the symbols of a pattern stand for.
struct PatternFields {
  StepId step;                             // %j, %s, %J; a batch script's %J is the job id alone
  std::shared_ptr<const ArrayInfo> array;  // %A, %a, %b; null: %A is the job id
  std::string_view job_name;               // %x
  std::string_view user_name;              // %u
  std::string_view host;                   // %N
  uint32_t node_index = 0;                 // %n: position among the job's nodes
  uint32_t task = 0;                       // %t: rank
};

// `pattern` with its symbols replaced. A number between % and a numeric symbol pads with zeros
// (at most 10 wide); an unknown symbol stays as it is; a pattern with a backslash is taken
// literally, without its backslashes.
[[nodiscard]] std::string expand_file_pattern(std::string_view pattern,
                                              const PatternFields& fields);

// True when the file is a different one for each node or task (%t, %N, %n), so that the step
// daemons open it and not srun.
[[nodiscard]] bool pattern_is_per_node(std::string_view pattern);

// The name sbatch's output goes to when none was given.
[[nodiscard]] std::string_view default_output_pattern(bool array);

// `path` made absolute against `folder`.
[[nodiscard]] std::string absolute_path(std::string_view path, std::string_view folder);

}  // namespace sluice
