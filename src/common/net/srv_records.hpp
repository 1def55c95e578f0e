// Controllers that the DNS names, for who has no slurm.conf and was told of none: SRV records of
// _slurmctld._tcp (RFC 2782).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::net {

struct SrvRecord {
  uint16_t priority = 0;  // the lowest is asked first
  uint16_t weight = 0;    // of those of one priority: how often it is the first
  uint16_t port = 0;
  std::string host;
  friend bool operator==(const SrvRecord&, const SrvRecord&) = default;
};

// The SRV records of an answer as it came. What makes no sense ends it: those before count.
[[nodiscard]] std::vector<SrvRecord> parse_srv_answer(std::string_view message);

// "HOST:PORT" in the order in which they are to be asked. `draw(n)` gives a number from 0 to n,
// both included, by chance.
[[nodiscard]] std::vector<std::string> order_servers(std::vector<SrvRecord> records,
                                                     const std::function<uint64_t(uint64_t)>& draw);

// Asks in the search domains of resolv.conf, in their order, up to one that has such records.
// Empty: none has.
[[nodiscard]] std::vector<std::string> controllers_in_dns();

}  // namespace sluice::net
