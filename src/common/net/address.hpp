// Addresses as configured ("host:port", "[::1]:port", "unix:/path") to the numeric ones that gRPC
// takes without looking anything up, and to connected sockets.
#pragma once

#include <string>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace sluice::net {

struct NumericAddress {
  enum class Kind { kIpv4, kIpv6, kUnix } kind = Kind::kIpv4;
  std::string text;  // "10.0.0.1:6817", "[::1]:6817" or "/path"
};

// Asks the host's resolver only when the host is no number. Errors: kUnreachable.
[[nodiscard]] Result<NumericAddress> resolve(const std::string& address);

// A connected socket that does not block; the caller closes it. Errors: kUnreachable, also when it took until `until`.
[[nodiscard]] Result<int> connect_to(const std::string& address, SteadyTime until);

// This host's own IPv4 address on the way to `host`, by the routes of the kernel; nothing is sent. Errors: kUnreachable.
[[nodiscard]] Result<std::string> address_towards(const std::string& host);

// What is left until then in milliseconds, for poll(2): 0 when it is over, an hour at most.
[[nodiscard]] int poll_timeout(SteadyTime until);

}  // namespace sluice::net
