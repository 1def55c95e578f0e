#include "common/os/append_file.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/replace_file.hpp"

namespace sluice {
namespace {

tl::unexpected<Error> refused(const std::string& path, std::string_view why) {
  return failure(ErrorCode::kPathMissing, fmt::format("{}: {}", path, why));
}

bool is_trusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

bool is_trusted_link(const std::string& path) {
  struct stat link {};
  return ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && is_trusted(link.st_uid);
}

// Whether a file of `owner` belongs in its folder: the folder is his, or nobody has put it there
// but root or this user.
bool belongs_there(const std::string& path, uid_t owner) {
  const size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0) return false;
  return found.st_uid == owner ||
         (is_trusted(found.st_uid) && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0);
}

// Empty: the file may be written, where it is to be `heir`'s.
std::string_view fault_of(const struct stat& file, const std::string& path, uid_t heir) {
  if (S_ISDIR(file.st_mode)) return "Is a directory";
  if (!S_ISREG(file.st_mode))
    return is_trusted(file.st_uid) ? "" : "it is another user's device or pipe";
  if (file.st_nlink > 1) return "the file has a second name (a hard link)";
  if (!is_trusted(file.st_uid) && file.st_uid != heir && !belongs_there(path, file.st_uid))
    return "the file is another user's";
  return "";
}

Result<int> open_file(const std::string& path, int flags, uid_t heir) {
  constexpr mode_t kMode = 0640;
  const int safe = flags | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  int fd = ::open(path.c_str(), safe | O_NOFOLLOW, kMode);
  if (fd < 0 && errno == ELOOP) {
    if (!is_trusted_link(path)) return refused(path, "it is a link that another user made");
    fd = ::open(path.c_str(), safe, kMode);
  }
  if (fd < 0) return refused(path, errno_text(errno));
  struct stat file {};
  const std::string_view fault =
      ::fstat(fd, &file) == 0 ? fault_of(file, path, heir) : errno_text(errno);
  if (fault.empty()) return fd;
  ::close(fd);
  return refused(path, fault);
}

Status give(const std::string& path, uint32_t uid, uint32_t gid) {
  const auto fd = open_file(path, O_WRONLY | O_APPEND, uid);
  if (!fd) return tl::unexpected<Error>(fd.error());
  struct stat file {};
  const bool plain = ::fstat(*fd, &file) == 0 && S_ISREG(file.st_mode);
  const bool good = !plain || ::fchown(*fd, uid, gid) == 0;
  const int why = errno;
  ::close(*fd);
  if (!good) return refused(path, errno_text(why));
  return {};
}

}  // namespace

Result<int> open_daemon_file(const std::string& path, int flags) {
  return open_file(path, flags, ::geteuid());
}

Status give_daemon_files(const std::vector<std::string>& paths, uint32_t uid, uint32_t gid) {
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    if (Status given = give(path, uid, gid); !given) return given;
  }
  return {};
}

AppendFile::AppendFile(AppendFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<AppendFile> AppendFile::open(const std::string& path) {
  auto fd = open_daemon_file(path, O_WRONLY | O_APPEND);
  if (!fd) return tl::unexpected<Error>(fd.error());
  return AppendFile(*fd);
}

void AppendFile::write(std::string_view lines) const {
  if (fd_ >= 0) (void)write_all(fd_, lines);
}

}  // namespace sluice
