// Lists of jobs and steps of the past as users name them.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/accounting.hpp"

namespace sluice::cli {

// "12", "12.batch", "12_3", "12_[3-5]", "12+1", with commas between them; errors as Slurm words
// them.
[[nodiscard]] Status add_job_names(const std::string& list,
                                   std::vector<protocol::HistoryJobName>& jobs);

}  // namespace sluice::cli
