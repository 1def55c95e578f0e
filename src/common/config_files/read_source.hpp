// The text of a configuration file, and of those that its Include lines name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/config/conf_parse.hpp"

namespace sluice {

// Errors: kInvalidConfig where it cannot be read, is a folder or a pipe, has more than
// 64 MiB or a NUL byte.
[[nodiscard]] Result<tables::ConfSource> read_source(const std::string& path);
// The files that an Include names, in the order of their names; wildcards that fit nothing give
// none. `folder` is that of the file with the Include. Errors: as read_source().
[[nodiscard]] Result<std::vector<tables::ConfSource>> read_included(
    const std::filesystem::path& folder, const std::string& name);

}  // namespace sluice
