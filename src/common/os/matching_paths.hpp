// The files that a setting with wildcards names.
#pragma once

#include <string>
#include <vector>

namespace sluice {

// In the order of their names; none where the wildcards (* ? [) fit nothing. Without any, it is the
// path itself, there or not.
[[nodiscard]] std::vector<std::string> matching_paths(const std::string& pattern);

}  // namespace sluice
