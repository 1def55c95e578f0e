// The time, as the parts of a step daemon see it: a test's goes as the test says.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "common/base/time.hpp"

namespace sluice::stepd {

class Alarm {
 public:
  virtual ~Alarm() = default;
  // Calls `then` once `after` is over, in place of what was set before.
  virtual void set(Duration after, std::function<void()> then) = 0;
  virtual void cancel() = 0;
};

class StepClock {
 public:
  virtual ~StepClock() = default;
  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;
  // Of the day.
  [[nodiscard]] virtual Time time() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Alarm> make_alarm() = 0;
};

}  // namespace sluice::stepd
