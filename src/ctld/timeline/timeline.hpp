// What all nodes have free over time. It knows claims, not jobs.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "ctld/timeline/counter_timeline.hpp"
#include "ctld/timeline/node_timeline.hpp"

namespace sluice::timeline {

// Cores and units that some jobs never get in this time, as they are kept for others.
struct Reserved {
  Tick from = 0, to = 0;
  Bitmap cores;
  uint32_t uid = fit::kSeveralUsers;  // whose they are
  GresShares units = {};
};
// Of a generic resource that is only counted so many are kept for groups of jobs.
struct ReservedCounts {
  SharedText name, type;
  uint64_t total = 0;
  uint64_t most = UINT64_MAX;  // for all jobs of the view's own group together
  std::vector<CounterTimeline::Change> kept = {};
};
// What some jobs see otherwise than it is.
struct ReservedForOthers {
  std::map<NodeId, std::vector<Reserved>> parts;
  std::map<NodeId, std::vector<ReservedCounts>> counts;
  uint32_t group = CounterTimeline::kNoGroup;  // of these jobs
  [[nodiscard]] bool empty() const { return parts.empty() && counts.empty(); }
};

class Timeline {
 public:
  // The nodes as some jobs see them: without what is reserved for others.
  class View {
   public:
    explicit View(ReservedForOthers reserved) : reserved_(std::move(reserved)) {}
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
      if (at == nodes_.end()) return;
      if (claim.gres == nullptr || reserved_.counts.empty()) at->second.add(from, to, claim);
      else add_counted(node, at->second, {from, to}, claim);
    }
    void add_counted(NodeId node, NodeTimeline& seen, const Closing& when, const Claim& claim);

    ReservedForOthers reserved_;
    std::map<NodeId, NodeTimeline> nodes_;
    std::map<NodeId, std::vector<CounterTimeline>> counters_;  // as in reserved_.counts
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
  // It follows what is claimed from now on. It stands as long as this. Of nodes of which counts are
  // reserved claims have to be told anew, from reset() on.
  [[nodiscard]] const View& add_view(ReservedForOthers reserved);

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

}  // namespace sluice::timeline
