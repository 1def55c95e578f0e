#include "common/rpc/guard/peer_name.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <fmt/format.h>

namespace sluice::net {

std::string peer_name(const sockaddr_storage& peer) {
  char text[INET6_ADDRSTRLEN] = {};
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    return fmt::format("{}:{}", inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text),
                       ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
  return fmt::format("[{}]:{}", inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text),
                     ntohs(v6.sin6_port));
}

}  // namespace sluice::net
