// Where and when the jobs of one request can start the earliest: now, or when running and planned
// jobs leave them room for as long as they last. Jobs after the first find much of the answer kept.
//
// The timeline names moments at which enough nodes give enough (a bound that no placement is
// before); fit::place() decides at each of them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ctld/sched/node_share.hpp"
#include "ctld/sched/resources.hpp"
#include "ctld/timeline/start_index.hpp"

namespace sluice::sched {

using Placed = std::optional<std::vector<NodeAllocation>>;

struct FoundStart {
  Tick at = 0;
  std::vector<NodeAllocation> nodes;
};

// What the job asks of the topology, where these are all nodes that it may have.
[[nodiscard]] TopologyWish wish_of(const Resources& resources, const Request& request,
                                   const std::vector<NodeId>& nodes);

class StartFinder;
// Finders of one pass, of which one learns from those whose jobs ask for no more.
struct Finders {
  bool keeps_users_apart = false;  // what fits depends on the user
  // Asked in long searches, which end then: what they did not find may be there. Null: never.
  std::function<bool()> out_of_time;
  std::unordered_map<const state::Partition*, std::vector<StartFinder*>> by_partition;
  // Jobs of many durations would fill the memory with what is known of each: the oldest goes first.
  struct Made {
    StartFinder* finder = nullptr;
    Tick duration = 0;
    size_t positions = 0;
  };
  std::deque<Made> made;
  size_t known_positions = 0;
  uint64_t uses = 0;  // of indexes
  std::vector<timeline::IndexedNodes::SharedOrder> orders;
  // All that says what a node must have free to give a unit.
  struct Least {
    uint32_t threads_per_core = 0, cpus = 0;
    bool whole = false;
    uint64_t memory_per_node_mib = 0, memory_per_cpu_mib = 0;
    const timeline::Timeline::View* view = nullptr;
    [[nodiscard]] auto key() const {
      return std::tuple(threads_per_core, cpus, whole, memory_per_node_mib, memory_per_cpu_mib,
                        view);
    }
    friend bool operator<(const Least& a, const Least& b) { return a.key() < b.key(); }
    // The same for all that ask for a little less: few of them stand for all there may be.
    [[nodiscard]] Least rounded() const;
  };
  std::map<Least, timeline::BusyNodes> busy;
  // Null: there are many already.
  [[nodiscard]] timeline::BusyNodes* busy_for(const Least& rounded, size_t nodes);
  void make_place(StartFinder& finder, Tick duration, size_t positions);
};

class StartFinder final : public timeline::NodeDemand {
 public:
  // All outlive this; it stands in `finders` from now on. Null: it is alone.
  StartFinder(Resources& resources, const Request& request, Finders* finders = nullptr);
  ~StartFinder() override = default;

  struct Wanted {
    Tick duration = 1;
    Patience patience = {};
    Tick from = 0;                     // the first moment that will do
    Tick latest = timeline::kHorizon;  // the last
  };
  // Of moments at which enough is free and the job fits all the same, the first hundred are tried
  // one by one, and farther apart after that: then the start may be a later one than the earliest.
  [[nodiscard]] std::optional<FoundStart> first(const Wanted& wanted);
  // A placement at that moment, if there is one.
  [[nodiscard]] Placed place_at(Tick at, const Wanted& wanted);
  // No earlier moment is worth a try after `at` failed; kNoTick: none.
  [[nodiscard]] Tick next_after(Tick at, const Wanted& wanted);
  // What is known of jobs of this duration is given up, to be found out again.
  void forget(Tick duration) { indexes_.erase(duration); }

 private:
  using Serving = std::vector<uint32_t>;  // positions in nodes_
  struct Known {
    template <class... Args>
    explicit Known(Args&&... args) : index(std::forward<Args>(args)...) {}
    timeline::StartIndex index;
    uint64_t used = 0;  // the number of the use; 0: none
  };
  [[nodiscard]] uint32_t units(NodeId node, const timeline::Free& free) const override;
  [[nodiscard]] uint32_t exact_units(NodeId node, const timeline::Free& free) const;
  // That the node takes, as one of those that it needs or of those that it prefers.
  [[nodiscard]] uint32_t tasks_on(const fit::Room& room) const;
  [[nodiscard]] std::vector<NodeId> order() const;
  void list_nodes();
  [[nodiscard]] Finders::Least least() const;
  // What a node must have free to give a unit.
  [[nodiscard]] timeline::LeastFree least_on(const fit::Room& idle, const Finders::Least& of) const;
  // Where jobs of `other` can start, those of this one can, too.
  [[nodiscard]] bool asks_no_more_than(const StartFinder& other) const;
  [[nodiscard]] bool asks_nodes_for_the_same(const StartFinder& other) const;
  void list_smaller();
  void learn(Known& mine);
  [[nodiscard]] Known& known_for(Tick duration);
  // With what others found out since.
  [[nodiscard]] timeline::StartIndex& index_for(Tick duration);
  [[nodiscard]] Placed place(timeline::StartIndex& index, Tick at, const Patience& patience,
                             Serving& serving);
  [[nodiscard]] Placed place_with(timeline::StartIndex& index, Tick at, const fit::Needs& needs,
                                  uint32_t most_switches, Serving& serving);
  [[nodiscard]] Placed place_on_one(timeline::StartIndex& index, Tick at, const fit::Needs& needs);
  [[nodiscard]] Placed place_among(timeline::StartIndex& index, Tick at, const fit::Needs& needs,
                                   uint32_t most_switches, const Serving& serving);
  // On cores that other jobs of the partition hold, too (OverSubscribe); now only.
  [[nodiscard]] Placed place_shared(timeline::StartIndex& index);

  Resources& resources_;
  const Request& request_;
  const std::optional<fit::Needs> preferred_;  // with what --prefer says in place of --constraint
  const NodeShare share_;
  const bool from_end_;
  Finders* const finders_;
  Resources::Closings closings_;
  timeline::IndexedNodes nodes_;         // that could serve, in order
  timeline::BusyNodes* busy_ = nullptr;  // of all finders with the same least; null: it is alone
  timeline::StartIndex::Enough enough_;
  TopologyWish wish_;
  bool possible_ = true;       // required nodes are among them
  bool exact_ = false;         // what a node gives is asked of fit::capacity()
  bool any_subset_ = true;     // the first nodes that are enough are those that are chosen
  bool every_change_ = false;  // more than counts matters
  mutable fit::Room scratch_;
  std::map<Tick, Known> indexes_;  // by duration
  // Finders whose jobs ask for no more, and how many of all were looked at for that.
  struct Smaller {
    const StartFinder* finder = nullptr;
    bool same_nodes = false;
    bool asks_the_same = false;  // of each node
  };
  std::vector<Smaller> smaller_;
  size_t seen_ = 0;
  std::vector<fit::Room> rooms_;         // scratch
  std::vector<fit::PartitionUse> uses_;  // scratch
};

}  // namespace sluice::sched
