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

// The step's own limit of memory, else the job's on this node; 0: there is none.
[[nodiscard]] uint64_t memory_kib(const protocol::StepdStart& start,
                                  const protocol::StepLaunch& launch);

// What it may have where it is killed for more. 0: as much as it likes.
[[nodiscard]] MemoryUse memory_bounds(const protocol::StepdStart& start,
                                      const protocol::StepLaunch& launch);

// "exceeded memory limit (USED > LIMIT)", in bytes, or empty when it did not.
[[nodiscard]] std::string memory_excess(const MemoryUse& used, const MemoryUse& bounds);

}  // namespace sluice::stepd
