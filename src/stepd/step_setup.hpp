// What a step is given on this node before its tasks are forked, and what is taken back at its end:
// the user's identity and PAM session, files, control groups, frequencies.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "stepd/binding/step_frequencies.hpp"
#include "stepd/io/output_files.hpp"
#include "stepd/process/pam_session.hpp"
#include "stepd/process/usage_meter.hpp"
#include "stepd/step_clock.hpp"
#include "stepd/step_facts.hpp"
#include "stepd/step_group.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {

class StepSetup {
 public:
  struct Handlers {
    std::function<void(std::string_view)> log;
    // In a copy of this process: a module of PAM did not come back, at the session's start or end.
    std::function<void()> pam_never_opened;
    std::function<void()> pam_never_closed;
  };
  StepSetup(StepFacts& facts, StepClock& clock, Handlers handlers);
  StepSetup(const StepSetup&) = delete;
  StepSetup& operator=(const StepSetup&) = delete;

  // As LaunchParameters say. Tasks do not inherit it.
  void lock_memory() const;
  [[nodiscard]] const PlanInput& input() const { return input_; }

  // First, and for every step. The error's text is for the user, as that of the next ones.
  [[nodiscard]] Status find_user();
  // Of a step with tasks: opens the session and the files, and makes the groups.
  [[nodiscard]] Result<StepPlan> make_plan(UsageMeter& meter);
  // Of an extern step. No process of its own: what enters its control group from outside belongs to
  // the job, is counted here and ends with it.
  [[nodiscard]] Status make_extern(UsageMeter& meter);
  // Last, before the tasks are forked: frequencies are set, and what this process holds for its
  // tasks is the job's from here on.
  void settle(StepPlan& plan);

  [[nodiscard]] StepGroup& group() { return group_; }
  // What a task gets that came with `wanted`.
  [[nodiscard]] std::vector<uint64_t> limits_for(const std::vector<uint64_t>& wanted) const;
  // What the epilogs of all tasks have in common, descriptors but the error's included. Nothing
  // when those cannot be had.
  [[nodiscard]] std::optional<TaskSetup> epilog_setup();

  // At the end. When a module of PAM does not come back, the step has ended all the same.
  void close_session();
  void give_frequencies_back() const { frequencies_.give_back(); }
  // Removes the step's groups, and takes this process out of the job's soon: who reads what is to
  // be told yet may be slow, and the job's group does not wait for it.
  void leave_groups();

 private:
  [[nodiscard]] Status open_session();
  [[nodiscard]] Result<StepPlan> plan_tasks();
  [[nodiscard]] Status make_groups(StepPlan& plan, UsageMeter& meter);
  void charge_to_job(StepPlan& plan);

  StepFacts& facts_;
  Handlers handlers_;
  PlanInput input_;
  StepFrequencies frequencies_;
  std::unique_ptr<OutputFiles> files_;
  StepGroup group_;
  std::unique_ptr<PamSession> pam_;  // null: none is opened
  std::unique_ptr<Alarm> leave_alarm_;
};

}  // namespace sluice::stepd
