// What the processes of a step use, looked at from time to time, and whether it is more than they
// may (OverMemoryKill).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "stepd/process/step_processes.hpp"
#include "stepd/process/usage_meter.hpp"
#include "stepd/step_clock.hpp"
#include "stepd/step_facts.hpp"

namespace sluice::stepd {

class UsageWatch {
 public:
  // What a live process uses.
  using Reader = std::function<std::optional<ProcessUsage>(pid_t)>;
  // The step holds more than it may: "StepId=7.0 exceeded memory limit (…), being killed".
  using OnExcess = std::function<void(const std::string& text)>;
  UsageWatch(const StepFacts& facts, StepClock& clock, const StepProcesses& processes,
             Reader reader, OnExcess on_excess);

  // Looks now, and then at each interval of JobAcctGatherFrequency, if there is one.
  void start();
  void stop();
  // Looks at the processes now.
  void measure();
  [[nodiscard]] protocol::StatStepReply answer();
  [[nodiscard]] UsageMeter& meter() { return meter_; }

 private:
  void sample();

  const StepFacts& facts_;
  const StepProcesses& processes_;
  Reader reader_;
  OnExcess on_excess_;
  std::unique_ptr<Alarm> alarm_;
  UsageMeter meter_;
  bool stopped_ = false;
};

}  // namespace sluice::stepd
