// Files that SQLite only says of that it cannot open them.
#pragma once

#include <string>

#include "common/base/result.hpp"
#include "common/os/file_rights.hpp"

namespace sluice::dbd {

// This process may read and write the file that is there, and make others beside it. The error says
// whose it is. Nothing is opened: SQLite's locks stay.
[[nodiscard]] Status may_use_file(const std::string& path);
// The same for the user that root becomes.
[[nodiscard]] Status may_use_file(const std::string& path, const HostUser& who);
// Errors: kDamaged: the file has nothing in it, which is none that a daemon leaves.
[[nodiscard]] Status check_not_empty(const std::string& path);
// Errors: kDamaged: neither, nor anything else that is no database of SQLite's. The file is opened:
// not for a process that has it open already.
[[nodiscard]] Status check_header(const std::string& path);
[[nodiscard]] std::string damaged_text(const std::string& path);
// The error of a file that could not be made: with why, and its folder where that is missing.
[[nodiscard]] Error cannot_make(const std::string& path, int error);

}  // namespace sluice::dbd
