// srun --multi-prog: reads and checks the file that says which task runs what. The step daemons
// pick their tasks' lines from its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::cli {

// The text of `path`. Errors: it cannot be opened.
[[nodiscard]] Result<std::string> read_multi_prog(const std::string& path);

// The lines of error that speak against `text`; none when every one of `tasks` (0: not known) has
// a program. `name` is the file's, for messages.
[[nodiscard]] std::vector<std::string> multi_prog_faults(std::string_view text,
                                                         uint32_t tasks,
                                                         const std::string& name);

}  // namespace sluice::cli
