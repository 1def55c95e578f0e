// SrunProlog and SrunEpilog: run here, as the user, before and after a step.
#pragma once

#include <string>
#include <vector>

#include "common/environment/environment.hpp"

namespace sluice::cli {

// Runs `program` with `arguments` and waits; its exit code, or 128 and the signal; -1: it could not
// be started. One that the user may not read and run counts as done, and that is said.
[[nodiscard]] int run_srun_script(const std::string& program,
                                  const std::vector<std::string>& arguments,
                                  const Environment& environment);

}  // namespace sluice::cli
