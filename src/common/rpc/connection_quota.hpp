// How many connections a server has, by the hosts that they come from. gRPC takes connections over
// and says nothing when it closes one, so what is known is which connection had which descriptor
// last: the kernel gives the lowest number that is free, and a number that comes again is a
// connection that ended. Thread-safe. Internal to rpc.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/socket.h>

#include "common/base/time.hpp"

namespace sluice::net {

class ConnectionQuota {
 public:
  // `most` in all, `most_of_host` from one address. Fewer where the process may not have so many
  // descriptors: some are kept free for files and for what the daemon itself opens.
  ConnectionQuota(size_t most, size_t most_of_host);

  enum class Verdict { kTaken, kTooMany, kTooManyOfHost };
  // `fd` was accepted from `peer` just now. Who is not taken is to be closed.
  [[nodiscard]] Verdict take(int fd, const sockaddr_storage& peer);

 private:
  void forget(size_t fd);
  void recount(const std::string& host, SteadyTime now);

  const size_t most_;
  const size_t most_of_host_;
  std::mutex mutex_;
  std::vector<std::string> peers_;                  // by descriptor: address and port; empty: none
  std::unordered_map<std::string, size_t> counts_;  // by address
  SteadyTime recounted_{};
};

}  // namespace sluice::net
