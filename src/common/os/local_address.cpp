#include "common/os/local_address.hpp"

#include <cerrno>

#include <sys/socket.h>

namespace sluice {

std::optional<sockaddr_un> local_address(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return std::nullopt;
  }
  path.copy(address.sun_path, path.size());
  return address;
}

}  // namespace sluice
