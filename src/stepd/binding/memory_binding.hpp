// --mem-bind: from which NUMA nodes a task takes its memory (TaskPlugin=task/affinity).
#pragma once

#include "stepd/step_plan.hpp"

namespace sluice::stepd {

// What task `local_task` does before its program; `setup.cpus` is set. Nothing without --mem-bind.
void plan_memory(const PlanInput& input, uint32_t local_task, TaskSetup& setup);
// SLURM_MEM_BIND* of all tasks.
void set_memory_variables(const PlanInput& input, Environment& out);

}  // namespace sluice::stepd
