// The processes of a step: everything below the step daemon, which adopts orphans (it is their
// subreaper), so that nothing a task leaves behind gets away.
#pragma once

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace sluice::stepd {

// Children, their children and so on of `root`, in no order; `root` itself is not among them.
// Zombies are.
[[nodiscard]] std::vector<pid_t> descendants(pid_t root);

// Sends `signal` to everything below this process. A process that is being born meanwhile may be
// missed: killing repeats until nothing is left.
void signal_descendants(int signal);

// Memory of `pids` in KiB now: sums over the processes.
struct MemoryUse {
  uint64_t rss_kib = 0;
  uint64_t vsize_kib = 0;
};
[[nodiscard]] MemoryUse memory_of(const std::vector<pid_t>& pids);

}  // namespace sluice::stepd
