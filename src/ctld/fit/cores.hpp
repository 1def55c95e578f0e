// Which of a node's free cores a job has.
#pragma once

#include <cstdint>

#include "ctld/fit/place.hpp"

namespace sluice::fit {

// Threads of a core that the job may use.
[[nodiscard]] uint32_t used_threads(const Needs& needs, const NodeConfig& config);

// Tasks that --ntasks-per-socket lets run on the free cores.
[[nodiscard]] uint32_t tasks_by_socket(const Needs& needs, const Room& room);

[[nodiscard]] Bitmap choose_cores(const Needs& needs, const Room& room, uint32_t cores, Unit unit);

}  // namespace sluice::fit
