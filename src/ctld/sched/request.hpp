// What a job asks for in one partition, worked out; the same for all jobs of one demand.
#pragma once

#include <optional>

#include "common/base/bitmap.hpp"
#include "ctld/fit/needs.hpp"
#include "ctld/sched/topology/switches.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::sched {

struct Request {
  const state::Partition* partition = nullptr;
  fit::Needs needs;
  Bitmap required, excluded;      // NodeIds
  uint32_t sharers = 1;           // jobs that may hold one core (OverSubscribe)
  bool unknown_node = false;      // a node list names a node that is no more
  fit::FeatureExpression prefer;  // tried first, in place of those that it needs
  Bitmap first;                   // NodeIds; these are tried first, whatever they weigh
  SwitchRequest switches;
  uint32_t segment = 0;  // of topology/block; 0: none
  bool spread_segments = false;
  bool groups_alone = false;                 // its leaf switches or blocks are to be its own
  const Reservation* reservation = nullptr;  // in which it would run; null: in none
  std::optional<state::NodeHold> confined;   // to what the reservation has
  // when another reservation wants its nodes (--signal=R:)
  std::optional<Duration> leaves_within;
};

// In this reservation (null: in none) in place of the one that the job names. kInvalidFeature and
// what else fit::needs_of() refuses.
[[nodiscard]] Result<Request> request_in(const state::ClusterState& state, const fit::Rules& rules,
                                         const Job& job, const state::Partition& partition,
                                         const Reservation* reservation);
// In the reservation that it names.
[[nodiscard]] Result<Request> request_of(const state::ClusterState& state, const fit::Rules& rules,
                                         const Job& job, const state::Partition& partition);

// Whether a node with these features is one that the job needs or prefers.
[[nodiscard]] bool serves_unchanged(const Request& request,
                                    const std::vector<std::string>& features);

// What a job insists on while it has not waited long.
struct Patience {
  uint32_t most_switches = 0;  // leaf switches it may use; 0: any number
  bool may_change = true;      // nodes may be changed for its features (--delay-boot is over)
  Time until = kNever;         // it insists on less then
  // On all that `other` insists on: where that finds no place, this finds none.
  [[nodiscard]] bool insists_on(const Patience& other) const {
    const bool switches =
        other.most_switches == 0 || (most_switches != 0 && most_switches <= other.most_switches);
    return switches && (!may_change || other.may_change);
  }
};
// `has_switches`: there is a topology.
[[nodiscard]] Patience patience_of(const Request& request, const Job& job, Time now,
                                   bool has_switches);

}  // namespace sluice::sched
