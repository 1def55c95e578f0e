#include "stepd/step_ending.hpp"

#include <csignal>
#include <utility>

namespace sluice::stepd {
namespace {

constexpr auto kKillInterval = std::chrono::milliseconds(100);
constexpr auto kEndInterval = std::chrono::milliseconds(20);
constexpr auto kLeftoverInterval = std::chrono::milliseconds(250);
constexpr auto kLeftoverGrace = std::chrono::seconds(2);
constexpr uint32_t kMaxEndChecks = 250;  // 5 s

}  // namespace

void StepEnding::end(bool at_once) {
  if (over_) return;
  step_.on_order();
  if (at_once) return kill_all();
  if (std::exchange(ending_, true)) return;
  processes_.resume();
  processes_.signal(SIGTERM);
  kill_alarm_->set(limits_.kill_wait, [this] { kill_all(); });
  check();
}

void StepEnding::end_unless_ordered(Duration grace) {
  if (!ending_ && !over_) kill_alarm_->set(grace, [this] { end(true); });
}

void StepEnding::kill_all() {
  if (over_) return;
  ending_ = true;
  killing_ = true;
  processes_.kill();
  if (gave_up_killing()) return;
  kill_alarm_->set(kKillInterval, [this] { kill_all(); });
  check();
}

void StepEnding::check() {
  if (over_ || step_.lasts()) return;
  const bool left = processes_.any_lives();
  if (!left && !step_.streams()) return finish();
  if (left && !leftovers_may_end_alone()) {
    processes_.kill();
    if (gave_up_killing()) return;
  }
  bound_streams(left);
  if (!over_) check_later(left);
}

// A stream waits for its listener, or the reader of its FIFO, as long as that takes; without one,
// once nobody can write any more, or when the step was killed, not for ever.
void StepEnding::bound_streams(bool left) {
  const bool waits = step_.output_waits() && !killing_;
  if (!left && !waits && step_.output_flows() && ++checks_ > kMaxEndChecks) step_.give_up_output();
}

// The end of a process that has KillWait is heard of.
void StepEnding::check_later(bool left) {
  const bool long_wait =
      left && leftovers_since_ && !killing_ && clock_.now() - *leftovers_since_ >= kLeftoverGrace;
  check_alarm_->set(long_wait ? kLeftoverInterval : kEndInterval, [this] { check(); });
}

// Processes that got TERM together with the tasks have a moment to end. Those that do something
// about it have KillWait, as the tasks have: an srun of a batch script passes on what its own tasks
// say until they have ended.
bool StepEnding::leftovers_may_end_alone() {
  if (!ending_ || killing_) return false;
  const auto now = clock_.now();
  if (!leftovers_since_) leftovers_since_ = now;
  return now - *leftovers_since_ < kLeftoverGrace || processes_.any_catches_term();
}

bool StepEnding::gave_up_killing() {
  const auto now = clock_.now();
  if (!first_kill_) first_kill_ = now;
  if (limits_.unkillable <= Duration::zero() || now - *first_kill_ < limits_.unkillable)
    return false;
  if (!processes_.any_lives()) return false;
  step_.on_unkillable();
  if (!over_) finish();
  return true;
}

void StepEnding::finish() {
  over_ = true;
  kill_alarm_->cancel();
  check_alarm_->cancel();
  step_.on_over();
}

void StepEnding::limit_farewell(std::function<void()> then) {
  if (!ending_) return;
  // for a listener that takes nothing: tasks that ended on TERM have left it KillWait
  check_alarm_->set(
      kMaxEndChecks * kEndInterval + (killing_ ? Duration::zero() : limits_.kill_wait),
      std::move(then));
}

}  // namespace sluice::stepd
