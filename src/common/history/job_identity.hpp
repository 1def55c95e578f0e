// What a job's history says of which job it is.
#pragma once

#include "common/model/history.hpp"
#include "common/model/job.hpp"

namespace sluice {

// Number, restarts, and its place in an array or a heterogeneous job. The text of an array's
// waiting tasks takes time in proportion to their ranges.
enum class WaitingTasks { kNamed, kLeftOut };
void set_identity(JobHistory& history, const Job& job, WaitingTasks tasks = WaitingTasks::kNamed);

}  // namespace sluice
