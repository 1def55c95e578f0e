// Tasks that wait for their srun (StepSpec::waits_for_srun): they begin when it lets them, and not
// while the job is suspended. Pure.
#pragma once

#include <optional>

#include "stepd/step_plan.hpp"

namespace sluice::stepd {

class HeldTasks {
 public:
  void hold(StepPlan plan) { plan_ = std::move(plan); }
  [[nodiscard]] bool any() const { return plan_.has_value(); }
  // srun lets them begin; `stopped`: in their programs.
  void let_begin(bool stopped);
  // No-op where none are held.
  void suspend(bool suspended);
  // Those that nothing holds any more, once; nothing where something does, or there are none.
  [[nodiscard]] std::optional<StepPlan> take();
  // All the same: the step ends.
  [[nodiscard]] std::optional<StepPlan> take_to_end();

 private:
  std::optional<StepPlan> plan_;
  bool may_begin_ = false;
  bool suspended_ = false;
};

}  // namespace sluice::stepd
