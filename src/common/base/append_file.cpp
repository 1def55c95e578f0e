#include "common/base/append_file.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/replace_file.hpp"

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

bool owns_folder_of(const std::string& path, uid_t owner) {
  const size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  struct stat found {};
  return ::stat(folder.c_str(), &found) == 0 && found.st_uid == owner;
}

// Empty: the file may be written.
std::string_view fault_of(const struct stat& file, const std::string& path) {
  if (S_ISDIR(file.st_mode)) return "Is a directory";
  if (!S_ISREG(file.st_mode)) return is_trusted(file.st_uid) ? "" : "it is another user's device or pipe";
  if (file.st_nlink > 1) return "the file has a second name (a hard link)";
  if (!is_trusted(file.st_uid) && !owns_folder_of(path, file.st_uid)) return "the file is another user's";
  return "";
}

Status give(const std::string& path, uint32_t uid, uint32_t gid) {
  const auto fd = open_daemon_file(path, O_WRONLY | O_APPEND);
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
  constexpr mode_t kMode = 0644;
  const int safe = flags | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  int fd = ::open(path.c_str(), safe | O_NOFOLLOW, kMode);
  if (fd < 0 && errno == ELOOP) {
    if (!is_trusted_link(path)) return refused(path, "it is a link that another user made");
    fd = ::open(path.c_str(), safe, kMode);
  }
  if (fd < 0) return refused(path, errno_text(errno));
  struct stat file {};
  const std::string_view fault = ::fstat(fd, &file) == 0 ? fault_of(file, path) : errno_text(errno);
  if (fault.empty()) return fd;
  ::close(fd);
  return refused(path, fault);
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
