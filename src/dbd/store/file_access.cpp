#include "dbd/store/file_access.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"

namespace sluice::dbd {
namespace {

std::string user_text(uid_t uid) {
  std::string room(16384, '\0');
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
    return fmt::format("uid {}", uid);
  return found->pw_name;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// "Permission denied: it is bob's, mode 0600, and slurmdbd runs as slurm"
std::string why(const std::string& path, int error) {
  struct stat file {};
  const bool rights = error == EACCES || error == EPERM;
  if (!rights || ::stat(path.c_str(), &file) != 0) return errno_text(error);
  return fmt::format("{}: it is {}'s, mode {:04o}, and slurmdbd runs as {}", errno_text(error),
                     user_text(file.st_uid), file.st_mode & 07777, user_text(::geteuid()));
}

bool may(const std::string& path, int mode) {
  return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

}  // namespace

Status may_use_file(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0 && !S_ISREG(file.st_mode))
    return failure(fmt::format("{} is no file", path));
  if (!may(path, R_OK | W_OK))
    return failure(fmt::format("{} cannot be opened: {}", path, why(path, errno)));
  const std::string folder = folder_of(path);
  if (!may(folder, W_OK | X_OK))
    return failure(fmt::format("{} cannot be used: no files can be made beside it in {}: {}", path,
                               folder, why(folder, errno)));
  return {};
}

Error cannot_make(const std::string& path, int error) {
  const std::string folder = folder_of(path);
  struct stat status {};
  if (error == ENOENT && ::stat(folder.c_str(), &status) != 0)
    return {ErrorCode::kError, fmt::format("cannot make {}: there is no folder {}", path, folder)};
  return {ErrorCode::kError, fmt::format("cannot make {}: {}", path, why(folder, error))};
}

}  // namespace sluice::dbd
