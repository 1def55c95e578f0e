#include "common/history/job_identity.hpp"

#include "common/model/array_info.hpp"
#include "common/model/het_job.hpp"

namespace sluice {

void set_identity(JobHistory& history, const Job& job, WaitingTasks tasks) {
  history.id = job.id;
  history.restarts = job.restart_count;
  if (job.array != nullptr) {
    history.array_job = job.array->array_job;
    history.array_task = job.array->task;
    history.array_limit = job.array->max_running;
    if (job.array->task == kNoTask && tasks == WaitingTasks::kNamed)
      history.array_tasks = job.array->pending.to_text();
  }
  if (job.het != nullptr) {
    history.het_job = job.het->leader;
    history.het_offset = job.het->offset;
  }
}

}  // namespace sluice
