// "10.0.0.1:4242" or "[::1]:4242". Internal to rpc.
#pragma once

#include <string>

#include <sys/socket.h>

namespace sluice::net {

[[nodiscard]] std::string peer_name(const sockaddr_storage& peer);

}  // namespace sluice::net
