// What the kernel did to a step for the limits of its control groups: processes that it killed for
// want of memory, and others that it let nobody begin.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "stepd/group_counts.hpp"
#include "stepd/step_clock.hpp"
#include "stepd/step_facts.hpp"

namespace sluice::stepd {

class LimitWatch {
 public:
  LimitWatch(const StepFacts& facts, StepClock& clock, const GroupCounts& groups,
             std::function<void()> end_step)
      : facts_(facts),
        groups_(groups),
        end_step_(std::move(end_step)),
        alarm_(clock.make_alarm()) {}

  // --oom-kill-step: looks again and again until stop(), and ends the step on this node. The other
  // nodes hear of it from srun, which sees a task end so.
  void start();
  void stop();

  // For the user: of each kind what there was; empty: none.
  [[nodiscard]] std::string oom_text() const;
  // A program that cannot fork says so in many words or none: the user learns whose limit it was.
  [[nodiscard]] std::string refused_forks_text() const;

 private:
  void look();

  const StepFacts& facts_;
  const GroupCounts& groups_;
  std::function<void()> end_step_;
  std::unique_ptr<Alarm> alarm_;
  bool stopped_ = false;
};

}  // namespace sluice::stepd
