#include "common/os/replace_file.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"

namespace sluice {
namespace {

bool write_fresh(const std::string& path, std::string_view bytes, const FileWriting& how) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, how.mode);
  if (fd < 0) return false;
  const bool good =
      ::fchmod(fd, how.mode) == 0 && write_all(fd, bytes) && (!how.flush || ::fsync(fd) == 0);
  const int why = errno;
  const bool closed = ::close(fd) == 0;
  if (!good) errno = why;
  return good && closed;
}

}  // namespace

void flush_folder_of(const std::string& path) {
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

Status replace_file(const std::string& path, std::string_view bytes, const FileWriting& how) {
  const std::string fresh = path + std::string(kUnfinishedFile);
  if (write_fresh(fresh, bytes, how) && std::rename(fresh.c_str(), path.c_str()) == 0) {
    if (how.flush) flush_folder_of(path);
    return {};
  }
  auto error =
      failure(ErrorCode::kPathMissing, fmt::format("cannot write {}: {}", path, errno_text(errno)));
  ::unlink(fresh.c_str());  // a full disk needs the room
  return error;
}

}  // namespace sluice
