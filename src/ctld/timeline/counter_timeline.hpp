// How much of one countable thing (licenses of one name) is in use over time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ctld/timeline/node_timeline.hpp"

namespace sluice::timeline {

class CounterTimeline {
 public:
  explicit CounterTimeline(uint64_t total = 0) : total_(total), steps_{{0, 0}} {}

  void add(Tick from, Tick to, uint64_t count) {
    if (from >= to) return;
    size_t at = split(from);
    const size_t end = to == kNoTick ? steps_.size() : split(to);
    for (; at < end; ++at) steps_[at].used += count;
  }
  // The first moment, `from` or later, from which `count` are free for so long; kNoTick: never.
  [[nodiscard]] Tick next_start(Tick from, Tick duration, uint64_t count) const {
    if (count > total_) return kNoTick;
    Tick start = from;
    for (size_t at = step_at(from); at < steps_.size(); ++at) {
      if (at > 0 && steps_[at].from >= start && steps_[at].from - start >= duration) break;
      if (steps_[at].used + count > total_)
        start = at + 1 < steps_.size() ? steps_[at + 1].from : kNoTick;
      if (start == kNoTick) break;
    }
    return start;
  }

 private:
  struct Step {
    Tick from = 0;
    uint64_t used = 0;
  };
  [[nodiscard]] size_t step_at(Tick tick) const {
    const auto after = std::ranges::upper_bound(steps_, tick, {}, &Step::from);
    return static_cast<size_t>(after - steps_.begin()) - 1;
  }
  size_t split(Tick tick) {
    const size_t at = step_at(tick);
    if (steps_[at].from == tick) return at;
    steps_.insert(steps_.begin() + static_cast<ptrdiff_t>(at) + 1, {tick, steps_[at].used});
    return at + 1;
  }

  uint64_t total_;
  std::vector<Step> steps_;  // by `from`
};

}  // namespace sluice::timeline
