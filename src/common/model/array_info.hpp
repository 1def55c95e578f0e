// Arrays of jobs.
#pragma once

#include <cstdint>

#include "common/base/ids.hpp"
#include "common/base/index_set.hpp"

namespace sluice {

// A pending array's tasks that are still one record, or the identity of one task.
struct ArrayInfo {
  JobId array_job = kNoJob;  // the id users see before the "_"
  uint32_t task = kNoTask;   // kNoTask: this record stands for `pending`
  IndexSet pending;          // tasks not split off yet
  uint32_t max_running = 0;  // %limit; 0: none
  uint32_t task_count = 0, task_min = 0, task_max = 0, task_step = 1;  // SLURM_ARRAY_TASK_*
  // cancelled while they were in `pending`; known to the array's own record only
  IndexSet cancelled;
  template <class V>
  static void describe(V&& field) {
    field(1, "array_job", &ArrayInfo::array_job);
    field(2, "task", &ArrayInfo::task);
    field(3, "pending", &ArrayInfo::pending);
    field(4, "max_running", &ArrayInfo::max_running);
    field(5, "task_count", &ArrayInfo::task_count);
    field(6, "task_min", &ArrayInfo::task_min);
    field(7, "task_max", &ArrayInfo::task_max);
    field(8, "task_step", &ArrayInfo::task_step);
    field(9, "cancelled", &ArrayInfo::cancelled);
  }
};

}  // namespace sluice
