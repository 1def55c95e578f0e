#include "common/rpc/connection_quota.hpp"

#include <netinet/in.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "common/os/clock.hpp"

namespace sluice::net {
namespace {

constexpr size_t kLeastReserve = 64;  // descriptors
constexpr Duration kBetweenRecounts = std::chrono::milliseconds(100);
constexpr size_t kPortBytes = sizeof(in_port_t);

size_t within_descriptors(size_t most) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most;
  const size_t all = limit.rlim_cur;
  const size_t reserve = std::max(kLeastReserve, all / 8);
  return std::min(most, all > 2 * reserve ? all - reserve : all / 2);
}

// Port and address as bytes; without a port where it is no connection of an IP network.
std::string name_of(const sockaddr_storage& peer) {
  const auto bytes = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    return bytes(v4.sin_port) + bytes(v4.sin_addr);
  }
  if (peer.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
    return bytes(v6.sin6_port) + bytes(v6.sin6_addr);
  }
  return std::string(kPortBytes, '\0');
}

std::string host_in(const std::string& name) { return name.substr(kPortBytes); }

}  // namespace

ConnectionQuota::ConnectionQuota(size_t most, size_t most_of_host)
    : most_(within_descriptors(most)), most_of_host_(std::min(most_of_host, most_)) {}

ConnectionQuota::Verdict ConnectionQuota::take(int fd, const sockaddr_storage& peer) {
  const auto at = static_cast<size_t>(fd);
  const std::lock_guard lock(mutex_);
  if (at < peers_.size()) forget(at);
  // the lowest number that is free: there are as many descriptors
  if (at >= most_) return Verdict::kTooMany;
  std::string name = name_of(peer);
  const std::string host = host_in(name);
  const auto full = [&] {
    const auto found = counts_.find(host);
    return found != counts_.end() && found->second >= most_of_host_;
  };
  if (full()) recount(host, steady_now());
  if (full()) return Verdict::kTooManyOfHost;
  if (at >= peers_.size()) peers_.resize(at + 1);
  peers_[at] = std::move(name);
  ++counts_[host];
  return Verdict::kTaken;
}

void ConnectionQuota::forget(size_t fd) {
  if (peers_[fd].empty()) return;
  const auto found = counts_.find(host_in(peers_[fd]));
  if (--found->second == 0) counts_.erase(found);
  peers_[fd].clear();
}

// Connections that ended and whose numbers have not come again.
void ConnectionQuota::recount(const std::string& host, SteadyTime now) {
  if (now < recounted_ + kBetweenRecounts) return;
  recounted_ = now;
  for (size_t fd = 0; fd < peers_.size(); ++fd) {
    if (peers_[fd].empty() || host_in(peers_[fd]) != host) continue;
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const bool same =
        ::getpeername(static_cast<int>(fd), reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        name_of(peer) == peers_[fd];
    if (!same) forget(fd);
  }
}

}  // namespace sluice::net
