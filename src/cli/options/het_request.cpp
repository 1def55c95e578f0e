#include "cli/options/het_request.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

std::string group_variable(const char* name, uint32_t group) {
  const char* value = std::getenv(fmt::format("{}_HET_GROUP_{}", name, group).c_str());
  return value != nullptr ? value : "";
}

}  // namespace

std::optional<int> read_components(CommandSet command, int argc, char** argv,
                                   std::vector<OptionParser>& out) {
  std::vector<std::string> words(argv + 1, argv + argc);
  while (true) {
    OptionParser& parser = out.emplace_back(command);
    if (const auto status = parser.read_words(words)) return status;
    const std::vector<std::string> operands = parser.operands();
    auto cut = std::ranges::find(operands, ":");
    if (command != kSrun && cut != operands.begin()) cut = operands.end();
    if (cut == operands.end()) return std::nullopt;
    parser.set_operands({operands.begin(), cut});
    words.assign(cut + 1, operands.end());
  }
}

HetSurroundings het_surroundings() {
  HetSurroundings out;
  const char* text = std::getenv("SLURM_HET_SIZE");
  const uint32_t size = to_number<uint32_t>(text != nullptr ? text : "").value_or(0);
  for (uint32_t group = 0; group < size; ++group) {
    const auto job = to_number<JobId>(group_variable("SLURM_JOB_ID", group));
    if (!job) return {};  // a task of an srun that made the job itself is told of no components
    HetSurroundings::Component& component = out.components.emplace_back();
    component.job = *job;
    component.nodes = to_number<uint32_t>(group_variable("SLURM_JOB_NUM_NODES", group)).value_or(0);
    component.node_list = group_variable("SLURM_JOB_NODELIST", group);
    component.cpus = group_variable("SLURM_JOB_CPUS_PER_NODE", group);
  }
  return out;
}

PartPlaces place_parts(const std::vector<IndexSet>& said, size_t components) {
  PartPlaces out;
  IndexSet taken;
  for (size_t part = 0; part < said.size(); ++part) {
    IndexSet groups = said[part];
    if (groups.empty()) groups.insert(static_cast<uint32_t>(part));
    if (const uint32_t last = groups.back(); last >= components) {
      // there is none: who asks for it needs no others
      groups = {};
      groups.insert(last);
    }
    groups.for_each([&](uint32_t group) {
      if (taken.contains(group) && out.error.empty()) {
        out.error = "fatal: Duplicate het groups in single srun not supported";
      }
      taken.insert(group);
      out.places.push_back({part, group});
    });
  }
  std::ranges::stable_sort(out.places, {}, &PartPlace::group);
  const uint32_t highest = out.places.back().group;
  if (!out.error.empty() || highest < components) return out;
  const bool named =
      std::ranges::any_of(said, [&](const IndexSet& set) { return set.contains(highest); });
  out.error =
      named
          ? fmt::format("Requested het-group offset exceeds highest hetjob index ({} > {})",
                        highest, components - 1)
          : fmt::format(
                "Attempt to run a job step with het group value of {}, but the job allocation has "
                "maximum value of {}",
                highest, components - 1);
  return out;
}

std::string fault_without_components(const std::vector<IndexSet>& said) {
  if (std::ranges::all_of(said, [](const IndexSet& groups) { return groups.empty(); })) return {};
  const PartPlaces placed = place_parts(said, 1);
  return placed.error.empty()
             ? "No directives to start application on any available hetjob components"
             : placed.error;
}

}  // namespace sluice::cli
