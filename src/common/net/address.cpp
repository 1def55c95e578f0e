#include "common/net/address.hpp"

#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace sluice::net {
namespace {

tl::unexpected<Error> unusable(const std::string& address, std::string_view why) {
  return failure(ErrorCode::kUnreachable, fmt::format("address {}: {}", address, why));
}

NumericAddress ipv4(std::string_view host, std::string_view port) {
  return {NumericAddress::Kind::kIpv4, fmt::format("{}:{}", host, port)};
}
NumericAddress ipv6(std::string_view host, std::string_view port) {
  return {NumericAddress::Kind::kIpv6, fmt::format("[{}]:{}", host, port)};
}

}  // namespace

Result<NumericAddress> resolve(const std::string& address) {
  if (address.starts_with("unix:")) {
    return NumericAddress{NumericAddress::Kind::kUnix, address.substr(5)};
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return unusable(address, "has no port");
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  in6_addr binary{};
  if (inet_pton(AF_INET, host.c_str(), &binary) == 1) return ipv4(host, port);
  if (inet_pton(AF_INET6, host.c_str(), &binary) == 1) return ipv6(host, port);

  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int problem = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (problem != 0) return unusable(address, gai_strerror(problem));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  char text[INET6_ADDRSTRLEN] = {};
  for (const int family : {AF_INET, AF_INET6}) {
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
      if (at->ai_family != family) continue;
      if (family == AF_INET) {
        const auto* in = reinterpret_cast<const sockaddr_in*>(at->ai_addr);
        inet_ntop(family, &in->sin_addr, text, sizeof text);
        return ipv4(text, port);
      }
      const auto* in = reinterpret_cast<const sockaddr_in6*>(at->ai_addr);
      inet_ntop(family, &in->sin6_addr, text, sizeof text);
      return ipv6(text, port);
    }
  }
  return unusable(address, "the host has no address");
}

}  // namespace sluice::net
