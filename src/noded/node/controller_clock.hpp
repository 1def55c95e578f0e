// What time it is for the controller, as far as this node knows: what it signs is dated by its
// clock, which need not be this host's.
#pragma once

#include <optional>

#include "common/base/time.hpp"

namespace sluice::noded {

class ControllerClock {
 public:
  // It said so in an answer that was asked for and came at these times.
  void told(Time theirs, SteadyTime asked, SteadyTime answered);
  // `own` is this host's time of now, which counts until the controller has said its own.
  [[nodiscard]] Time time(Time own, SteadyTime now) const;
  // By how much this host's clock is ahead; below zero: behind. What may be due to the time that
  // the answer took is left out. Nothing: the controller has not said its time.
  [[nodiscard]] std::optional<Duration> ahead(Time own, SteadyTime now) const;

 private:
  Time theirs_ = kNoTime;  // kNoTime: not known
  SteadyTime at_;
  Duration unsure_{0};
};

}  // namespace sluice::noded
