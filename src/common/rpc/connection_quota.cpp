#include "common/rpc/connection_quota.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "common/base/text.hpp"
#include "common/os/back_off.hpp"
#include "common/os/clock.hpp"
#include "common/rpc/guard/connection_guard.hpp"

namespace sluice::net {
namespace {

constexpr size_t kLeastReserve = 64;  // descriptors
constexpr Duration kBetweenRecounts = std::chrono::milliseconds(100);
constexpr size_t kParts = 16;  // a user may have this part of a host's room before he gives back
constexpr size_t kPortBytes = sizeof(in_port_t);

// of what is kept free, a part is for those that are being closed
size_t reserve_of(size_t all) { return std::max(kLeastReserve, all / 8); }

size_t within_descriptors(size_t most) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most;
  const size_t all = limit.rlim_cur;
  const size_t reserve = reserve_of(all);
  return std::min(most, all > 2 * reserve ? all - reserve : all / 2);
}

template <class Value>
std::string bytes_of(const Value& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// Port and address as bytes, those of IPv4 within IPv6 as what they are.
std::string name_of(in_port_t port, const in6_addr& address) {
  if (!IN6_IS_ADDR_V4MAPPED(&address)) return bytes_of(port) + bytes_of(address);
  in_addr v4{};
  std::memcpy(&v4, &address.s6_addr[12], sizeof v4);
  return bytes_of(port) + bytes_of(v4);
}

// Without a port where it is no connection of an IP network.
std::string name_of(const sockaddr_storage& peer) {
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    return bytes_of(v4.sin_port) + bytes_of(v4.sin_addr);
  }
  if (peer.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
    return name_of(v6.sin6_port, v6.sin6_addr);
  }
  return std::string(kPortBytes, '\0');
}

// Of "ipv4:10.0.0.1:4242" and "ipv6:%5Bfe80::1%25eth0%5D:4242"; empty for all else.
std::string name_of(std::string_view peer) {
  constexpr std::string_view kV4 = "ipv4:", kV6 = "ipv6:%5B";
  const bool is_v4 = peer.starts_with(kV4);
  if (!is_v4 && !peer.starts_with(kV6)) return {};
  peer.remove_prefix(is_v4 ? kV4.size() : kV6.size());
  const auto number = to_number<uint16_t>(peer.substr(peer.rfind(':') + 1));
  const std::string host(peer.substr(0, peer.find(is_v4 ? ':' : '%')));
  if (!number) return {};
  const in_port_t port = htons(*number);
  in_addr v4{};
  in6_addr v6{};
  if (is_v4 && inet_pton(AF_INET, host.c_str(), &v4) == 1) return bytes_of(port) + bytes_of(v4);
  if (!is_v4 && inet_pton(AF_INET6, host.c_str(), &v6) == 1) return name_of(port, v6);
  return {};
}

std::string host_in(const std::string& name) { return name.substr(kPortBytes); }

// SETTINGS, which are the first that a client takes, and GOAWAY, which says that no call of its was
// looked at (RFC 9113, 6.5 and 6.8).
std::string farewell(std::string_view why) {
  constexpr std::array<uint8_t, 9> kSettings{0, 0, 0, 4, 0, 0, 0, 0, 0};
  constexpr uint8_t kGoAway = 7, kEnhanceYourCalm = 11;
  const auto size = static_cast<uint8_t>(8 + why.size());
  const std::array<uint8_t, 17> head{0, 0, size, kGoAway,         0, 0, 0, 0, 0, 0, 0, 0, 0,
                                     0, 0, 0,    kEnhanceYourCalm};
  return bytes_of(kSettings) + bytes_of(head) + std::string(why);
}

}  // namespace

ConnectionQuota::ConnectionQuota(size_t most, size_t most_of_host, bool plain)
    : most_(within_descriptors(most)),
      most_ever_(most_ + reserve_of(most_) / 2),
      most_of_host_(std::min(most_of_host, most_)),
      plain_(plain) {}

ConnectionQuota::Verdict ConnectionQuota::take(int fd, const sockaddr_storage& peer) {
  const auto at = static_cast<size_t>(fd);
  const std::lock_guard lock(mutex_);
  if (at < connections_.size()) forget(at);
  if (at >= most_ && !has_descriptor(at)) return send_away(fd, kCrowded), Verdict::kTooMany;
  std::string name = name_of(peer);
  const std::string host = host_in(name);
  if (!has_room(host)) return send_away(fd, kCrowdedHost), Verdict::kTooManyOfHost;
  if (at >= connections_.size()) connections_.resize(at + 1);
  ++hosts_[host].count;
  by_name_.emplace(name, at);
  connections_[at] = {std::move(name), kUnproved, ++taken_, {}};
  give_to(at, kUnproved);
  return Verdict::kTaken;
}

std::string ConnectionQuota::host_of(const sockaddr_storage& peer) {
  return host_in(name_of(peer));
}

bool ConnectionQuota::prove(std::string_view peer, Owner user) {
  const std::string name = name_of(peer);
  if (name.empty()) return true;  // of this host's own, by a Unix socket
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = by_name_.equal_range(name);
  for (auto found = begin; found != end; ++found) {
    if (connections_[found->second].owner == user) continue;
    take_from_owner(found->second);
    give_to(found->second, user);
    trust_connection(static_cast<int>(found->second),
                     user == kPrivileged ? Trust::kPrivileged : Trust::kUser);
  }
  return begin != end;
}

void ConnectionQuota::give_to(size_t fd, Owner owner) {
  Connection& connection = connections_[fd];
  Owned& owned = hosts_[host_in(connection.name)].owned[owner];
  connection.owner = owner;
  connection.place = owned.insert(owned.end(), fd);
}

void ConnectionQuota::take_from_owner(size_t fd) {
  const Connection& connection = connections_[fd];
  auto& lists = hosts_[host_in(connection.name)].owned;
  const auto owned = lists.find(connection.owner);
  owned->second.erase(connection.place);
  if (owned->second.empty()) lists.erase(owned);
}

bool ConnectionQuota::is_full(const std::string& host) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() && found->second.count >= most_of_host_;
}

bool ConnectionQuota::has_room(const std::string& host) {
  if (is_full(host)) recount(host, steady_now());
  if (!is_full(host)) return true;
  const Owned* gives = who_gives(hosts_[host]);
  if (gives == nullptr) return false;
  drop(gives->front(), kCrowdedHost);
  return true;
}

// Of whose connections at a host the oldest goes; null: of nobody's.
const ConnectionQuota::Owned* ConnectionQuota::who_gives(const Host& host) const {
  if (const auto unproved = host.owned.find(kUnproved); unproved != host.owned.end())
    return &unproved->second;
  const Owned* most = nullptr;
  for (const auto& [owner, owned] : host.owned) {
    if (owner == kPrivileged || owned.size() <= most_of_host_ / kParts) continue;
    if (most == nullptr || owned.size() > most->size()) most = &owned;
  }
  return most;
}

// The number given is the lowest that is free: there are as many descriptors. The host that has
// most of those that prove nothing gives one back, else the user who has most.
bool ConnectionQuota::has_descriptor(size_t fd) {
  while (true) {
    const Owned* most = nullptr;
    const auto rank = [this](const Owned& owned) {
      const Connection& oldest = connections_[owned.front()];
      return std::tuple(oldest.owner == kUnproved, owned.size(), ~oldest.number);
    };
    for (const auto& [name, host] : hosts_) {
      const Owned* gives = who_gives(host);
      if (gives == nullptr) continue;
      if (most == nullptr || rank(*gives) > rank(*most)) most = gives;
    }
    if (most == nullptr) return false;
    const size_t oldest = most->front();
    const bool open = is_open(oldest);
    drop(oldest, kCrowded);
    if (open) return fd < most_ever_;
  }
}

void ConnectionQuota::drop(size_t oldest, std::string_view why) {
  if (is_open(oldest)) {
    tell(static_cast<int>(oldest), why);
    ::shutdown(static_cast<int>(oldest), SHUT_RDWR);  // who has it finds its end, and closes it
  }
  forget(oldest);
}

void ConnectionQuota::tell(int fd, std::string_view why) const {
  if (!plain_) return;
  const std::string bytes = farewell(why);
  (void)::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// What has come is dropped: to close a socket with bytes that nobody read resets it, and its peer
// may lose what it was told.
void ConnectionQuota::send_away(int fd, std::string_view why) const {
  constexpr size_t kMost = size_t{64} << 10;
  tell(fd, why);
  (void)::recv(fd, nullptr, kMost, MSG_TRUNC | MSG_DONTWAIT);
}

void ConnectionQuota::forget(size_t fd) {
  Connection& gone = connections_[fd];
  if (gone.name.empty()) return;
  take_from_owner(fd);
  const auto host = hosts_.find(host_in(gone.name));
  if (--host->second.count == 0) hosts_.erase(host);
  const auto [begin, end] = by_name_.equal_range(gone.name);
  by_name_.erase(std::find_if(begin, end, [fd](const auto& one) { return one.second == fd; }));
  gone.name.clear();
}

// Connections that ended and whose numbers have not come again.
void ConnectionQuota::recount(const std::string& host, SteadyTime now) {
  if (now < recounted_ + kBetweenRecounts) return;
  recounted_ = now;
  for (size_t fd = 0; fd < connections_.size(); ++fd) {
    const std::string& name = connections_[fd].name;
    if (!name.empty() && host_in(name) == host && !is_open(fd)) forget(fd);
  }
}

bool ConnectionQuota::is_open(size_t fd) const {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  return ::getpeername(static_cast<int>(fd), reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
         name_of(peer) == connections_[fd].name;
}

}  // namespace sluice::net
