// The clocks, for daemons' edges; the core is passed its time.
#pragma once

#include "common/base/time.hpp"

namespace sluice::net {

[[nodiscard]] inline Time now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

[[nodiscard]] inline SteadyTime steady_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

}  // namespace sluice::net
