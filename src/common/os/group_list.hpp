// The groups of a user as the name services of this host know them.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace sluice {

// For a process with the group `gid`: that first, then those that the user is a member of. His own
// group `own` is among them whatever `gid` is. Thread-safe.
[[nodiscard]] std::vector<gid_t> groups_of_user(const std::string& name, gid_t gid, gid_t own);

}  // namespace sluice
