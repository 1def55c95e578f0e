// Where sbatch's script comes from, and whether it is one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::cli {

// More is not even sent; how much the controller takes is its matter
// (SchedulerParameters=max_script_size).
inline constexpr size_t kMaxScriptBytes = 48U << 20;

// The script of `name`: a file (looked up in PATH when it is not here and has no slash), or
// standard input when empty. `path` becomes its full path. Errors: Slurm's sentence.
[[nodiscard]] Result<std::string> read_script(const std::string& name, std::string& path);

// The script of --wrap.
[[nodiscard]] std::string wrap_script(std::string_view command);

// The lines of error that speak against `script`; none when it is fine.
[[nodiscard]] std::vector<std::string> script_faults(std::string_view script);

}  // namespace sluice::cli
