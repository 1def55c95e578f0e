// What one node has free over time: a row of spans, in each of which the same is free. The last
// span has no end. Times are ticks from the moment at which the timeline begins.
//
// With n spans: add() and window() O(log n + spans that are touched); next_start() looks at each
// span behind `from` once or twice until it finds one.
#pragma once

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

class NodeTimeline {
 public:
  NodeTimeline() = default;
  explicit NodeTimeline(Free base) { spans_.push_back({0, std::move(base)}); }

  // In [from, to) the job holds this.
  void add(Tick from, Tick to, const Claim& claim);
  // What is free during all of [from, to).
  void window(Tick from, Tick to, Free& free) const;
  // Until when all of this stays free, beginning with 0; kNoTick: for ever.
  [[nodiscard]] Tick free_until(const Claim& claim) const;

  struct Wanted {
    Tick from = 0;      // the first moment looked at
    Tick duration = 1;  // at least 1
    // A node that gives `most` units is not looked at for a later moment at which it gives more.
    uint32_t most = UINT32_MAX;
    const std::vector<Closing>* closings = nullptr;  // by `from`; null: none
  };
  [[nodiscard]] Starts next_start(NodeId node, const Wanted& wanted, const NodeDemand& demand,
                                  Free& scratch) const;

 private:
  struct Span {
    Tick from = 0;
    Free free;
  };
  [[nodiscard]] size_t span_at(Tick tick) const;
  // A span begins there; its position.
  size_t split(Tick tick);
  [[nodiscard]] Tick last_start(size_t first, size_t behind, const Starts& starts, NodeId node,
                                const Wanted& wanted, const NodeDemand& demand,
                                Free& scratch) const;

  std::vector<Span> spans_;  // by `from`
};

}  // namespace sluice::timeline
