// --mem-bind: from which NUMA nodes a task takes its memory (TaskPlugin=task/affinity).
#pragma once

#include <optional>

#include "common/environment/memory_bind.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {

// What --mem-bind says, for all tasks of the node; nothing where none acts.
[[nodiscard]] std::optional<MemoryBind> memory_bind_of(const PlanInput& input);
// What task `local_task` does before its program; `setup.cpus` is set.
void plan_memory(const PlanInput& input, const MemoryBind& bind, uint32_t local_task,
                 TaskSetup& setup);

}  // namespace sluice::stepd
