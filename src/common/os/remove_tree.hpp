// A folder goes with all that is in it, however deep it is: who may write there may have made more
// folders in one another than a process can have open.
#pragma once

#include <string>

namespace sluice {

// False when something is left; a path that is not there is gone. Follows no link, and needs two
// descriptors. What others put there meanwhile may stay.
[[nodiscard]] bool remove_tree(const std::string& path);

}  // namespace sluice
