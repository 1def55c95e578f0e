// What a program prints.
#pragma once

#include <string>
#include <vector>

namespace sluice::cli {

// Its standard output; it is looked for in PATH, reads nothing, and its complaints go nowhere.
// Empty when it fails.
[[nodiscard]] std::string program_output(std::vector<std::string> arguments);

}  // namespace sluice::cli
