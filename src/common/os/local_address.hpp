// The address of a socket of this host that has a path.
#pragma once

#include <optional>
#include <string_view>

#include <sys/un.h>

namespace sluice {

// Nothing where the path is longer than such an address can be (107 bytes): errno is ENAMETOOLONG.
[[nodiscard]] std::optional<sockaddr_un> local_address(std::string_view path);

}  // namespace sluice
