// The rooms of a pass: what every node has free, less what the pass has given away, and what is
// kept for jobs of higher priority from some time on.
//
// Within a pass rooms only shrink and reservations only grow, so a demand that failed once fails
// for the rest of it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/base/bitmap.hpp"
#include "ctld/fit/place.hpp"
#include "ctld/sched/switches.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::sched {

// What a job asks for in one partition, worked out; the same for all jobs of one demand.
struct Ask {
  const state::Partition* partition = nullptr;
  fit::Needs needs;
  Bitmap required, excluded;      // NodeIds
  uint32_t sharers = 1;           // jobs that may hold one core (OverSubscribe)
  bool unknown_node = false;      // a node list names a node that is no more
  fit::FeatureExpression prefer;  // nodes with these are tried first
  SwitchWish switches;
  const Reservation* reservation = nullptr;  // in which it would run; null: in none
  std::optional<Bitmap> confined;            // to nodes of the reservation
  // when another reservation wants its nodes (--signal=R:)
  std::optional<Duration> leaves_within;
};

// Where and when a job that waits is expected to start.
struct Forecast {
  Time start = kNoTime;
  Bitmap nodes;
};

// From when a node is kept for a job that waits, and what that job leaves of it.
struct Kept {
  Time from = kNever;
  JobId job = kNoJob;
  uint32_t spare_cores = 0;
  uint64_t spare_memory_mib = 0;
  std::vector<uint64_t> spare_gres = {};  // by kind of the node; empty: the job needs none
};

// What a job insists on while it has not waited long.
struct Patience {
  uint32_t most_switches = 0;  // leaf switches it may use; 0: any number
  bool may_change = true;      // nodes may be changed for its features (--delay-boot is over)
  Time until = kNever;         // it insists on less then
  // On all that `other` insists on: where that finds no room, this finds none.
  [[nodiscard]] bool insists_on(const Patience& other) const {
    const bool switches =
        other.most_switches == 0 || (most_switches != 0 && most_switches <= other.most_switches);
    return switches && (!may_change || other.may_change);
  }
};

class Rooms {
 public:
  using Placed = std::optional<std::vector<NodeAllocation>>;

  // `state` outlives this.
  Rooms(const state::ClusterState& state, Time now);

  [[nodiscard]] Result<Ask> ask_of(const Job& job, const state::Partition& partition) const;
  // The same, in this reservation (null: in none) in place of the one that it names.
  [[nodiscard]] Result<Ask> ask_in(const Job& job, const state::Partition& partition,
                                   const Reservation* reservation) const;

  // A placement on what is free now. Nodes kept for others are used as far as the job is gone by
  // then, or leaves them enough.
  [[nodiscard]] Placed place_now(const Ask& ask, Minutes limit, const Patience& patience = {});
  [[nodiscard]] Patience patience(const Ask& ask, const Job& job) const;
  // The job holds this from now on, until its limit.
  void take(const Job& job, const Ask& ask, const std::vector<NodeAllocation>& allocation,
            Minutes limit);

  // How long these nodes are free until the first of them is kept for another job;
  // kInfiniteMinutes: none is.
  [[nodiscard]] Minutes minutes_before_others(const std::vector<NodeAllocation>& nodes) const;

  // What take() does from begin_trial() on is undone by end_trial(false).
  void begin_trial();
  void end_trial(bool keep);

  // Jobs that start at the same time: one, or the components of a heterogeneous job.
  struct Wish {
    const Job* job = nullptr;
    const Ask* ask = nullptr;
  };
  // The earliest time at which running jobs, ending at their limits, leave room for all of these;
  // their nodes are kept for them from then on. Nodes that a job may have changed only later
  // (--delay-boot) are not. nullopt: never.
  std::optional<Forecast> reserve_earliest(std::vector<Wish> wishes);

  // How long a running job would be left if it had to make room; nullopt: it has not to.
  using GraceOf = std::function<std::optional<Duration>(const Job&)>;
  struct MadeRoom {
    Forecast forecast;         // when all of it is free, as far as can be told, and the nodes
    std::vector<JobId> leave;  // who has to make room; empty: those that leave anyway are enough
  };
  // Room for a job that finds none, when jobs that leave already are gone and, if that is not
  // enough, others that make room: as few as can be told, those first that partition tier, size and
  // (youngest_first) age put first. It is taken for the job. nullopt: there is none even so.
  std::optional<MadeRoom> make_room(const Wish& wish, Minutes limit, const GraceOf& grace_of);

  // The same placement with nothing running, on schedulable nodes or (`any_state`) on all.
  [[nodiscard]] Placed place_empty(const Ask& ask, bool any_state);
  // With nothing running, beside the reservations that hold before the job would end.
  [[nodiscard]] Placed place_beside_reservations(const Ask& ask, Minutes limit);

  // --- for explanations
  // ---------------------------------------------------------------------------
  [[nodiscard]] const fit::Rules& rules() const { return rules_; }
  [[nodiscard]] Time now() const { return now_; }
  // Nodes that the job's reservation, or others' that hold before it would end, keep it off;
  // excluded ones, too.
  [[nodiscard]] Bitmap closed_until_end(const Ask& ask, Minutes limit) const {
    return closed_to(ask, now_, end_of(limit));
  }
  // What is free on the node; null: it is not schedulable.
  [[nodiscard]] const fit::Room* room(NodeId id) const;
  [[nodiscard]] const Kept& kept(NodeId id) const { return kept_[id]; }
  // What jobs of the partition, which has bounds, hold of the node: those that this pass starts
  // among them.
  [[nodiscard]] fit::PartitionUse held_on(const state::Partition& partition, NodeId id) const;
  // What of a schedulable node a job with this limit may use.
  [[nodiscard]] fit::Room free_for(NodeId id, Minutes limit) const;
  // When a job that starts now with this limit gives its nodes back; UNLIMITED counts as a year.
  [[nodiscard]] Time end_of(Minutes limit) const;

 private:
  // A partition's nodes in the order in which they are tried.
  struct Order {
    std::vector<NodeId> nodes;
    size_t first_free = 0;  // those before it have no free CPU
  };
  // A job that holds nodes, by the time it gives them back.
  struct Holder {
    Time end = kNoTime;
    JobId job = kNoJob;
    const std::vector<NodeAllocation>* nodes = nullptr;
    const Bitmap* released = nullptr;  // positions given back already; may be null
    bool whole = false;
    uint32_t sharers = 1;
    uint32_t uid = 0;
    bool one_user = false;
    const state::Partition* partition = nullptr;  // null: it is no more

    [[nodiscard]] bool gave_back(size_t at) const {
      return released != nullptr && released->test(at);
    }
  };
  using Uses = std::unordered_map<NodeId, fit::PartitionUse>;

  [[nodiscard]] Order& order_of(const state::Partition& partition);
  [[nodiscard]] std::vector<NodeId> make_order(const state::Partition& partition) const;
  // The room as a job that ends at `ends` may use it; may point to `scratch`.
  [[nodiscard]] const fit::Room* usable(const fit::Room& room, Time ends, fit::Room& scratch) const;
  // What is left to the job of a room, or null; with `preferred` only rooms with the features it
  // would like.
  [[nodiscard]] const fit::Room* offer(const Ask& ask, NodeId id, Time ends, bool preferred,
                                       fit::Room& scratch);
  // The same, kept up to date by take().
  [[nodiscard]] fit::PartitionUse& use_on(const state::Partition& partition, NodeId id);
  // On all nodes when these holders are gone; only of a partition with bounds.
  [[nodiscard]] Uses uses_without(const state::Partition& partition,
                                  const std::vector<bool>& gone) const;
  // Nodes that the job may not use in this time: excluded ones, and those of reservations.
  [[nodiscard]] Bitmap closed_to(const Ask& ask, Time from, Time to) const;
  void close_for(const Ask& ask, Time to) { closed_ = closed_to(ask, now_, to); }
  [[nodiscard]] Placed place_empty_but(const Ask& ask, bool any_state, const Bitmap& closed);
  [[nodiscard]] Placed place_free(const Ask& ask, Time ends, bool preferred,
                                  uint32_t most_switches);
  [[nodiscard]] Placed place_free_or_shared(const Ask& ask, Time ends, uint32_t most_switches);
  [[nodiscard]] Placed place_among(const Ask& ask, std::span<const fit::Room* const> rooms,
                                   uint32_t most_switches) const;
  [[nodiscard]] Placed place_on_one_node(const Ask& ask, Time ends, bool preferred);
  [[nodiscard]] Placed place_shared(const Ask& ask, Time ends);
  void find_holders();
  // Holders that are looked at as gone, by their position in holders_.
  using Gone = std::vector<bool>;
  [[nodiscard]] Gone first_ended(size_t count) const;  // so many, by their ends
  // Rooms as they are when these are gone.
  [[nodiscard]] std::vector<fit::Room> rooms_without(const Gone& gone) const;
  struct Leaver {  // who could make room
    size_t holder = 0;
    Duration grace{0};
  };
  // who goes first comes first
  [[nodiscard]] std::vector<Leaver> find_leavers(const GraceOf& grace_of) const;
  // Of those that are gone the leavers that the placement needs; it is made anew as they become
  // fewer.
  [[nodiscard]] std::vector<Leaver> needed_leavers(const Wish& wish, Time ends,
                                                   std::vector<Leaver> leavers, Gone& gone,
                                                   std::vector<NodeAllocation>& placed) const;
  // The least number of leavers that is enough, with their placement; `leavers` are those then.
  [[nodiscard]] Placed place_with_leavers(const Wish& wish, Time ends, std::vector<Leaver>& leavers,
                                          Gone& gone) const;
  void have_leave(const Leaver& leaver);
  [[nodiscard]] bool starts_now(const Holder& holder) const;  // in this pass
  [[nodiscard]] Placed place_without(const Ask& ask, Time ends, const Gone& gone,
                                     const Bitmap* only = nullptr) const;
  [[nodiscard]] bool touches(const Holder& holder, const Bitmap& nodes) const;
  // That fewer than `sharers` jobs of the partition hold, and none of others.
  [[nodiscard]] Bitmap shareable_cores(const fit::Room& room, const state::Partition& partition,
                                       uint32_t sharers) const;
  [[nodiscard]] Placed place_later(const Ask& ask, const std::vector<fit::Room>& later,
                                   const Bitmap& closed) const;
  // One placement a wish, each on what the ones before leave when so many holders are gone; empty:
  // not all find room.
  using Placements = std::vector<std::vector<NodeAllocation>>;
  [[nodiscard]] Placements place_all(const std::vector<Wish>& wishes, size_t ended, Time at) const;
  // A time at which all of them find room, and how many holders are gone by then.
  struct Moment {
    Time at = kNoTime;
    size_t ended = 0;
  };
  [[nodiscard]] std::optional<Moment> first_end(const std::vector<Wish>& wishes) const;
  // where reservations come and go
  [[nodiscard]] std::optional<Moment> first_moment(const std::vector<Wish>& wishes) const;
  void keep(const Wish& wish, Time from, const std::vector<NodeAllocation>& placed,
            std::vector<fit::Room>& later);

  const state::ClusterState& state_;
  const Time now_;
  const fit::Rules rules_;
  const SwitchTree tree_;
  std::vector<fit::Room> rooms_;  // by NodeId; without configuration: not schedulable
  std::vector<Kept> kept_;        // by NodeId
  std::unordered_map<const state::Partition*, Order> orders_;
  // of partitions with bounds, where they were looked at
  std::unordered_map<const state::Partition*, Uses> uses_;
  bool holders_found_ = false;
  std::vector<Holder> holders_;        // by end, once found
  std::vector<Holder> started_;        // by this pass; moved there then
  std::unordered_set<JobId> leaving_;  // that are to make room for jobs of this pass
  std::vector<std::shared_ptr<const std::vector<NodeAllocation>>> own_;  // allocations of this pass
  struct Before {  // a node as it was when a trial began to use it
    NodeId node = kNoNode;
    fit::Room room;
    Kept kept;
    fit::PartitionUse* use = nullptr;  // of uses_; null: the partition has no bounds
    fit::PartitionUse use_before = {};
  };
  std::vector<Before> before_;
  size_t owned_before_ = 0;
  bool trying_ = false;
  // by NodeId, with nothing running; made when first asked for
  std::vector<fit::Room> empty_;
  std::vector<const fit::Room*> list_;  // scratch
  std::vector<fit::Room> made_;         // scratch
  // to the job that is being placed
  Bitmap closed_;
};

}  // namespace sluice::sched
