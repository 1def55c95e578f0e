// The earliest moments at which jobs of one demand and one duration may start, kept for the next
// job like it: of each node the next moments at which it may serve, which later claims can only put
// off. So a node is looked at again only when it changed and the answer hangs on it.
//
// The search is a sweep over the moments at which some node begins to serve. At each of them blocks
// of 64 nodes of which none can serve yet are passed over: O(nodes / 64), and O(64) for each of the
// others. Of the nodes that changed only those that are counted on are looked at, up to as many as
// are enough.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "ctld/timeline/busy_nodes.hpp"
#include "ctld/timeline/indexed_nodes.hpp"
#include "ctld/timeline/sweep.hpp"
#include "ctld/timeline/timeline.hpp"

namespace sluice::timeline {

class StartIndex {
 public:
  // All of it outlives this.
  struct Of {
    const Timeline& timeline;
    const IndexedNodes& nodes;
    const NodeDemand& demand;
    // how jobs of this demand see the nodes; null: as they are
    const Timeline::View* view = nullptr;
    // of all demands that have the same least; null: nothing is kept
    BusyNodes* busy = nullptr;
  };
  // `every_change`: more than the units that a node gives matters, so that each change of what is
  // free is a moment to be looked at.
  StartIndex(const Of& of, Tick duration, bool every_change);

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
  // Nodes that serve at a moment, in order.
  class Walk;

 private:
  static constexpr uint32_t kBlock = 64;   // nodes
  static constexpr uint32_t kUnknown = 0;  // no version of a node
  [[nodiscard]] static bool is_enough(const Sum& sum, Enough enough) {
    return sum.nodes >= enough.nodes && sum.units >= enough.units;
  }
  // Whether the node serves at that moment, looked at again if need be.
  [[nodiscard]] bool serves(uint32_t position, Tick at);
  // The first position, this one or a later one, whose node may serve then, as far as is known;
  // the number of nodes: none.
  [[nodiscard]] uint32_t next_hopeful(uint32_t position, Tick at) const;
  void begin_anew();
  void renew_least(size_t block);
  // What is known of jobs that last as long and ask nodes for the same.
  void copy_from(const StartIndex& other);
  [[nodiscard]] Sum count_at(Tick at) const;
  // No moment after `at` and before this has enough nodes.
  [[nodiscard]] Tick jump_from(Tick at, Enough enough);
  [[nodiscard]] bool is_known(uint32_t position, Tick at) const;
  void look_at(uint32_t position, Tick from);
  // No start from `from` on is before `least`. What is kept of its block is too early from then on,
  // which is no error, until renew_put_off().
  void put_off(uint32_t position, Tick from, Tick least);
  void renew_put_off();
  [[nodiscard]] bool has_enough(Tick at, Enough enough, bool all, Sum& hoped,
                                std::vector<uint32_t>& serving);

  const Timeline& timeline_;
  const IndexedNodes& nodes_;
  const NodeDemand& demand_;
  const Tick duration_;
  const bool every_change_;
  const Timeline::View* const view_;
  BusyNodes* const busy_;
  uint32_t epoch_ = 0;
  Tick bound_ = 0;
  Tick floor_ = 0;  // the latest moment that a node was looked at for
  // by position in nodes_
  std::vector<Tick> first_, last_;
  std::vector<uint32_t> units_, versions_;
  std::vector<Tick> least_;           // of first_, by block
  std::vector<uint32_t> put_off_in_;  // blocks
  std::vector<uint32_t> required_;
  std::vector<std::pair<Tick, uint32_t>> coming_;  // scratch: when nodes begin to serve, and `most`
  Free scratch_;
};

// Each node is looked at when it is its turn, if need be. What such a look reads is on its way from
// memory some nodes ahead; nodes that are known to be busy are passed over.
class StartIndex::Walk {
 public:
  struct Wanted {
    uint32_t least = 1;  // units: nodes that give less at best are passed over
    // It ends where so much can no longer be hoped for of all of them; null: it never does.
    const Enough* enough = nullptr;
  };
  Walk(StartIndex& index, Tick at, const Wanted& wanted)
      : index_(index), at_(at), wanted_(wanted), most_(index.nodes_.most()) {}
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
  ~Walk() { index_.renew_put_off(); }

  // The next position; end(): there is none.
  [[nodiscard]] uint32_t next();
  [[nodiscard]] uint32_t end() const { return static_cast<uint32_t>(most_.size()); }
  // What may be there at the moment, as far as is known, and when there may be more.
  [[nodiscard]] const Sum& hoped();

 private:
  static constexpr size_t kAhead = 16;
  // Most moments that are looked at are good, and few nodes tell so: what can be hoped for is
  // counted once so many have failed.
  static constexpr uint32_t kFewFail = 96;

  [[nodiscard]] uint32_t& ahead(size_t number) { return ahead_[number % kAhead]; }
  [[nodiscard]] const NodeTimeline& node(uint32_t position) const {
    return index_.timeline_.node(index_.nodes_.ids()[position]);
  }
  [[nodiscard]] uint32_t next_hopeful();
  void find();
  [[nodiscard]] bool is_busy(uint32_t position);
  [[nodiscard]] uint32_t given(uint32_t position) const;
  [[nodiscard]] bool look_at(uint32_t position);
  void count_failed(uint32_t position, uint32_t gave);
  [[nodiscard]] bool is_hopeless();

  StartIndex& index_;
  const Tick at_;
  const Wanted wanted_;
  const std::vector<uint32_t>& most_;
  Sum hoped_;
  bool is_counted_ = false;
  uint32_t failed_ = 0;
  std::array<uint32_t, kAhead> ahead_{};
  size_t found_ = 0, fetched_ = 0, taken_ = 0;  // of ahead_, since the beginning
  uint32_t begin_ = 0;                          // the next position to be looked at
};

}  // namespace sluice::timeline
