// When the engine's next Tick is due: once a period, and soon after one was asked for. A tick looks
// at every job that waits, and each of a hundred thousand cancelled jobs asks for one: so they get
// no more than a tenth of the engine's time. Not thread-safe.
#pragma once

#include <algorithm>

#include "common/base/time.hpp"

namespace sluice::engine {

class TickTimer {
 public:
  // `period` > 0: how often there is a tick when nobody asks for one, from `now` on.
  TickTimer(Duration period, Time now) : period_(period), next_(now + period) {}

  void ask() { next_ = std::min(next_, earliest_); }

  // A clock that was set back would put the next tick off for as long.
  [[nodiscard]] bool is_due(Time now) const { return now >= next_ || next_ - now > period_; }
  [[nodiscard]] Duration until(Time now) const { return is_due(now) ? Duration(0) : next_ - now; }

  // There was one at `now`, which took so long.
  void ran(Time now, Duration took) {
    next_ = now + period_;
    earliest_ = now + std::min(kShare * took, period_);
  }

 private:
  static constexpr int kShare = 10;  // of the time, one part for ticks

  Duration period_;
  Time next_;
  Time earliest_ = kNoTime;
};

}  // namespace sluice::engine
