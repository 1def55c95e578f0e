// srun --multi-prog: which program each task runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::stepd {

// Program and arguments of `task` by the configuration's text: lines of ranks (`1,3-5` or `*`),
// program, arguments; `%t` is the task and `%o` its offset among the line's ranks; single quotes
// keep blanks together; a backslash at the end continues a line. `extra` arguments follow.
[[nodiscard]] Result<std::vector<std::string>> program_of_task(
    std::string_view text, uint32_t task, const std::vector<std::string>& extra);

}  // namespace sluice::stepd
