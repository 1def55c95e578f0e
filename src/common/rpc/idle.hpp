// What gRPC costs while there is nothing to do. By itself it wakes up ten times a second in each
// process; a host may have hundreds of agents.
//
// - The threads of its callback API ask their queue for a second at a time and sleep 100 ms in
// between. Nothing needs that:
//   the queue wakes them. Here they wait without a limit, in every process.
// - Its timers look once a second or more at each of their lists, empty or not. In a process that
// called rest_when_idle()
//   they look every kRest only, until a call is under way. What runs late then by as much: probes
//   of silent connections, the ends of handshakes that nobody finishes. Deadlines of calls are
//   exact.
// - Its event engine has timers of the same kind. One of ours, without a tick, takes its place
// there.
//
// The linker has gRPC's calls of two of its functions come here (--wrap, SluiceDependencies.cmake).
#pragma once

#include "common/base/time.hpp"

namespace sluice::net {

inline constexpr Duration kRest = std::chrono::seconds(10);

// Before gRPC is used, by one thread. For daemons that do nothing most of the time.
void rest_when_idle();

// For as long as one of these lives, timers are exact.
class UnderWay {
 public:
  UnderWay();
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay();
};

}  // namespace sluice::net
