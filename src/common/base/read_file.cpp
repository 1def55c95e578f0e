#include "common/base/read_file.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace sluice {

std::optional<std::string> read_file(const std::string& path, size_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string bytes;
  char buffer[4096];
  ssize_t n = 0;
  while (bytes.size() < most && (n = ::read(fd, buffer, sizeof buffer)) > 0) {
    bytes.append(buffer, static_cast<size_t>(n));
  }
  ::close(fd);
  if (n < 0) return std::nullopt;
  return bytes;
}

}  // namespace sluice
