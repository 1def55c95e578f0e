// --cpu-freq and --gpu-freq: the CPUs and GPUs of the step run as it asks for while it lasts.
// What cannot be had is told to the agent's log; the step runs all the same.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "stepd/step_plan.hpp"

namespace sluice::stepd {

class StepFrequencies {
 public:
  // The input outlives it.
  StepFrequencies(const PlanInput& input, std::function<void(std::string_view)> log)
      : input_(input), log_(std::move(log)) {}

  void set_cpus() const;
  // What the user is told of the GPUs' clocks once the tasks have begun; empty: nothing.
  [[nodiscard]] std::string set_gpus() const;
  void give_back() const;

 private:
  const PlanInput& input_;
  std::function<void(std::string_view)> log_;
};

}  // namespace sluice::stepd
