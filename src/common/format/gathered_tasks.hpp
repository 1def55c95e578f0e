// Waiting tasks of an array that got records of their own (one was held, another's limit changed)
// are shown in the line of those that have not.
#pragma once

#include <deque>
#include <vector>

#include "common/format/job_values.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice {

struct GatheredTasks {
  IndexSet tasks;                                   // of all of them
  std::vector<const protocol::JobRecord*> records;  // the further ones
};

// Takes rows of single waiting tasks out, and points the row of their array at what was taken:
// those of the same array, name and partition. An array of which no record stands for several tasks
// is left alone, as in Slurm. What is given must outlive the rows.
[[nodiscard]] std::deque<GatheredTasks> gather_waiting_tasks(std::vector<JobView>& rows);

}  // namespace sluice
