// What all nodes have free over time. It knows claims, not jobs.
#pragma once

#include <utility>
#include <vector>

#include "ctld/timeline/node_timeline.hpp"

namespace sluice::timeline {

class Timeline {
 public:
  explicit Timeline(size_t nodes) : nodes_(nodes), versions_(nodes) {}

  // The node is there, with so much free for ever. Claims that it had are forgotten.
  void reset(NodeId node, Free base) {
    nodes_[node] = NodeTimeline(std::move(base));
    ++versions_[node];
  }
  void add(NodeId node, Tick from, Tick to, const Claim& claim) {
    nodes_[node].add(from, to, claim);
    ++versions_[node];
  }
  [[nodiscard]] const NodeTimeline& node(NodeId node) const { return nodes_[node]; }

  // It changes with each change of the node.
  [[nodiscard]] uint32_t version(NodeId node) const { return versions_[node]; }
  // It changes when more became free somewhere than was before: what was found out about earliest
  // starts is void then.
  [[nodiscard]] uint32_t epoch() const { return epoch_; }
  void more_is_free() { ++epoch_; }

 private:
  std::vector<NodeTimeline> nodes_;
  std::vector<uint32_t> versions_;
  uint32_t epoch_ = 0;
};

}  // namespace sluice::timeline
