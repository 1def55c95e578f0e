// Files that SQLite only says of that it cannot open them.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace sluice::dbd {

// This process may read and write the file that is there, and make others beside it. The error says
// whose it is. Nothing is opened: SQLite's locks stay.
[[nodiscard]] Status may_use_file(const std::string& path);
// The error of a file that could not be made: with why, and its folder where that is missing.
[[nodiscard]] Error cannot_make(const std::string& path, int error);

}  // namespace sluice::dbd
