// Files that are named as a shell names programs.
#pragma once

#include <optional>
#include <string>

namespace sluice::cli {

// The first file of this name in the folders of $PATH that access(2) allows to `mode` (X_OK, R_OK);
// no folders. An empty part of $PATH stands for `here`.
[[nodiscard]] std::optional<std::string> find_in_path(const std::string& name, int mode,
                                                      const std::string& here);

// The program that a shell in the folder `here` would start for `name`: with a slash it is a path.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name,
                                                      const std::string& here);

}  // namespace sluice::cli
