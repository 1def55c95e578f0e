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

// The script of `name`: a file, or standard input when empty. A name that begins with no `/` or `.`
// is looked for in `chdir` (the folder of --chdir, empty: none) before it is here; one without a
// slash that is in neither, in PATH. `path` becomes its full path. Errors: Slurm's sentence.
[[nodiscard]] Result<std::string> read_script(const std::string& name, const std::string& chdir,
                                              std::string& path);

// The script of --wrap.
[[nodiscard]] std::string wrap_script(std::string_view command);

// The lines of error that speak against `script`; none when it is fine.
[[nodiscard]] std::vector<std::string> script_faults(std::string_view script);

}  // namespace sluice::cli
