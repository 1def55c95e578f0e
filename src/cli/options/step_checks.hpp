// What srun finds wrong with a step before it asks for it: its nodes against those of the job that
// it is in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/submit/submit_options.hpp"

namespace sluice::cli {

// The lines of error; none when the step fits. The job has `nodes` nodes, called `node_list`.
[[nodiscard]] std::vector<std::string> step_faults(const Submission& submission, uint32_t nodes,
                                                   std::string_view node_list);

}  // namespace sluice::cli
