// JobAcctGatherParams=OverMemoryKill: how much memory a step may use on its node, by what the
// samples show.
#pragma once

#include <cstdint>
#include <string>

#include "common/protocol/noded.hpp"
#include "common/protocol/stepd_start.hpp"

namespace sluice::stepd {

struct MemoryUse {
  uint64_t rss_kib = 0;
  uint64_t vsize_kib = 0;
};

// What it may have: its own limit, else the job's. 0: as much as it likes.
[[nodiscard]] MemoryUse memory_bounds(const protocol::StepdStart& start,
                                      const protocol::StepLaunch& launch);

// "exceeded memory limit (USED > LIMIT)", in bytes, or empty when it did not.
[[nodiscard]] std::string memory_excess(const MemoryUse& used, const MemoryUse& bounds);

}  // namespace sluice::stepd
