// Addresses as configured ("host:port", "[::1]:port", "unix:/path") to the numeric ones that gRPC
// takes without looking anything up, and to connected sockets.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace sluice::net {

struct NumericAddress {
  enum class Kind { kIpv4, kIpv6, kUnix } kind = Kind::kIpv4;
  std::string text;  // "10.0.0.1:6817", "[::1]:6817" or "/path"
};

// Asks the host's resolver only when the host is no number. Errors: kUnreachable.
[[nodiscard]] Result<NumericAddress> resolve(const std::string& address);

// A connected socket that does not block; the caller closes it. Errors: kUnreachable, also when it
// took until `until`.
[[nodiscard]] Result<int> connect_to(const std::string& address, SteadyTime until);

struct ListeningSocket {
  int fd = -1;  // the caller closes it
  int port = 0;
};
// Takes connections at an address of this host, and does not block; port 0 picks one. Errors:
// kError naming the address and the reason.
[[nodiscard]] Result<ListeningSocket> listen_at(const NumericAddress& numeric,
                                                const std::string& address);

// This host's own IPv4 address on the way to `host`, by the routes of the kernel; nothing is sent.
// Errors: kUnreachable.
[[nodiscard]] Result<std::string> address_towards(const std::string& host);

// Whether this host can listen there now. Error: why it cannot, with the address: another process
// does, it is no address of this host, the port is for root.
[[nodiscard]] Status can_listen(const std::string& address);

// What is sent on this connected socket leaves the host.
[[nodiscard]] bool leaves_host(int fd);

// The host is a number or a name for one of this host's addresses.
[[nodiscard]] bool is_own_address(const std::string& host);

// The beginning of resolve()'s error for a name that nobody knows.
inline constexpr std::string_view kUnresolved = "Unable to resolve";

// What is left until then in milliseconds, for poll(2): 0 when it is over, an hour at most.
[[nodiscard]] int poll_timeout(SteadyTime until);

}  // namespace sluice::net
