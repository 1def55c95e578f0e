// Times in which nodes have too little free for any job of one kind, as far as searches have met
// them. Claims only make them longer, so they hold until something is given back. Most nodes that a
// search passes over are known from here, by two words each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ctld/timeline/node_timeline.hpp"

namespace sluice::timeline {

class BusyNodes {
 public:
  explicit BusyNodes(size_t nodes) : nodes_(nodes) {}

  // All is forgotten when the epoch of the timeline is another one.
  void begin(uint32_t epoch) {
    if (epoch == epoch_) return;
    epoch_ = epoch;
    nodes_.assign(nodes_.size(), {});
  }
  // A job that holds the node in [from, to) would meet a busy time that ends then; 0: none is
  // known.
  [[nodiscard]] Tick busy_until(NodeId node, Tick from, Tick to) const {
    Tick until = 0;
    for (const Closing& one : nodes_[node]) {
      if (one.from < to && one.to > from) until = std::max(until, one.to);
    }
    return until;
  }
  void add(NodeId node, const Closing& busy) {
    auto& known = nodes_[node];
    for (Closing& one : known) {
      if (one.from > busy.to || busy.from > one.to || one.to == 0) continue;
      one = {std::min(one.from, busy.from), std::max(one.to, busy.to)};
      return;
    }
    // the one that ends first is the least likely to be met again
    *std::ranges::min_element(known, {}, &Closing::to) = busy;
  }

 private:
  static constexpr size_t kKnown = 2;  // of each node
  std::vector<std::array<Closing, kKnown>> nodes_;
  uint32_t epoch_ = 0;
};

}  // namespace sluice::timeline
