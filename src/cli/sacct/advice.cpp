#include "cli/sacct/advice.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/sacct/efficiency.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"

namespace sluice::cli {
namespace {

constexpr double kMibPerGib = 1024;
constexpr uint64_t kLeastMemory = 1024;         // MiB that would be free for others
constexpr int64_t kLeastWall = 60;              // seconds; a start has its own rhythm
constexpr std::chrono::minutes kLeastTime(30);  // that a limit is too long by

struct MostUsed {
  size_t runs = 0, long_runs = 0;
  double memory_mib = 0;
  double busy_cpus = 0;
  int64_t wall = 0;  // seconds
};

bool is_measured(const protocol::HistoryJob& run) {
  return run.job.state == JobState::kCompleted && (run.job.flags & kJobRequeued) == 0 &&
         run.job.start != kNoTime && run.job.end != kNoTime &&
         std::ranges::any_of(run.steps, [](const StepHistory& s) { return s.usage.tasks > 0; });
}

MostUsed most_used(const std::vector<protocol::HistoryJob>& runs, const SacctContext& context) {
  MostUsed most;
  for (const protocol::HistoryJob& run : runs) {
    if (most.runs == kRunsForAdvice || !is_measured(run)) continue;
    const JobEfficiency used = job_efficiency(run, context);
    ++most.runs;
    most.memory_mib = std::max(most.memory_mib, used.memory_used / kMibPerGib);  // of KiB
    most.wall = std::max(most.wall, used.wall);
    if (used.wall < kLeastWall) continue;
    ++most.long_runs;
    most.busy_cpus = std::max(most.busy_cpus,
                              static_cast<double>(used.cpu_used) / static_cast<double>(used.wall));
  }
  return most;
}

// "0.2 GB", "3 GB", "640 MB"
std::string memory_words(double mebibytes) {
  const double whole = std::ceil(mebibytes);
  if (whole < kMibPerGib) return fmt::format("{:.0f} MB", std::max(1.0, whole));
  const double tenths = std::ceil(mebibytes / kMibPerGib * 10) / 10;
  return tenths == std::floor(tenths) ? fmt::format("{:.0f} GB", tenths)
                                      : fmt::format("{:.1f} GB", tenths);
}

// "3000M", "1.50G"
uint64_t mebibytes_of(const std::string& text) {
  constexpr std::string_view kUnits = "MGTPE";
  const size_t unit = text.empty() ? std::string::npos : kUnits.find(text.back());
  if (unit == std::string_view::npos) return 0;
  const auto value = to_number<double>(std::string_view(text).substr(0, text.size() - 1));
  double mebibytes = value.value_or(0);
  for (size_t i = 0; i < unit; ++i) mebibytes *= kMibPerGib;
  return mebibytes >= 0 && mebibytes < 1e18 ? static_cast<uint64_t>(mebibytes) : 0;
}

}  // namespace

std::vector<std::string> advice_for(const AskedResources& asked,
                                    const std::vector<protocol::HistoryJob>& runs,
                                    const SacctContext& context) {
  const MostUsed most = most_used(runs, context);
  std::vector<std::string> lines;
  if (most.runs < kLeastRuns) return lines;
  const auto memory = static_cast<double>(asked.memory_mib);
  if (2 * most.memory_mib < memory && memory - most.memory_mib >= kLeastMemory)
    lines.push_back(fmt::format("your last {} runs used at most {} of {} (--mem)", most.runs,
                                memory_words(most.memory_mib), memory_words(memory)));
  if (most.long_runs >= kLeastRuns && asked.cpus > 1 && 2 * most.busy_cpus < asked.cpus)
    lines.push_back(fmt::format("your last {} runs kept at most {:.1f} of {} CPUs busy",
                                most.long_runs, most.busy_cpus, asked.cpus));
  const std::chrono::seconds wall(most.wall), limit(int64_t{60} * asked.time_limit);
  const bool limited = asked.time_limit != 0 && asked.time_limit != kInfiniteMinutes;
  if (limited && 4 * wall < limit && limit - wall >= kLeastTime)
    lines.push_back(fmt::format("your last {} runs took at most {} of {} (--time)", most.runs,
                                format_span(wall), format_span(limit)));
  return lines;
}

AskedResources asked_resources(const std::string& tres, Minutes time_limit) {
  AskedResources asked;
  asked.time_limit = time_limit;
  for (const std::string& item : split_list(tres)) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos) continue;
    const std::string value = item.substr(equals + 1);
    if (item.starts_with("cpu=")) asked.cpus = to_number<uint32_t>(value).value_or(0);
    if (item.starts_with("mem=")) asked.memory_mib = mebibytes_of(value);
  }
  return asked;
}

bool is_named_by_sbatch(std::string_view name) { return name == "wrap" || name == "sbatch"; }

}  // namespace sluice::cli
