// SrunProlog and SrunEpilog: run here, as the user, before and after a step.
#pragma once

#include <string>
#include <vector>

#include "common/tables/environment.hpp"

namespace sluice::cli {

// Runs `program` with `arguments` and waits; its exit code, 128 and the signal, or -1 when it
// cannot be started (which was said).
[[nodiscard]] int run_srun_script(const std::string& program,
                                  const std::vector<std::string>& arguments,
                                  const Environment& environment);

}  // namespace sluice::cli
