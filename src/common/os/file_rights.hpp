// What a user of this host may do with files, by their owners and modes: for a process of root's
// that looks on behalf of the user that a daemon becomes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace sluice {

inline constexpr mode_t kMayRead = 4, kMayWrite = 2, kMayEnter = 1;  // as in a mode's last digit

struct HostUser {
  std::string name;
  uid_t uid = 0;
  std::vector<gid_t> groups;
};

// Nothing: there is no such user. Thread-safe, as all here.
[[nodiscard]] std::optional<HostUser> host_user(uid_t uid);
// His name, or "uid 5" where there is none.
[[nodiscard]] std::string user_label(uid_t uid);

// What keeps him from `what`, of kMayRead, kMayWrite and kMayEnter: "user bob may not enter /srv",
// a folder on the way, or "user bob may not write /srv/file". Empty: nothing, or it cannot be seen
// from here.
[[nodiscard]] std::string obstacle(const HostUser& who, const std::filesystem::path& path,
                                   mode_t what);

}  // namespace sluice
