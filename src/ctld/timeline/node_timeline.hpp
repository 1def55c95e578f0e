// What one node has free over time: a row of spans, in each of which the same is free. The last
// span has no end. Times are ticks from the moment at which the timeline begins.
//
// With n spans: add() and window() O(n / 32 + spans that are touched), where they are spread
// evenly; next_start() looks at each span behind `from` once or twice until it finds one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "ctld/timeline/free.hpp"

namespace sluice::timeline {

using Tick = uint32_t;
inline constexpr Tick kNoTick = UINT32_MAX;  // never
// Nothing is planned for later than this.
inline constexpr Tick kHorizon = Tick{1} << 30;

// What a node that has so much free is good for; 0: nothing. It may only fall as less is free.
class NodeDemand {
 public:
  NodeDemand() = default;
  NodeDemand(const NodeDemand&) = delete;
  NodeDemand& operator=(const NodeDemand&) = delete;
  virtual ~NodeDemand() = default;
  [[nodiscard]] virtual uint32_t units(NodeId node, const Free& free) const = 0;
};

// From `from` up to and without `to` the node is closed, for one kind of jobs.
struct Closing {
  Tick from = 0, to = 0;
};

// Moments at which a job may start, both ends included; then the node gives so many units until the
// job ends.
struct Starts {
  Tick first = kNoTick, last = kNoTick;
  uint32_t units = 0;
};

// What must be free for any use at all.
struct LeastFree {
  uint32_t cores = 1;
  uint64_t memory_mib = 0;
  bool operator==(const LeastFree&) const = default;
};

class alignas(64) NodeTimeline {
 public:
  NodeTimeline() = default;
  explicit NodeTimeline(Free base);

  // In [from, to) the job holds this.
  void add(Tick from, Tick to, const Claim& claim);
  // What is free during all of [from, to).
  void window(Tick from, Tick to, Free& free) const;
  // Whether all of this is free during all of [from, to). Of generic resources a unit is free that
  // nobody holds a part of.
  [[nodiscard]] bool is_free(Tick from, Tick to, const Claim& claim) const;
  // The first moment from `from` on at which all of this is free for so long; kNoTick: none.
  [[nodiscard]] Tick next_free(Tick from, Tick duration, const Claim& claim) const;
  // Until when all of this stays free, beginning with 0; kNoTick: for ever.
  [[nodiscard]] Tick free_until(const Claim& claim) const;

  struct Wanted {
    Tick from = 0;      // the first moment looked at
    Tick duration = 1;  // at least 1
    // A node that gives `most` units is not looked at for a later moment at which it gives more.
    uint32_t most = UINT32_MAX;
    // With less it is good for nothing: known without a question to the demand.
    LeastFree least;
    LeastFree busy;  // with less it is told of in Open; no more than `least`
    const std::vector<Closing>* closings = nullptr;  // by `from`; null: none
  };
  // A start that neither a closing nor too few cores or memory are in the way of.
  struct Open {
    Tick start = kNoTick;  // kNoTick: there is none
    // a job that begins then meets these spans, the last one left out
    size_t first = 0, behind = 0;
    // Where it is later than was asked for: a time in which less than `busy` is free that is in the
    // way; empty: none is.
    Closing busy;
  };
  [[nodiscard]] Open next_open(const Wanted& wanted) const;
  // The first start that is good, that one or a later one.
  [[nodiscard]] Starts next_start(NodeId node, const Open& open, const Wanted& wanted,
                                  const NodeDemand& demand, Free& scratch) const;
  [[nodiscard]] Starts next_start(NodeId node, const Wanted& wanted, const NodeDemand& demand,
                                  Free& scratch) const {
    return next_start(node, next_open(wanted), wanted, demand, scratch);
  }
  // What a look at that moment reads is on its way from memory.
  void prefetch(Tick tick) const { __builtin_prefetch(spans_.data() + least_span_at(tick)); }

 private:
  // The first one that is not before `start`, which is in the span `first`; without `busy`.
  [[nodiscard]] Open next_open(Tick start, size_t first, const Wanted& wanted) const;
  // The span of that moment or one before it.
  [[nodiscard]] size_t least_span_at(Tick tick) const {
    return span_of_part_[std::min<size_t>(tick >> part_bits_, kParts - 1)];
  }
  [[nodiscard]] size_t span_at(Tick tick) const;
  // A span begins there; its position.
  size_t split(Tick tick);
  [[nodiscard]] bool has_less(size_t span, const LeastFree& than) const {
    return spans_[span].cores < than.cores || spans_[span].memory_mib < than.memory_mib;
  }
  // The last useless span that a job would meet which begins in `first`, of those before `behind`;
  // or kNone.
  [[nodiscard]] size_t last_useless(size_t first, size_t behind, const Wanted& wanted) const {
    for (size_t at = behind; at-- > first;) {
      if (has_less(at, wanted.least)) return at;
    }
    return kNone;
  }
  // The first span that begins at `to` or later; from `first` on.
  [[nodiscard]] size_t span_behind(size_t first, Tick to) const;
  [[nodiscard]] Tick last_start(const Open& open, const Starts& starts, NodeId node,
                                const Wanted& wanted, const NodeDemand& demand,
                                Free& scratch) const;
  // A span that begins at that moment has been put in.
  void index_split(Tick tick);

  static constexpr size_t kNone = SIZE_MAX;
  static constexpr size_t kParts = 32;
  // What most looks at a span want to know of it.
  struct Span {
    Tick from = 0;
    uint32_t cores = 0;  // free ones
    uint64_t memory_mib = 0;
  };
  std::vector<Span> spans_;
  std::vector<Free> free_;  // by span
  // Time in parts of 2^part_bits_ ticks: the span in which each begins, or one before it.
  uint32_t part_bits_ = 6;
  std::array<uint16_t, kParts> span_of_part_{};
};

}  // namespace sluice::timeline
