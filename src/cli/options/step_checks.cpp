#include "cli/options/step_checks.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"

namespace sluice::cli {
namespace {

using Names = std::vector<std::string>;

Names names_of(std::string_view list) { return expand_hosts(list).value_or(Names()); }

bool among(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// What --exclude leaves is too little.
Names exclusion_faults(const JobSpec& job, const Names& nodes) {
  const Names excluded = names_of(job.excluded_nodes);
  for (const std::string& name : names_of(job.required_nodes)) {
    if (!among(excluded, name)) continue;
    return {fmt::format("Requested node {} is also in the excluded list.", name),
            "Job not submitted."};
  }
  const auto left = static_cast<uint32_t>(std::ranges::count_if(
      nodes, [&](const std::string& name) { return !among(excluded, name); }));
  if (left == nodes.size()) return {};
  if (left == 0) return {"Hostlist is empty!  Can't run job."};
  if (job.min_nodes <= left) return {};
  return {fmt::format("Only allocated {} nodes asked for {}", left, job.min_nodes),
          "Are required nodes explicitly excluded?"};
}

}  // namespace

Names step_faults(const Submission& submission, uint32_t nodes, std::string_view node_list) {
  const JobSpec& job = submission.job;
  const uint32_t wanted = job.min_nodes;
  const uint32_t from = submission.step.relative;
  if (from != UINT32_MAX && !(job.required_nodes.empty() && job.excluded_nodes.empty())) {
    return {"-r,--relative not allowed with -w,--nodelist or -x,--exclude."};
  }
  if (from != UINT32_MAX && from + uint64_t{wanted} > nodes) {
    const bool inherited = submission.settings.nodes_inherited && wanted == nodes;
    return {
        fmt::format("--relative and {} option incompatible with count of allocated nodes "
                    "({}+{}>{})",
                    inherited ? "SLURM_JOB_NUM_NODES" : "--nodes", from, wanted, nodes)};
  }
  if (wanted > nodes) {
    return {fmt::format("Only allocated {} nodes asked for {}", nodes, wanted)};
  }
  return exclusion_faults(job, names_of(node_list));
}

}  // namespace sluice::cli
