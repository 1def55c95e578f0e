#include "stepd/held_tasks.hpp"

#include <utility>

namespace sluice::stepd {

void HeldTasks::let_begin(bool stopped) {
  may_begin_ = true;
  if (!stopped || !plan_) return;
  for (TaskPlan& task : plan_->tasks) task.setup.stops_in_program = true;
}

void HeldTasks::suspend(bool suspended) {
  if (plan_) suspended_ = suspended;
}

std::optional<StepPlan> HeldTasks::take() {
  return may_begin_ && !suspended_ ? take_to_end() : std::nullopt;
}

std::optional<StepPlan> HeldTasks::take_to_end() { return std::exchange(plan_, std::nullopt); }

}  // namespace sluice::stepd
