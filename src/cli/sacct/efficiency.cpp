#include "cli/sacct/efficiency.hpp"

#include <algorithm>

namespace sluice::cli {

double JobEfficiency::cpu_percent() const {
  if (core_wall <= 0) return 0;
  return 100 * static_cast<double>(cpu_used) / static_cast<double>(core_wall);
}

double JobEfficiency::memory_percent() const {
  return memory_given > 0 ? 100 * memory_used / memory_given : 0;
}

JobEfficiency job_efficiency(const protocol::HistoryJob& record, const SacctContext& context) {
  JobEfficiency out;
  out.wall = to_seconds(sacct_elapsed({record, nullptr}, context));
  out.core_wall = out.wall * record.job.cpus;
  const UsageHistory usage = sacct_usage(record);
  out.cpu_used = to_seconds(usage.user_cpu + usage.system_cpu);
  // the most that a step can have used at once: its largest task, as often as it has tasks
  for (const StepHistory& step : record.steps) {
    const double use = static_cast<double>(step.usage.memory.max) / 1024 * std::max(1U, step.tasks);
    if (use <= out.memory_used) continue;
    out.memory_used = use;
    out.memory_estimated = step.tasks > 1;
  }
  out.memory_given = static_cast<double>(count_of_tres(record.job.allocated_tres, "mem")) * 1024;
  return out;
}

}  // namespace sluice::cli
