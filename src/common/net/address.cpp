#include "common/net/address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include <fmt/format.h>

#include "common/base/errno_text.hpp"
#include "common/os/clock.hpp"
#include "common/os/local_address.hpp"

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

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

template <class Sockaddr>
Sockaddr& as(SocketAddress& address) {
  address.size = sizeof(Sockaddr);
  return reinterpret_cast<Sockaddr&>(address.bytes);
}

// Errors: kUnreachable for a port that is no number, or a path that is too long.
Result<SocketAddress> socket_address(const NumericAddress& numeric, const std::string& address) {
  SocketAddress out;
  if (numeric.kind == NumericAddress::Kind::kUnix) {
    const auto local = local_address(numeric.text);
    if (!local) return unusable(address, "the path is too long");
    as<sockaddr_un>(out) = *local;
    return out;
  }
  const size_t colon = numeric.text.rfind(':');
  uint16_t port = 0;
  const char* digits = numeric.text.data() + colon + 1;
  const char* end = numeric.text.data() + numeric.text.size();
  if (std::from_chars(digits, end, port).ptr != end) return unusable(address, "has no port");
  if (numeric.kind == NumericAddress::Kind::kIpv4) {
    auto& v4 = as<sockaddr_in>(out);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    inet_pton(AF_INET, numeric.text.substr(0, colon).c_str(), &v4.sin_addr);
  } else {
    auto& v6 = as<sockaddr_in6>(out);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    inet_pton(AF_INET6, numeric.text.substr(1, colon - 2).c_str(), &v6.sin6_addr);
  }
  return out;
}

// 0, or why the connection did not come about.
int await_connection(int fd, SteadyTime until) {
  pollfd ready{fd, POLLOUT, 0};
  int got = 0;
  do {
    got = poll(&ready, 1, poll_timeout(until));
  } while ((got < 0 && errno == EINTR) || (got == 0 && steady_now() < until));
  if (got == 0) return ETIMEDOUT;
  int problem = 0;
  socklen_t size = sizeof problem;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size) != 0) return errno;
  return problem;
}

}  // namespace

int poll_timeout(SteadyTime until) {
  const Duration left = std::min<Duration>(until - steady_now(), std::chrono::hours(1));
  if (left <= Duration(0)) return 0;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

Result<int> connect_to(const std::string& address, SteadyTime until) {
  const Result<NumericAddress> numeric = resolve(address);
  if (!numeric) return tl::unexpected<Error>(numeric.error());
  const Result<SocketAddress> peer = socket_address(*numeric, address);
  if (!peer) return tl::unexpected<Error>(peer.error());
  const int fd = socket(peer->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return unusable(address, errno_text(errno));
  const int one = 1;
  if (numeric->kind != NumericAddress::Kind::kUnix)
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  int problem = 0;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&peer->bytes), peer->size) != 0)
    problem = errno;
  if (problem == EINPROGRESS || problem == EINTR) problem = await_connection(fd, until);
  if (problem == 0) return fd;
  close(fd);
  return unusable(address, errno_text(problem));
}

bool leaves_host(int fd) {
  SocketAddress own;
  SocketAddress peer;
  own.size = peer.size = sizeof own.bytes;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own.bytes), &own.size) != 0) return true;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer.bytes), &peer.size) != 0) return true;
  if (peer.bytes.ss_family == AF_UNIX) return false;
  if (peer.bytes.ss_family == AF_INET6) {
    const in6_addr& to = reinterpret_cast<const sockaddr_in6&>(peer.bytes).sin6_addr;
    const in6_addr& from = reinterpret_cast<const sockaddr_in6&>(own.bytes).sin6_addr;
    return !IN6_IS_ADDR_LOOPBACK(&to) && !IN6_ARE_ADDR_EQUAL(&to, &from);
  }
  const in_addr_t to = reinterpret_cast<const sockaddr_in&>(peer.bytes).sin_addr.s_addr;
  const in_addr_t from = reinterpret_cast<const sockaddr_in&>(own.bytes).sin_addr.s_addr;
  return ntohl(to) >> IN_CLASSA_NSHIFT != IN_LOOPBACKNET && to != from;
}

Result<ListeningSocket> listen_at(const NumericAddress& numeric, const std::string& address) {
  const Result<SocketAddress> own = socket_address(numeric, address);
  if (!own) return tl::unexpected<Error>(own.error());
  const int fd = socket(own->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int one = 1;
  SocketAddress bound;
  bound.size = sizeof bound.bytes;
  bool good = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0;
  good = good && bind(fd, reinterpret_cast<const sockaddr*>(&own->bytes), own->size) == 0 &&
         listen(fd, SOMAXCONN) == 0;
  good = good && getsockname(fd, reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size) == 0;
  const int problem = errno;
  if (good) {
    const bool v6 = bound.bytes.ss_family == AF_INET6;
    const auto* generic = &bound.bytes;
    const uint16_t port = v6 ? reinterpret_cast<const sockaddr_in6*>(generic)->sin6_port
                             : reinterpret_cast<const sockaddr_in*>(generic)->sin_port;
    return ListeningSocket{fd, ntohs(port)};
  }
  if (fd >= 0) close(fd);
  const char* why = errno_text(problem);
  if (problem == EADDRINUSE) why = "another process listens there (`ss -ltnp` says which)";
  if (problem == EADDRNOTAVAIL) why = "it is no address of this host";
  if (problem == EACCES) why = "ports below 1024 are root's";
  return failure(ErrorCode::kError, fmt::format("{}: {}", address, why));
}

Status can_listen(const std::string& address) {
  const Result<NumericAddress> numeric = resolve(address);
  if (!numeric) return tl::unexpected<Error>(numeric.error());
  const Result<ListeningSocket> socket = listen_at(*numeric, address);
  if (!socket) return tl::unexpected<Error>(socket.error());
  close(socket->fd);
  return {};
}

bool is_own_address(const std::string& host) {
  const Result<NumericAddress> numeric = resolve(host + ":0");
  return numeric && can_listen(numeric->text).has_value();
}

Result<std::string> address_towards(const std::string& host) {
  const Result<NumericAddress> numeric = resolve(host + ":9");
  if (!numeric) return tl::unexpected<Error>(numeric.error());
  if (numeric->kind != NumericAddress::Kind::kIpv4) return unusable(host, "has no IPv4 address");
  const Result<SocketAddress> peer = socket_address(*numeric, host);
  if (!peer) return tl::unexpected<Error>(peer.error());
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return unusable(host, errno_text(errno));
  sockaddr_in own{};
  socklen_t size = sizeof own;
  const bool known =
      connect(fd, reinterpret_cast<const sockaddr*>(&peer->bytes), peer->size) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  const int problem = errno;
  close(fd);
  if (!known) return unusable(host, errno_text(problem));
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &own.sin_addr, text, sizeof text);
  return std::string(text);
}

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
  if (problem != 0)
    return failure(ErrorCode::kUnreachable,
                   fmt::format("{} \"{}\": {}", kUnresolved, host, gai_strerror(problem)));
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
