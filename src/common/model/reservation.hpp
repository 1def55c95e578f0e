// A reservation: nodes and licenses that are kept for some users, or for nobody, for some time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/time.hpp"
#include "common/model/gres.hpp"

namespace sluice {

// A bit each; values are journaled: add, never renumber.
using ReservationFlags = uint64_t;
// may overlap others, and nobody else's jobs run
inline constexpr ReservationFlags kReservationMaint = 1U << 0;
// its jobs may begin before, end after, use others
inline constexpr ReservationFlags kReservationFlex = 1U << 1;
// its nodes may be in others, too
inline constexpr ReservationFlags kReservationOverlap = 1U << 2;
// made although jobs run there
inline constexpr ReservationFlags kReservationIgnoreJobs = 1U << 3;
inline constexpr ReservationFlags kReservationHourly = 1U << 4;  // comes again
inline constexpr ReservationFlags kReservationDaily = 1U << 5;
inline constexpr ReservationFlags kReservationWeekday = 1U << 6;
inline constexpr ReservationFlags kReservationWeekend = 1U << 7;
inline constexpr ReservationFlags kReservationWeekly = 1U << 8;
inline constexpr ReservationFlags kReservationSpecNodes = 1U << 9;  // its nodes were named
inline constexpr ReservationFlags kReservationAllNodes = 1U << 10;  // Nodes=ALL
// its nodes are of any partition, and its jobs may use others, too; needs none when it has licenses
inline constexpr ReservationFlags kReservationAnyNodes = 1U << 11;
inline constexpr ReservationFlags kReservationStatic = 1U << 12;  // no node is ever replaced
// all nodes that its partition has at any time
inline constexpr ReservationFlags kReservationPartNodes = 1U << 13;
// start and end are so far from now
inline constexpr ReservationFlags kReservationTimeFloat = 1U << 14;
// nodes that jobs use or that fail are replaced
inline constexpr ReservationFlags kReservationReplace = 1U << 15;
// nodes that fail are replaced
inline constexpr ReservationFlags kReservationReplaceDown = 1U << 16;
// gone when no job has used it for purge_after
inline constexpr ReservationFlags kReservationPurge = 1U << 17;
// its waiting jobs go on without it
inline constexpr ReservationFlags kReservationNoHold = 1U << 18;
// draws jobs that name no reservation
inline constexpr ReservationFlags kReservationMagnetic = 1U << 19;
inline constexpr ReservationFlags kReservationUserDelete = 1U << 20;  // its users may delete it
inline constexpr ReservationFlags kReservationRecurs = kReservationHourly | kReservationDaily |
                                                       kReservationWeekday | kReservationWeekend |
                                                       kReservationWeekly;

// Cores of one node.
struct ReservedCores {
  uint32_t node = 0;  // NodeId
  Bitmap cores;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &ReservedCores::node);
    field(2, "cores", &ReservedCores::cores);
  }
};

// Generic resources of one node.
struct ReservedGres {
  uint32_t node = 0;  // NodeId
  GresShares shares;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &ReservedGres::node);
    field(2, "shares", &ReservedGres::shares);
  }
};

struct Reservation {
  uint32_t id = 0;
  std::string name;
  // of the present or next occurrence; with kReservationTimeFloat: this long after the epoch
  Time start = kNoTime;
  Time end = kNoTime;  // means this long after now
  ReservationFlags flags = 0;
  Bitmap nodes;             // NodeIds
  uint32_t node_count = 0;  // as asked for by number; 0: by name
  std::string partition;    // where its nodes come from
  std::string features;
  // As they are shown; a list whose names begin with "-" lets everybody in but these.
  std::string users, groups, accounts;
  std::vector<uint32_t> uids;  // that `users` or `groups` name, sorted
  std::string comment;
  Duration max_start_delay{0};
  Duration purge_after{0};
  // no job has used it since it started or since then (kReservationPurge)
  Time idle_since = kNoTime;
  std::string licenses;              // as they are shown
  std::vector<ReservedCores> cores;  // of each of its nodes; none and no `gres`: whole nodes
  bool begun = false;  // ResvProlog has been run for this occurrence, and ResvEpilog has not
  // of its nodes; those have whole nodes no more: but for `cores` of these any cores do
  std::vector<ReservedGres> gres;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &Reservation::id);
    field(2, "name", &Reservation::name);
    field(3, "start", &Reservation::start);
    field(4, "end", &Reservation::end);
    field(5, "flags", &Reservation::flags);
    field(6, "nodes", &Reservation::nodes);
    field(7, "node_count", &Reservation::node_count);
    field(8, "partition", &Reservation::partition);
    field(9, "features", &Reservation::features);
    field(10, "users", &Reservation::users);
    field(11, "groups", &Reservation::groups);
    field(12, "accounts", &Reservation::accounts);
    field(13, "uids", &Reservation::uids);
    field(14, "comment", &Reservation::comment);
    field(15, "max_start_delay", &Reservation::max_start_delay);
    field(16, "purge_after", &Reservation::purge_after);
    field(17, "idle_since", &Reservation::idle_since);
    field(18, "licenses", &Reservation::licenses);
    field(19, "cores", &Reservation::cores);
    field(20, "begun", &Reservation::begun);
    field(21, "gres", &Reservation::gres);
  }
};
using Reservations = std::vector<Reservation>;  // in the order in which they were made

}  // namespace sluice
