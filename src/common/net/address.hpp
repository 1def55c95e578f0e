// Addresses as configured ("host:port", "[::1]:port", "unix:/path") to the numeric ones that gRPC
// takes without looking anything up. Internal to net.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace sluice::net {

struct NumericAddress {
  enum class Kind { kIpv4, kIpv6, kUnix } kind = Kind::kIpv4;
  std::string text;  // "10.0.0.1:6817", "[::1]:6817" or "/path"
};

// Asks the host's resolver only when the host is no number. Errors: kUnreachable.
[[nodiscard]] Result<NumericAddress> resolve(const std::string& address);

}  // namespace sluice::net
