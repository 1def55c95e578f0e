// Heterogeneous jobs on command lines: options of several components with ":" between them, and the
// components that an srun inside such a job names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/option_parser.hpp"

namespace sluice::cli {

// Reads the command line: one parser a component, each with the operands that are its own. sbatch
// and salloc take a ":" after options only, for their scripts and programs may have one among their
// arguments; srun has a program in each component. An exit status when the command is to end now.
[[nodiscard]] std::optional<int> read_components(CommandSet command, int argc, char** argv,
                                                 std::vector<OptionParser>& out);

// The heterogeneous job that this process is in, as its environment tells of it.
struct HetSurroundings {
  struct Component {
    JobId job = kNoJob;
    uint32_t nodes = 0;
    std::string node_list;
    std::string cpus;  // SLURM_JOB_CPUS_PER_NODE
  };
  std::vector<Component> components;  // empty: it is in none
};
[[nodiscard]] HetSurroundings het_surroundings();

// Which component each part of an srun is for: as --het-group says (a part that names several is
// made as many), else part after part. `said`: the sets that were given, one a part. Errors are the
// lines to print; they end the command.
struct PartPlace {
  size_t part = 0;     // of the command line
  uint32_t group = 0;  // component of the job
};
struct PartPlaces {
  std::vector<PartPlace> places;  // by rising component
  std::string error;
};
[[nodiscard]] PartPlaces place_parts(const std::vector<IndexSet>& said, size_t components);
// Why srun's --het-group cannot be followed in a job that is not heterogeneous; empty: none was
// given.
[[nodiscard]] std::string fault_without_components(const std::vector<IndexSet>& said);

}  // namespace sluice::cli
