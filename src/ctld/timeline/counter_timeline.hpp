// How much of one countable thing (licenses of one name) is in use over time. Groups (reservations)
// may have some kept for them: that is gone for others, whether the group uses it or not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ctld/timeline/node_timeline.hpp"

namespace sluice::timeline {

class CounterTimeline {
 public:
  static constexpr uint32_t kNoGroup = 0;

  explicit CounterTimeline(uint64_t total = 0) : total_(total), steps_{Step{}} {}

  void add(Tick from, Tick to, uint64_t count, uint32_t group = kNoGroup) {
    change(from, to, [&](Step& step) {
      (group == kNoGroup ? step.used : step.share_of(group).used) += count;
    });
  }
  void keep(Tick from, Tick to, uint64_t count, uint32_t group) {
    change(from, to, [&](Step& step) { step.share_of(group).kept += count; });
  }
  // One of the group, who may have no more than `most` with the others of it.
  struct Viewer {
    uint32_t group = kNoGroup;
    uint64_t most = UINT64_MAX;
  };
  // The same as add() and keep(). `told` hears of each span in which the viewer has less for it,
  // and how much less.
  struct Change {
    Tick from = 0, to = 0;
    uint64_t count = 0;
    uint32_t group = kNoGroup;
    bool keeps = false;
  };
  template <class Told>
  void change_for(const Viewer& viewer, const Change& what, const Told& told) {
    if (what.from >= what.to) return;
    size_t at = split(what.from);
    const size_t end = what.to == kNoTick ? steps_.size() : split(what.to);
    for (; at < end; ++at) {
      Step& step = steps_[at];
      const uint64_t before = taken_from(step, viewer);
      if (what.keeps) step.share_of(what.group).kept += what.count;
      else if (what.group == kNoGroup) step.used += what.count;
      else step.share_of(what.group).used += what.count;
      const uint64_t after = taken_from(step, viewer);
      const Tick behind = at + 1 < steps_.size() ? steps_[at + 1].from : kNoTick;
      if (after > before) told(step.from, behind, after - before);
    }
  }
  // What the viewer cannot have where nothing is used nor kept.
  [[nodiscard]] uint64_t closed_to(const Viewer& viewer) const {
    return total_ - std::min(total_, viewer.most);
  }
  // The first moment, `from` or later, from which `count` are free for so long, or until `until`,
  // for one of the group; kNoTick: never.
  [[nodiscard]] Tick next_start(Tick from, Tick duration, uint64_t count, uint32_t group = kNoGroup,
                                Tick until = kNoTick) const {
    if (count > total_) return kNoTick;
    Tick start = from;
    for (size_t at = step_at(from); at < steps_.size(); ++at) {
      const Tick end = std::max(start + 1, std::min(start + duration, until));
      if (at > 0 && steps_[at].from >= end) break;
      if (steps_[at].taken_from(group) + count > total_)
        start = at + 1 < steps_.size() ? steps_[at + 1].from : kNoTick;
      if (start == kNoTick) break;
    }
    return start;
  }
  // Until when `count` stay free for one of the group, beginning with `from`; kNoTick: for ever,
  // or as long as `until` at least.
  [[nodiscard]] Tick free_until(Tick from, uint64_t count, uint32_t group = kNoGroup,
                                Tick until = kNoTick) const {
    if (count > total_) return from;
    for (size_t at = step_at(from); at < steps_.size() && steps_[at].from < until; ++at) {
      if (steps_[at].taken_from(group) + count > total_) return std::max(from, steps_[at].from);
    }
    return kNoTick;
  }

 private:
  struct Share {
    uint32_t group = kNoGroup;
    uint64_t kept = 0, used = 0;
  };
  struct Step {
    Tick from = 0;
    uint64_t used = 0;  // by those of no group
    std::vector<Share> shares;

    Share& share_of(uint32_t group) {
      const auto at = std::ranges::find(shares, group, &Share::group);
      return at != shares.end() ? *at : shares.emplace_back(Share{.group = group});
    }
    // What one of the group cannot have.
    [[nodiscard]] uint64_t taken_from(uint32_t group) const {
      uint64_t taken = used;
      for (const Share& share : shares)
        taken += share.group == group ? share.used : std::max(share.used, share.kept);
      return taken;
    }
  };
  [[nodiscard]] uint64_t taken_from(const Step& step, const Viewer& viewer) const {
    uint64_t own = 0;
    for (const Share& share : step.shares) own += share.group == viewer.group ? share.used : 0;
    return std::max(step.taken_from(viewer.group), closed_to(viewer) + own);
  }
  template <class Changes>
  void change(Tick from, Tick to, const Changes& change) {
    if (from >= to) return;
    size_t at = split(from);
    const size_t end = to == kNoTick ? steps_.size() : split(to);
    for (; at < end; ++at) change(steps_[at]);
  }
  [[nodiscard]] size_t step_at(Tick tick) const {
    const auto after = std::ranges::upper_bound(steps_, tick, {}, &Step::from);
    return static_cast<size_t>(after - steps_.begin()) - 1;
  }
  size_t split(Tick tick) {
    const size_t at = step_at(tick);
    if (steps_[at].from == tick) return at;
    Step step = steps_[at];
    step.from = tick;
    steps_.insert(steps_.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(step));
    return at + 1;
  }

  uint64_t total_;
  std::vector<Step> steps_;  // by `from`
};

}  // namespace sluice::timeline
