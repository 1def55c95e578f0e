#include "stepd/binding/memory_bounds.hpp"

#include <fmt/format.h>

#include "common/base/bounded.hpp"

namespace sluice::stepd {

uint64_t memory_kib(const protocol::StepdStart& start, const protocol::StepLaunch& launch) {
  const uint64_t own = step_memory_mib(launch, start.node_index);
  return bounded_product(own != 0 ? own : job_memory_mib(launch, start.node_name), 1024);
}

MemoryUse memory_bounds(const protocol::StepdStart& start, const protocol::StepLaunch& launch) {
  if (!start.over_memory_kill) return {};
  const uint64_t kib = memory_kib(start, launch);
  return {kib, bounded_product(kib, start.vsize_factor) / 100};
}

std::string memory_excess(const MemoryUse& used, const MemoryUse& bounds) {
  const auto words = [](const char* what, uint64_t used_kib, uint64_t limit_kib) {
    return fmt::format("exceeded {} limit ({} > {})", what, bounded_product(used_kib, 1024),
                       bounded_product(limit_kib, 1024));
  };
  if (bounds.rss_kib != 0 && used.rss_kib > bounds.rss_kib)
    return words("memory", used.rss_kib, bounds.rss_kib);
  if (bounds.vsize_kib == 0 || used.vsize_kib <= bounds.vsize_kib) return {};
  return words("virtual memory", used.vsize_kib, bounds.vsize_kib);
}

}  // namespace sluice::stepd
