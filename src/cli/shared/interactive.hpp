// Commands that a person types one by one, or a script writes: sacctmgr, sreport.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sluice::cli {

// A line's words; quotes keep blanks together and go.
[[nodiscard]] std::vector<std::string> split_command_line(const std::string& line);

// Reads standard input line by line, prompting, until its end or `run` gives false; "!!" is the
// last command again. Nothing is read ahead: what `run` asks is answered by the lines behind.
void run_interactive(const char* prompt,
                     const std::function<bool(const std::vector<std::string>&)>& run);

}  // namespace sluice::cli
