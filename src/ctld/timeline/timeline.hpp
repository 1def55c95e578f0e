// What all nodes have free over time. It knows claims, not jobs.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "ctld/timeline/node_timeline.hpp"

namespace sluice::timeline {

// Cores that some jobs never get in this time, as they are kept for others.
struct Reserved {
  Tick from = 0, to = 0;
  Bitmap cores;
  uint32_t uid = fit::kSeveralUsers;  // whose they are
};
using ReservedByNode = std::map<NodeId, std::vector<Reserved>>;

class Timeline {
 public:
  // The nodes as some jobs see them: without what is reserved for others.
  class View {
   public:
    explicit View(ReservedByNode reserved) : reserved_(std::move(reserved)) {}
    // Null: they see the node as it is.
    [[nodiscard]] const NodeTimeline* node(NodeId node) const {
      const auto at = nodes_.find(node);
      return at == nodes_.end() ? nullptr : &at->second;
    }

    // Cores of the node that are reserved at some moment before this one.
    [[nodiscard]] Bitmap reserved(NodeId node, Tick before) const;

   private:
    friend class Timeline;
    void reset(NodeId node, const NodeTimeline& base);
    void add(NodeId node, Tick from, Tick to, const Claim& claim) {
      const auto at = nodes_.find(node);
      if (at != nodes_.end()) at->second.add(from, to, claim);
    }

    ReservedByNode reserved_;
    std::map<NodeId, NodeTimeline> nodes_;
  };

  explicit Timeline(size_t nodes) : nodes_(nodes), versions_(nodes) {}

  // The node is there, with so much free for ever. Claims that it had are forgotten.
  void reset(NodeId node, Free base) {
    nodes_[node] = NodeTimeline(std::move(base));
    for (View& view : views_) view.reset(node, nodes_[node]);
    ++versions_[node];
  }
  void add(NodeId node, Tick from, Tick to, const Claim& claim) {
    nodes_[node].add(from, to, claim);
    for (View& view : views_) view.add(node, from, to, claim);
    ++versions_[node];
  }
  [[nodiscard]] const NodeTimeline& node(NodeId node, const View* view = nullptr) const {
    const NodeTimeline* seen = view == nullptr ? nullptr : view->node(node);
    return seen == nullptr ? nodes_[node] : *seen;
  }
  // It follows what is claimed from now on. It stands as long as this.
  [[nodiscard]] const View& add_view(ReservedByNode reserved);

  // It changes with each change of the node.
  [[nodiscard]] uint32_t version(NodeId node) const { return versions_[node]; }
  // It changes when more became free somewhere than was before: what was found out about earliest
  // starts is void then.
  [[nodiscard]] uint32_t epoch() const { return epoch_; }
  void more_is_free() { ++epoch_; }

 private:
  std::vector<NodeTimeline> nodes_;
  std::list<View> views_;
  std::vector<uint32_t> versions_;
  uint32_t epoch_ = 0;
};

inline Bitmap Timeline::View::reserved(NodeId node, Tick before) const {
  Bitmap cores;
  const auto at = reserved_.find(node);
  if (at == reserved_.end()) return cores;
  for (const Reserved& one : at->second) {
    if (one.from < before) cores |= one.cores;
  }
  return cores;
}

inline void Timeline::View::reset(NodeId node, const NodeTimeline& base) {
  const auto at = reserved_.find(node);
  if (at == reserved_.end()) return;
  NodeTimeline& seen = nodes_[node] = base;
  for (const Reserved& one : at->second)
    seen.add(one.from, one.to, Claim{.cores = &one.cores, .uid = one.uid});
}

inline const Timeline::View& Timeline::add_view(ReservedByNode reserved) {
  View& view = views_.emplace_back(std::move(reserved));
  for (const auto& [node, list] : view.reserved_) view.reset(node, nodes_[node]);
  return view;
}

}  // namespace sluice::timeline
