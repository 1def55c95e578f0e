#include "noded/node/controller_clock.hpp"

#include <algorithm>

namespace sluice::noded {

void ControllerClock::told(Time theirs, SteadyTime asked, SteadyTime answered) {
  if (theirs == kNoTime) return;  // a controller of an earlier version
  theirs_ = theirs;
  unsure_ = std::max(answered - asked, Duration(0)) / 2;
  at_ = asked + unsure_;
}

Time ControllerClock::time(Time own, SteadyTime now) const {
  return theirs_ == kNoTime ? own : theirs_ + (now - at_);
}

std::optional<Duration> ControllerClock::ahead(Time own, SteadyTime now) const {
  if (theirs_ == kNoTime) return std::nullopt;
  const Duration difference = own - time(own, now);
  const Duration sure = std::max(std::chrono::abs(difference) - unsure_, Duration(0));
  return difference < Duration(0) ? -sure : sure;
}

}  // namespace sluice::noded
