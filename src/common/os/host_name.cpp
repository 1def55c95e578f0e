#include "common/os/host_name.hpp"

#include <unistd.h>

#include <string_view>

namespace sluice {

std::string short_host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  const std::string_view full(name);
  return std::string(full.substr(0, full.find('.')));
}

}  // namespace sluice
