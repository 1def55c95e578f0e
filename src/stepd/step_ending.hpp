// When a step is over, and what brings its end about: an order ends it with SIGTERM, KillWait and
// SIGKILL, or at once; what its tasks leave behind is killed; what cannot be killed is given up.
// Pure, but for the clock that it is given.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "stepd/process/step_processes.hpp"
#include "stepd/step_clock.hpp"

namespace sluice::stepd {

class StepEnding {
 public:
  struct Limits {
    Duration kill_wait{0};
    Duration unkillable{0};  // after the first SIGKILL; 0: waits for ever
  };
  // The step, as its ending sees it. What is called may lead back into check().
  struct Step {
    std::function<bool()> lasts;         // it has something to do that no order to end cuts short
    std::function<bool()> streams;       // output is on its way, though all processes may be gone
    std::function<bool()> output_waits;  // for somebody who reads it
    std::function<bool()> output_flows;  // it is read
    std::function<void()> give_up_output;
    std::function<void()> on_order;       // the first thing that an order does
    std::function<void()> on_unkillable;  // processes do not end after SIGKILL
    std::function<void()> on_over;        // once
  };
  StepEnding(StepClock& clock, const StepProcesses& processes, Limits limits, Step step)
      : clock_(clock),
        processes_(processes),
        limits_(limits),
        step_(std::move(step)),
        kill_alarm_(clock.make_alarm()),
        check_alarm_(clock.make_alarm()) {}

  // The step is to end, `at_once` or with KillWait for its processes.
  void end(bool at_once);
  // The step is to end at once, but for an order that comes within `grace` and has KillWait.
  void end_unless_ordered(Duration grace);
  // Something has changed that may have been the last thing.
  void check();

  // It was told to end.
  [[nodiscard]] bool ending() const { return ending_; }
  [[nodiscard]] bool over() const { return over_; }
  // Once it is over: calls `then` when those who still hear of it have had the time for that. Not
  // at all where nobody told the step to end.
  void limit_farewell(std::function<void()> then);

 private:
  void kill_all();
  void finish();
  [[nodiscard]] bool leftovers_may_end_alone();
  // SIGKILL was sent; true when Limits::unkillable has gone by since it was sent first.
  [[nodiscard]] bool gave_up_killing();
  // Streams that somebody else holds are given up after a while.
  void bound_streams(bool left);
  void check_later(bool left);

  StepClock& clock_;
  const StepProcesses& processes_;
  Limits limits_;
  Step step_;
  std::unique_ptr<Alarm> kill_alarm_;
  std::unique_ptr<Alarm> check_alarm_;
  bool ending_ = false;
  bool killing_ = false;
  bool over_ = false;
  std::optional<std::chrono::steady_clock::time_point> first_kill_;
  std::optional<std::chrono::steady_clock::time_point> leftovers_since_;
  uint32_t checks_ = 0;  // with streams alone
};

}  // namespace sluice::stepd
