// Which nodes reservations keep, when, and for whom: what the scheduler, the check of its starts
// and the commands ask.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

struct Period {
  Time start = kNoTime;
  Time end = kNoTime;
};

// What is kept of nodes, for some or from some.
struct NodeHold {
  Bitmap whole;                    // nodes of which it is all
  std::map<NodeId, Bitmap> cores;  // of the others
  std::map<NodeId, GresShares> gres;

  void add(const NodeHold& other);
  [[nodiscard]] bool none() const { return whole.none() && cores.empty() && gres.empty(); }
  // Whether a part of the node is kept.
  [[nodiscard]] bool has_part(NodeId node) const {
    return cores.contains(node) || gres.contains(node);
  }
  // Nodes of which a part is kept; all of which something is.
  [[nodiscard]] Bitmap parts() const;
  [[nodiscard]] Bitmap nodes() const;
  // Whether the job's part of a node is touched; whether it has all of that part. Of generic
  // resources that are only counted nothing can be touched: see leaves_reserved_counts().
  [[nodiscard]] bool touches(const NodeAllocation& part) const;
  [[nodiscard]] bool covers(const NodeAllocation& part) const;
};

// Whether the name stands in the list, whose names are separated by commas.
[[nodiscard]] bool is_named(std::string_view list, std::string_view name);
[[nodiscard]] const Reservation* find_reservation(const ClusterState& state, std::string_view name);
// The present or next occurrence; a floating one is always so far away as it was asked for.
[[nodiscard]] Period period_of(const Reservation& reservation, Time now);
// The occurrence after this one.
[[nodiscard]] Period next_period(const Period& period, ReservationFlags flags);
// The present or next occurrence and those after it that begin before `to`, in order: of one that
// comes again 400 at most, which are planned for.
[[nodiscard]] std::vector<Period> planned_periods(const Reservation& reservation, Time now,
                                                  Time to = kNever);
[[nodiscard]] bool is_active(const Reservation& reservation, Time now);
// Whether an occurrence, this one or a later one, has part in [from, to).
[[nodiscard]] bool overlaps(const Reservation& reservation, Time from, Time to, Time now);
// The reservation as it is from its next occurrence on.
void move_on(Reservation& reservation);
// Whether both ever hold at the same time; of two that come again, for as long as can be told.
[[nodiscard]] bool ever_meet(const Reservation& a, const Reservation& b, Time now);
// Whether jobs of `own` may use nodes that `other` has, too: it was made to overlap, one of them.
[[nodiscard]] bool gives_way(const Reservation& other, const Reservation& own);
// Every node that is there.
[[nodiscard]] Bitmap all_nodes(const ClusterState& state);
// Its nodes that are there (any more).
[[nodiscard]] Bitmap nodes_of(const ClusterState& state, const Reservation& reservation);
// The same, with the cores where it has not whole nodes.
[[nodiscard]] NodeHold hold_of(const ClusterState& state, const Reservation& reservation);
// Whether a job of the user and account may; a list of accounts means those below them, too.
[[nodiscard]] bool may_use(const ClusterState& state, const Reservation& reservation, uint32_t uid,
                           std::string_view account);
// Whether some job of the user may: with one of the accounts that he has.
[[nodiscard]] bool may_use_at_all(const ClusterState& state, const Reservation& reservation,
                                  uint32_t uid);

// The reservations that the job names, or (naming none) those that draw it, as far as it may begin
// in them now. `named`: it names some; then it begins in one of them or not at all. `invalid`: it
// never does, as none of them is there any more and lets it in.
struct ReservationChoice {
  bool named = false;
  bool invalid = false;
  std::vector<const Reservation*> usable;
};
[[nodiscard]] ReservationChoice choose_reservations(const ClusterState& state, const Job& job,
                                                    Time now);
// The first that the job names and that is there; null: none.
[[nodiscard]] const Reservation* named_reservation(const ClusterState& state, const JobSpec& spec);

// Until when a job that would run to `to` can be in the nodes of `own` (it is ended with it).
[[nodiscard]] Time last_moment(const Reservation* own, Time to, Time now);
// How soon a job leaves its nodes when a reservation wants them (--signal=R:); nullopt: it stays.
[[nodiscard]] std::optional<Duration> leaves_within(const JobSpec& spec);
// Whether such a job may run in the reservation's nodes all the same: it delays it by no more than
// MaxStartDelay.
[[nodiscard]] bool lets_in(const Reservation& reservation, std::optional<Duration> leaves_within);

// What jobs of `own` (null: of none) may not use while `other` holds. `in_force`: `own` holds, too,
// so that most others give way to it; jobs of a FLEX reservation run out of its time as well.
[[nodiscard]] NodeHold closed_by(const ClusterState& state, const Reservation& other,
                                 const Reservation* own, std::optional<Duration> leaves_within,
                                 bool in_force = true);

// When and as whom a job would run.
struct PlannedUse {
  const Reservation* own = nullptr;  // null: in none
  Time from = kNoTime, to = kNoTime;
  std::optional<Duration> leaves_within = {};
};
// What it may not use then, since it is others'.
[[nodiscard]] NodeHold closed_to(const ClusterState& state, const PlannedUse& use, Time now);
// What a job of `own` is confined to; nullopt: it is not.
[[nodiscard]] std::optional<NodeHold> confines(const ClusterState& state, const Reservation* own);

// Generic resources of nodes: units, which are told apart, and amounts of what is only counted.
// Whether something is held of the units.
[[nodiscard]] bool uses_units_of(const GresShares& held, const GresShares& units);
// Whether all that is held of names that `kept` has is of that.
[[nodiscard]] bool is_within(const GresShares& held, const GresShares& kept);
[[nodiscard]] GresShares gres_without(GresShares shares, const GresShares& less);
// Of names that `kept` has: what else the node has.
[[nodiscard]] GresShares gres_beside(const Node& node, const GresShares& kept);
// Nobody else has the same: the unit, or so many of what is counted.
[[nodiscard]] bool is_counted(const GresShare& share);
[[nodiscard]] GresShares units_only(GresShares shares);
// How many of the kind the node has.
[[nodiscard]] uint64_t total_of(const Node& node, const GresShare& like);
// What of the reservation is counted on a node.
[[nodiscard]] uint64_t counted_in(const Reservation& reservation, NodeId node,
                                  const GresShare& like);

// Whether a job with these parts of nodes leaves to (other) reservations what they keep of counted
// resources, now and when they begin, and has of its own no more than that has.
[[nodiscard]] bool leaves_reserved_counts(const ClusterState& state, const PlannedUse& use,
                                          std::span<const NodeAllocation> nodes, Time now);

// Submission and update: each that the job names is there, open to it and large enough.
[[nodiscard]] Status check_reservations(const ClusterState& state, const JobSpec& spec);
// May jobs begin now? What reservations keep from them is worked out once for all that end at the
// same time.
class BeginningJobs {
 public:
  // `state` outlives this; its reservations are those that hold for all who are asked about.
  BeginningJobs(const ClusterState& state, Time now) : state_(state), now_(now) {}
  // In this reservation (empty: in none), on these nodes, until `end`?
  [[nodiscard]] bool may_begin(const Job& job, std::string_view reservation,
                               const Allocation& allocation, Time end);

 private:
  struct Bounds {
    NodeHold closed;
    std::optional<NodeHold> confined;
  };
  const Bounds& bounds(const PlannedUse& use);

  const ClusterState& state_;
  const Time now_;
  // by the reservation's id (0: none), end and leaves_within
  std::map<std::tuple<uint64_t, Time, std::optional<Duration>>, Bounds> bounds_;
};

// The reservations that hold now, for a look at many nodes.
class ActiveReservations {
 public:
  // `state` outlives this.
  ActiveReservations(const ClusterState& state, Time now);
  // MAINT and RESERVED, as they are shown.
  [[nodiscard]] NodeFlags flags_of(NodeId node) const;
  // Those that have the node, separated by commas.
  [[nodiscard]] std::string names_of(NodeId node) const;

 private:
  struct Entry {
    const Reservation* reservation = nullptr;
    Bitmap nodes;
  };
  std::vector<Entry> entries_;
};

}  // namespace sluice::state
