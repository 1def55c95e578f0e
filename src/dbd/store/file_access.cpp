#include "dbd/store/file_access.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"

namespace sluice::dbd {
namespace {

constexpr std::string_view kHeader{"SQLite format 3\0", 16};

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// "Permission denied: it is bob's, mode 0600, and slurmdbd runs as slurm"
std::string why(const std::string& path, int error, uid_t runs_as = ::geteuid()) {
  struct stat file {};
  const bool rights = error == EACCES || error == EPERM;
  if (!rights || ::stat(path.c_str(), &file) != 0) return errno_text(error);
  return fmt::format("{}: it is {}'s, mode {:04o}, and slurmdbd runs as {}", errno_text(error),
                     user_label(file.st_uid), file.st_mode & 07777, user_label(runs_as));
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

Status may_use_file(const std::string& path, const HostUser& who) {
  if (Status ok = may_use_file(path); !ok || who.uid == ::geteuid()) return ok;
  const std::string folder = folder_of(path);
  if (const std::string closed = obstacle(who, folder, kMayEnter); !closed.empty())
    return failure(fmt::format("{} cannot be opened: {}", path, closed));
  if (!obstacle(who, path, kMayRead | kMayWrite).empty())
    return failure(fmt::format("{} cannot be opened: {}", path, why(path, EACCES, who.uid)));
  if (!obstacle(who, folder, kMayWrite).empty())
    return failure(fmt::format("{} cannot be used: no files can be made beside it in {}: {}", path,
                               folder, why(folder, EACCES, who.uid)));
  return {};
}

Status check_not_empty(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0)
    return failure(fmt::format("cannot open {}: {}", path, errno_text(errno)));
  if (!S_ISREG(file.st_mode)) return failure(fmt::format("{} is no file", path));
  if (file.st_size != 0) return {};
  return failure(ErrorCode::kDamaged,
                 fmt::format("{} is empty: the database that was in it is lost. Put a copy back, "
                             "or remove the file to begin a new one",
                             path));
}

std::string damaged_text(const std::string& path) {
  return fmt::format("{} is damaged, or no database: move it away, or put a copy back", path);
}

Status check_header(const std::string& path) {
  if (Status ok = check_not_empty(path); !ok) return ok;
  std::ifstream file(path, std::ios::binary);
  std::string start(kHeader.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (file && start == kHeader) return {};
  return failure(ErrorCode::kDamaged, damaged_text(path));
}

Error cannot_make(const std::string& path, int error) {
  const std::string folder = folder_of(path);
  struct stat status {};
  if (error == ENOENT && ::stat(folder.c_str(), &status) != 0)
    return {ErrorCode::kError, fmt::format("cannot make {}: there is no folder {}", path, folder)};
  return {ErrorCode::kError, fmt::format("cannot make {}: {}", path, why(folder, error))};
}

}  // namespace sluice::dbd
