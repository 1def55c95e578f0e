// srun --multi-prog: reads and checks the file that says which task runs what. The step daemons
// pick their tasks' lines from its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::cli {

// The text of `path`. Errors: it cannot be opened or read.
[[nodiscard]] Result<std::string> read_multi_prog(const std::string& path);

struct MultiProgCheck {
  std::vector<std::string> faults;  // lines of error that speak against the file; none: it serves
  uint32_t tasks = 0;               // as many as asked for, or as the file names
};

// Whether every one of `tasks` (0: as many as the text names) has a program in `text`, and just
// one. `name` is the file's, for messages.
[[nodiscard]] MultiProgCheck check_multi_prog(std::string_view text, uint32_t tasks,
                                              const std::string& name);

}  // namespace sluice::cli
