#include "common/os/read_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace sluice {

std::optional<std::string> read_descriptor(int fd, size_t most) {
  std::string bytes;
  char buffer[4096];
  while (bytes.size() < most) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) return std::nullopt;
    if (n > 0) bytes.append(buffer, static_cast<size_t>(n));
  }
  return bytes;
}

std::optional<std::string> read_file(const std::string& path, size_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> bytes = read_descriptor(fd, most);
  const int why = errno;
  ::close(fd);
  errno = why;
  return bytes;
}

}  // namespace sluice
