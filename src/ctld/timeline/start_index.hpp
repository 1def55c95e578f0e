// The earliest moments at which jobs of one demand and one duration may start, kept for the next
// job like it: of each node the next moments at which it may serve, which later claims can only put
// off. So a node is looked at again only when it changed and the answer hangs on it.
//
// The search is a sweep over the moments at which some node begins to serve. At each of them blocks
// of 64 nodes of which none can serve yet are passed over: O(nodes / 64), and O(64) for each of the
// others. Of the nodes that changed only those that are counted on are looked at, up to as many as
// are enough.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ctld/timeline/sweep.hpp"
#include "ctld/timeline/timeline.hpp"

namespace sluice::timeline {

struct IndexedNode {
  NodeId id = kNoNode;
  uint32_t most = 0;                               // units that it gives at best
  const std::vector<Closing>* closings = nullptr;  // not owned; null: none
  bool required = false;
  // what it must have free to give a unit
  uint32_t least_cores = 1;
  uint64_t least_memory_mib = 0;
};

// Nodes in the order in which they are preferred.
class IndexedNodes {
 public:
  void add(const IndexedNode& node) {
    list_.push_back(node);
    ids_.push_back(node.id);
    most_.push_back(node.most);
  }
  [[nodiscard]] size_t size() const { return list_.size(); }
  [[nodiscard]] const IndexedNode& operator[](size_t position) const { return list_[position]; }
  [[nodiscard]] auto begin() const { return list_.begin(); }
  [[nodiscard]] auto end() const { return list_.end(); }
  // by position
  [[nodiscard]] const std::vector<NodeId>& ids() const { return ids_; }
  [[nodiscard]] const std::vector<uint32_t>& most() const { return most_; }

 private:
  std::vector<IndexedNode> list_;
  std::vector<NodeId> ids_;
  std::vector<uint32_t> most_;
};

class StartIndex {
 public:
  // `nodes` and `demand` outlive this. `every_change`: more than the units that a node
  // gives matters, so that each change of what is free is a moment to be looked at. `view`: how
  // jobs of this demand see the nodes; null: as they are.
  StartIndex(const Timeline& timeline, const IndexedNodes& nodes, const NodeDemand& demand,
             Tick duration, bool every_change, const Timeline::View* view = nullptr);

  struct Enough {
    uint32_t nodes = 1;
    uint64_t units = 1;
  };
  // The first moment, `from` or later, at which so many nodes give so many units, and the required
  // ones are among them; kNoTick: never. `serving` are then the positions of nodes that do: as many
  // as are enough, or (`all`) all.
  // To ask for an earlier moment than before has all nodes looked at again.
  [[nodiscard]] Tick next(Tick from, Enough enough, bool all, std::vector<uint32_t>& serving);
  // After next(…, all): the next moment at which something is different.
  [[nodiscard]] Tick next_change(Tick after) const;
  // No job like this can start before what is known of `other`, whose jobs ask for no more, and
  // last no longer.
  struct Other {
    const StartIndex* index = nullptr;
    bool same_nodes = false;     // it has the same ones, in the same order
    bool asks_the_same = false;  // of each node
  };
  void learn_from(const Other& other);
  // No job like this can start before.
  void raise_bound(Tick bound) { bound_ = std::max(bound_, bound); }
  [[nodiscard]] Tick bound() const { return bound_; }
  // Nothing was given back since bound() was found.
  [[nodiscard]] bool is_current() const { return epoch_ == timeline_.epoch(); }
  [[nodiscard]] uint32_t units(uint32_t position) const { return units_[position]; }
  [[nodiscard]] Tick duration() const { return duration_; }
  // Whether the node serves at that moment, looked at again if need be.
  [[nodiscard]] bool serves(uint32_t position, Tick at);
  // The first position, this one or a later one, whose node may serve then, as far as is known;
  // the number of nodes: none.
  [[nodiscard]] uint32_t next_hopeful(uint32_t position, Tick at) const;

 private:
  static constexpr uint32_t kBlock = 64;   // nodes
  static constexpr uint32_t kUnknown = 0;  // no version of a node
  [[nodiscard]] static bool is_enough(const Sum& sum, Enough enough) {
    return sum.nodes >= enough.nodes && sum.units >= enough.units;
  }
  void begin_anew();
  void renew_least(size_t block);
  [[nodiscard]] Sum count_at(Tick at) const;
  // No moment after `at` and before this has enough nodes.
  [[nodiscard]] Tick jump_from(Tick at, Enough enough);
  [[nodiscard]] bool verify(Tick at, Enough enough, bool all, Sum& hoped,
                            std::vector<uint32_t>& serving);
  [[nodiscard]] bool is_known(uint32_t position, Tick at) const;
  void look_at(uint32_t position, Tick from);

  const Timeline& timeline_;
  const IndexedNodes& nodes_;
  const NodeDemand& demand_;
  const Tick duration_;
  const bool every_change_;
  const Timeline::View* const view_;
  uint32_t epoch_ = 0;
  Tick bound_ = 0;
  Tick floor_ = 0;  // the latest moment that a node was looked at for
  // by position in nodes_
  std::vector<Tick> first_, last_;
  std::vector<uint32_t> units_, versions_;
  std::vector<Tick> least_;  // of first_, by block
  std::vector<uint32_t> required_;
  std::vector<std::pair<Tick, uint32_t>> coming_;  // scratch: when nodes begin to serve, and `most`
  Free scratch_;
};

}  // namespace sluice::timeline
