// What the last runs of a job say about what the next one asks for: `sbatch` tells it after a
// submission. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/sacct/values.hpp"

namespace sluice::cli {

// What the job that was submitted asks for; 0: nothing, or unknown.
struct AskedResources {
  uint64_t memory_mib = 0;  // in all
  uint32_t cpus = 0;
  Minutes time_limit = 0;
};

inline constexpr size_t kRunsForAdvice = 20;  // the newest
inline constexpr size_t kLeastRuns = 3;

// A line for each of memory, CPUs and time of which all runs used less than half (of the time less
// than a quarter): "your last 20 runs used at most 3 GB of 64 GB". Runs of which nothing was
// measured, or that did not end by themselves, are left out.
[[nodiscard]] std::vector<std::string> advice_for(const AskedResources& asked,
                                                  const std::vector<protocol::HistoryJob>& runs,
                                                  const SacctContext& context);
// Of "cpu=4,mem=64G,node=1,billing=4", as the controller shows what a job asks for.
[[nodiscard]] AskedResources asked_resources(const std::string& tres, Minutes time_limit);

// Jobs whose name says nothing of what they run: of these it takes the same command line.
[[nodiscard]] bool is_named_by_sbatch(std::string_view name);

}  // namespace sluice::cli
