// What an srun is to start: the parts of its command line, one for each job or component that a
// step of it runs in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/het_request.hpp"
#include "cli/options/option_parser.hpp"
#include "common/model/step.hpp"
#include "common/environment/environment.hpp"

namespace sluice::cli::srun {

// What is started in one job; in several components of a heterogeneous job: in one of them.
struct Part {
  Submission submission;
  std::vector<std::string> program;
  // the component, as the environment tells of it; else no job
  HetSurroundings::Component surroundings;
  Environment environment;  // of the tasks
  JobId job = kNoJob;
  uint32_t nodes = 0;       // of a job of our own
  bool binds_cpus = false;  // asked for by itself, not by a hint
};

// Says what is wrong; srun's exit status for it.
[[nodiscard]] int fail_with(const std::vector<std::string>& errors);

[[nodiscard]] std::string base_name(const std::string& path);

// Reads the command line and the environment. An exit status when that is all there is to do, or
// something is wrong (said).
[[nodiscard]] std::optional<int> read_parts(int argc, char** argv, std::vector<Part>& parts);

// The step that is asked for. `own`: its job was made for it.
[[nodiscard]] StepSpec step_spec(const Part& part, bool own);

}  // namespace sluice::cli::srun
