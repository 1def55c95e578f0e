#include "common/os/file_rights.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>

#include "common/base/errno_text.hpp"
#include "common/os/group_list.hpp"

namespace sluice {
namespace {

constexpr size_t kEntryBytes = size_t{64} << 10;

bool has_right(const HostUser& who, const struct stat& file, mode_t what) {
  if (who.uid == 0) return true;
  if (file.st_uid == who.uid) return (file.st_mode >> 6 & what) == what;
  if (std::ranges::find(who.groups, file.st_gid) != who.groups.end())
    return (file.st_mode >> 3 & what) == what;
  return (file.st_mode & what) == what;
}

const char* right_word(mode_t right, bool is_folder) {
  if (right == kMayRead) return "read";
  if (right == kMayWrite) return is_folder ? "write in" : "write";
  return "enter";
}

struct Account {
  std::string name;
  gid_t gid = 0;
};

std::optional<Account> account_of(uid_t uid) {
  std::string room(kEntryBytes, '\0');
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  return Account{found->pw_name, found->pw_gid};
}

}  // namespace

std::optional<HostUser> host_user(uid_t uid) {
  const auto account = account_of(uid);
  if (!account) return std::nullopt;
  return HostUser{account->name, uid, groups_of_user(account->name, account->gid, account->gid)};
}

std::string user_label(uid_t uid) {
  const auto account = account_of(uid);
  return account ? account->name : fmt::format("uid {}", uid);
}

std::string obstacle(const HostUser& who, const std::filesystem::path& path, mode_t what) {
  std::filesystem::path so_far;
  struct stat file {};
  for (const std::filesystem::path& part : path) {
    if (!so_far.empty() && !has_right(who, file, kMayEnter))
      return fmt::format("user {} may not enter {}", who.name, so_far.string());
    so_far /= part;
    if (::stat(so_far.c_str(), &file) != 0)
      return errno == EACCES ? "" : fmt::format("{}: {}", so_far.string(), errno_text(errno));
  }
  for (const mode_t right : std::array{kMayRead, kMayEnter, kMayWrite}) {
    if ((what & right) == 0 || has_right(who, file, right)) continue;
    return fmt::format("user {} may not {} {}", who.name, right_word(right, S_ISDIR(file.st_mode)),
                       path.string());
  }
  return {};
}

}  // namespace sluice
