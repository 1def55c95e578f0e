// How much of what it was given a job used: what seff and `sluice usage` say.
#pragma once

#include "cli/sacct/values.hpp"

namespace sluice::cli {

struct JobEfficiency {
  int64_t wall = 0, core_wall = 0, cpu_used = 0;  // seconds
  double memory_used = 0, memory_given = 0;       // KiB
  bool memory_estimated = false;                  // of the largest task, as often as there are any
  [[nodiscard]] double cpu_percent() const;       // 0 where nothing was given
  [[nodiscard]] double memory_percent() const;
};
[[nodiscard]] JobEfficiency job_efficiency(const protocol::HistoryJob& record,
                                           const SacctContext& context);

}  // namespace sluice::cli
