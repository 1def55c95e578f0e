// How many connections a server has, by the hosts that they come from, and who has to go when there
// is no room for another: the oldest on which nobody has proved yet who he is, else the oldest of
// the user who has most, where he has more than his part. So whoever opens as many as he can keeps
// nobody away who has a token: a client has as long to show it as a flood takes to fill a host's
// room. gRPC takes connections over and says nothing when it closes one, so
// what is known is which connection had which descriptor last: the kernel gives the lowest number
// that is free, and a number that comes again is a connection that ended. Thread-safe. Internal to
// rpc.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/socket.h>

#include "common/base/time.hpp"

namespace sluice::net {

class ConnectionQuota {
 public:
  // `most` in all, `most_of_host` from one address. Fewer where the process may not have so many
  // descriptors: some are kept free for files and for what the daemon itself opens. Whoever is sent
  // away is told why where it is plain HTTP/2 that is spoken.
  ConnectionQuota(size_t most, size_t most_of_host, bool plain = true);

  enum class Verdict { kTaken, kTooMany, kTooManyOfHost };
  // `fd` was accepted from `peer` just now. Another may have been shut down for it. Who is not
  // taken is to be closed.
  [[nodiscard]] Verdict take(int fd, const sockaddr_storage& peer);
  // Descriptors are as many as may be: who closes those that were shut down needs some time.
  [[nodiscard]] bool is_crowded(int fd) const { return static_cast<size_t>(fd) >= most_; }

  // Who is to be closed is told why.
  void send_away(int fd, std::string_view why) const;
  // Its address, as bytes.
  [[nodiscard]] static std::string host_of(const sockaddr_storage& peer);

  // A call of `peer`, as gRPC names it, has a valid token of `user`; kPrivileged may have as many
  // connections as there is room for. False: it was shut down before, and its client knows that
  // nothing was done.
  using Owner = uint64_t;
  static constexpr Owner kPrivileged = uint64_t{1} << 33;
  [[nodiscard]] bool prove(std::string_view peer, Owner user);

 private:
  static constexpr Owner kUnproved = kPrivileged + 1;
  struct Connection {
    std::string name;  // port and address; empty: there is none
    Owner owner = kUnproved;
    uint64_t number = 0;                // in the order of their coming
    std::list<size_t>::iterator place;  // among its owner's
  };
  using Owned = std::list<size_t>;  // descriptors, oldest first
  struct Host {
    size_t count = 0;
    std::unordered_map<Owner, Owned> owned;  // no list is empty
  };
  using Hosts = std::unordered_map<std::string, Host>;

  [[nodiscard]] bool is_full(const std::string& host) const;
  [[nodiscard]] bool has_room(const std::string& host);
  [[nodiscard]] bool has_descriptor(size_t fd);
  [[nodiscard]] const Owned* who_gives(const Host& host) const;
  void drop(size_t oldest, std::string_view why);
  void give_to(size_t fd, Owner owner);
  void take_from_owner(size_t fd);
  void forget(size_t fd);
  void recount(const std::string& host, SteadyTime now);
  [[nodiscard]] bool is_open(size_t fd) const;
  void tell(int fd, std::string_view why) const;

  const size_t most_;
  const size_t most_ever_;  // while others are being closed
  const size_t most_of_host_;
  const bool plain_;
  std::mutex mutex_;
  std::vector<Connection> connections_;  // by descriptor
  // by name, which two ports of ours may share
  std::unordered_multimap<std::string, size_t> by_name_;
  Hosts hosts_;  // by address
  uint64_t taken_ = 0;
  SteadyTime recounted_{};
};

}  // namespace sluice::net
