#include "ctld/state/rules/reservations.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "common/base/text.hpp"
#include "common/format/reservation_keys.hpp"
#include "ctld/state/rules/access.hpp"

namespace sluice::state {
namespace {

// Occurrences that are looked at of a reservation that comes again: hours of a year.
constexpr int kMostOccurrences = 9000;

// A list such as "-a,-b" lets in who is not in it.
bool excludes(std::string_view list) { return list.starts_with('-'); }

bool account_allowed(const ClusterState& state, std::string_view list, std::string_view account) {
  std::vector<std::string> names = split_list(list);
  if (!excludes(list)) return is_below(state, names, account);
  for (std::string& name : names) name.erase(0, 1);
  return !is_below(state, names, account);
}

// Whether its list of users or groups lets him in.
bool user_allowed(const Reservation& reservation, uint32_t uid) {
  const std::string& people = reservation.users.empty() ? reservation.groups : reservation.users;
  return people.empty() || std::ranges::binary_search(reservation.uids, uid) != excludes(people);
}

Bitmap all_cores(const ClusterState& state, NodeId node) {
  return Bitmap::first(state.nodes.at(node).config->cores());
}
GresShares all_gres(const ClusterState& state, NodeId node) {
  const GresInventory* inventory = state.nodes.at(node).gres.get();
  return inventory == nullptr ? GresShares() : all_of(*inventory);
}

// What jobs of `own` may use all the same, as it gives way to them.
void leave_to(const ClusterState& state, const NodeHold& own, NodeHold& closed) {
  closed.whole.and_not(own.whole);
  own.whole.for_each([&](size_t id) {
    closed.cores.erase(static_cast<NodeId>(id));
    closed.gres.erase(static_cast<NodeId>(id));
  });
  own.parts().for_each([&](size_t id) {
    const auto node = static_cast<NodeId>(id);
    if (closed.whole.test(node)) {
      closed.whole.reset(node);
      if (own.cores.contains(node)) closed.cores[node] = all_cores(state, node);
      if (own.gres.contains(node)) closed.gres[node] = all_gres(state, node);
    }
    const auto cores = own.cores.find(node);
    const auto at = closed.cores.find(node);
    if (cores != own.cores.end() && at != closed.cores.end() &&
        at->second.and_not(cores->second).none())
      closed.cores.erase(at);
    const auto gres = own.gres.find(node);
    const auto kept = closed.gres.find(node);
    if (gres == own.gres.end() || kept == closed.gres.end()) return;
    kept->second = gres_without(std::move(kept->second), gres->second);
    if (kept->second.empty()) closed.gres.erase(kept);
  });
}

// Whose units those of a share are: parts (shard, mps) are of GPUs.
std::string_view owner_of(const GresShare& share) {
  return is_shared_gres(share.name) ? std::string_view("gpu") : share.name.view();
}

bool names(const GresShares& shares, std::string_view name) {
  return std::ranges::any_of(shares, [&](const GresShare& one) { return one.name == name; });
}

Bitmap units_of(const GresShares& shares, std::string_view name) {
  Bitmap units;
  for (const GresShare& share : shares) {
    if (share.name == name) units |= share.units;
  }
  return units;
}

uint64_t count_like(const GresShare& like, const GresShares& shares) {
  for (const GresShare& share : shares) {
    if (is_counted(share) && share.name == like.name && share.type == like.type) return share.count;
  }
  return 0;
}

// What jobs hold of one kind at a moment.
class CountsOfJobs {
 public:
  CountsOfJobs(const ClusterState& state, const Node& node, const GresShare& like) {
    for (const JobId id : node.jobs) {
      const Job& job = state.jobs.at(id);
      if (!job.allocation) continue;
      const bool endless = job.end == kNoTime || job.end >= kNever;
      for (const NodeAllocation& part : job.allocation->nodes) {
        if (part.node != node.id) continue;
        const uint64_t count = count_like(like, part.gres);
        if (count > 0) held_.push_back({job.reservation.view(), endless ? kNever : job.end, count});
      }
    }
  }
  // Of jobs in the reservation that last beyond `at`; what is overdue is held now.
  [[nodiscard]] uint64_t in(std::string_view reservation, Time at, bool is_now) const {
    uint64_t sum = 0;
    for (const Held& one : held_) {
      if (one.reservation == reservation && (is_now || one.end > at)) sum += one.count;
    }
    return sum;
  }
  [[nodiscard]] uint64_t all(Time at, bool is_now) const {
    uint64_t sum = 0;
    for (const Held& one : held_) sum += is_now || one.end > at ? one.count : 0;
    return sum;
  }

 private:
  struct Held {
    std::string_view reservation;
    Time end = kNever;
    uint64_t count = 0;
  };
  std::vector<Held> held_;
};

// When reservations are in force, worked out once for all nodes of a job: a calendar is slow.
class Occurrences {
 public:
  Occurrences(Time to, Time now) : to_(to), now_(now) {}
  // Those that begin before the job's end.
  const std::vector<Period>& of(const Reservation& reservation) {
    const auto [found, is_new] = known_.try_emplace(reservation.id);
    if (is_new) found->second = planned_periods(reservation, now_, to_);
    return found->second;
  }

 private:
  const Time to_, now_;
  std::unordered_map<uint32_t, std::vector<Period>> known_;  // by id
};

// It keeps so many of what is counted.
struct Keeper {
  const Reservation* reservation = nullptr;
  const std::vector<Period>* periods = nullptr;
  uint64_t kept = 0;

  [[nodiscard]] bool keeps_at(Time at) const {
    const auto behind = std::ranges::upper_bound(*periods, at, {}, &Period::start);
    return behind != periods->begin() && at < std::prev(behind)->end;
  }
};

// Now, and when each of them begins as long as the job lasts: the moments at which the least is
// left.
std::vector<Time> moments_of(const std::vector<Keeper>& keepers, Time now) {
  std::vector<Time> moments{now};
  for (const Keeper& one : keepers) {
    for (const Period& period : *one.periods) {
      if (period.start > now) moments.push_back(period.start);
    }
  }
  return moments;
}

bool leaves_counted(const ClusterState& state, const PlannedUse& use, const NodeAllocation& part,
                    const GresShare& share, Time now, Occurrences& occurrences) {
  std::vector<Keeper> keepers;
  uint64_t own = 0;
  if (use.own != nullptr) own = counted_in(*use.own, part.node, share);
  for (const Reservation& other : *state.reservations) {
    const bool is_own = use.own != nullptr && other.id == use.own->id;
    if (is_own || lets_in(other, use.leaves_within)) continue;
    uint64_t kept = counted_in(other, part.node, share);
    if (use.own != nullptr && gives_way(other, *use.own)) kept -= std::min(kept, own);
    if (kept > 0) keepers.push_back({&other, &occurrences.of(other), kept});
  }
  if (keepers.empty() && own == 0) return true;
  const Node& node = state.nodes.at(part.node);
  const CountsOfJobs held(state, node, share);
  constexpr ReservationFlags kOpen = kReservationFlex | kReservationAnyNodes;
  const bool confined = own > 0 && (use.own->flags & kOpen) == 0;
  if (confined && held.in(use.own->name, now, true) + share.count > own) return false;
  const uint64_t total = total_of(node, share);
  return std::ranges::all_of(moments_of(keepers, now), [&](Time at) {
    const bool is_now = at == now;
    uint64_t taken = held.all(at, is_now);
    for (const Keeper& one : keepers) {
      const uint64_t used = held.in(one.reservation->name, at, is_now);
      if (used < one.kept && one.keeps_at(at)) taken += one.kept - used;
    }
    return taken + share.count <= total;
  });
}

}  // namespace

bool is_counted(const GresShare& share) { return share.units.none() && !share.no_consume; }

GresShares units_only(GresShares shares) {
  std::erase_if(shares, is_counted);
  return shares;
}

uint64_t total_of(const Node& node, const GresShare& like) {
  uint64_t total = 0;
  if (node.gres == nullptr) return total;
  for (const GresKind& kind : node.gres->kinds) {
    if (kind.name == like.name && kind.type == like.type) total += kind.count;
  }
  return total;
}

bool uses_units_of(const GresShares& held, const GresShares& units) {
  return std::ranges::any_of(held, [&](const GresShare& share) {
    return !share.no_consume && share.units.intersects(units_of(units, owner_of(share)));
  });
}

bool is_within(const GresShares& held, const GresShares& kept) {
  return std::ranges::all_of(held, [&](const GresShare& share) {
    const std::string_view owner = owner_of(share);
    if (share.no_consume || !names(kept, owner)) return true;
    if (is_counted(share)) return share.count <= count_like(share, kept);
    return units_of(kept, owner).contains(share.units);
  });
}

GresShares gres_without(GresShares shares, const GresShares& less) {
  for (GresShare& share : shares) {
    if (is_counted(share)) {
      share.count -= std::min(share.count, count_like(share, less));
    } else {
      share.units.and_not(units_of(less, share.name.view()));
      share.count = share.units.count();
    }
  }
  std::erase_if(shares, [](const GresShare& share) { return share.count == 0; });
  return shares;
}

GresShares gres_beside(const Node& node, const GresShares& kept) {
  if (node.gres == nullptr) return {};
  GresShares all = all_of(*node.gres);
  std::erase_if(all, [&](const GresShare& share) {
    return share.no_consume || !names(kept, share.name.view());
  });
  return gres_without(std::move(all), kept);
}

uint64_t counted_in(const Reservation& reservation, NodeId node, const GresShare& like) {
  const auto at = std::ranges::find(reservation.gres, node, &ReservedGres::node);
  return at == reservation.gres.end() ? 0 : count_like(like, at->shares);
}

bool leaves_reserved_counts(const ClusterState& state, const PlannedUse& use,
                            std::span<const NodeAllocation> nodes, Time now) {
  Occurrences occurrences(use.to, now);
  return std::ranges::all_of(nodes, [&](const NodeAllocation& part) {
    return std::ranges::all_of(part.gres, [&](const GresShare& share) {
      return !is_counted(share) || leaves_counted(state, use, part, share, now, occurrences);
    });
  });
}

void NodeHold::add(const NodeHold& other) {
  whole |= other.whole;
  for (const auto& [node, part] : other.cores) cores[node] |= part;
  for (const auto& [node, part] : other.gres) add_shares(gres[node], part);
  std::erase_if(cores, [&](const auto& one) { return whole.test(one.first); });
  std::erase_if(gres, [&](const auto& one) { return whole.test(one.first); });
}

Bitmap NodeHold::parts() const {
  Bitmap nodes;
  for (const auto& [node, part] : cores) nodes.set(node);
  for (const auto& [node, part] : gres) nodes.set(node);
  return nodes;
}

Bitmap NodeHold::nodes() const { return whole | parts(); }

bool NodeHold::touches(const NodeAllocation& part) const {
  if (whole.test(part.node)) return true;
  const auto at = cores.find(part.node);
  if (at != cores.end() && at->second.intersects(part.cores)) return true;
  const auto units = gres.find(part.node);
  return units != gres.end() && uses_units_of(part.gres, units->second);
}

bool NodeHold::covers(const NodeAllocation& part) const {
  if (whole.test(part.node)) return true;
  const auto at = cores.find(part.node), none = cores.end();
  if (at != none && !at->second.contains(part.cores)) return false;
  const auto units = gres.find(part.node);
  if (units == gres.end()) return at != none;
  return is_within(part.gres, units->second);
}

bool is_named(std::string_view list, std::string_view name) {
  const std::vector<std::string> names = split_list(list);
  return std::ranges::find(names, name) != names.end();
}

const Reservation* find_reservation(const ClusterState& state, std::string_view name) {
  const auto at = std::ranges::find(*state.reservations, name, &Reservation::name);
  return at == state.reservations->end() ? nullptr : &*at;
}

Period period_of(const Reservation& reservation, Time now) {
  if ((reservation.flags & kReservationTimeFloat) == 0) return {reservation.start, reservation.end};
  return {now + reservation.start.time_since_epoch(), now + reservation.end.time_since_epoch()};
}

Period next_period(const Period& period, ReservationFlags flags) {
  const Time start = next_occurrence(period.start, flags);
  return {start, start + (period.end - period.start)};
}

std::vector<Period> planned_periods(const Reservation& reservation, Time now, Time to) {
  constexpr int kMost = 400;
  const bool recurs = (reservation.flags & kReservationRecurs) != 0;
  Period period = period_of(reservation, now);
  std::vector<Period> periods;
  for (int n = 0; n < (recurs ? kMost : 1) && period.start < to; ++n) {
    periods.push_back(period);
    if (recurs) period = next_period(period, reservation.flags);
  }
  return periods;
}

bool is_active(const Reservation& reservation, Time now) {
  const Period period = period_of(reservation, now);
  return period.start <= now && now < period.end;
}

bool overlaps(const Reservation& reservation, Time from, Time to, Time now) {
  Period period = period_of(reservation, now);
  for (int n = 0; n < kMostOccurrences; ++n) {
    if (to <= period.start) return false;
    if (from < period.end) return true;
    if ((reservation.flags & kReservationRecurs) == 0) return false;
    period = next_period(period, reservation.flags);
  }
  return false;
}

bool gives_way(const Reservation& other, const Reservation& own) {
  return (other.flags & kReservationMaint) == 0 || (own.flags & kReservationMaint) != 0;
}

void move_on(Reservation& reservation) {
  const Period next = next_period({reservation.start, reservation.end}, reservation.flags);
  reservation.start = next.start;
  reservation.end = next.end;
  reservation.begun = false;
}

bool ever_meet(const Reservation& a, const Reservation& b, Time now) {
  const bool a_recurs = (a.flags & kReservationRecurs) != 0;
  const Reservation& rarer = a_recurs ? b : a;
  const Reservation& other = a_recurs ? a : b;
  Period period = period_of(rarer, now);
  // of two that come again a year of the one is compared with all of the other
  const int most = (rarer.flags & kReservationRecurs) != 0 ? 366 : 1;
  for (int n = 0; n < most; ++n) {
    if (overlaps(other, period.start, period.end, now)) return true;
    if (most > 1) period = next_period(period, rarer.flags);
  }
  return false;
}

Bitmap all_nodes(const ClusterState& state) {
  Bitmap nodes;
  state.nodes.for_each([&](const Node& node) {
    if (!node.removed) nodes.set(node.id);
  });
  return nodes;
}

Bitmap nodes_of(const ClusterState& state, const Reservation& reservation) {
  if ((reservation.flags & kReservationPartNodes) != 0) {
    const Partition* partition = find_partition(state, reservation.partition);
    if (partition != nullptr) return partition->nodes;
  }
  Bitmap nodes = reservation.nodes;
  reservation.nodes.for_each([&](size_t id) {
    const Node* node = state.nodes.find(static_cast<NodeId>(id));
    if (node == nullptr || node->removed) nodes.reset(id);
  });
  return nodes;
}

NodeHold hold_of(const ClusterState& state, const Reservation& reservation) {
  NodeHold hold;
  hold.whole = nodes_of(state, reservation);
  const Bitmap there = hold.whole;
  for (const ReservedCores& part : reservation.cores) {
    if (!there.test(part.node)) continue;  // it is no more
    hold.whole.reset(part.node);
    hold.cores[part.node] = part.cores;
  }
  for (const ReservedGres& part : reservation.gres) {
    if (!there.test(part.node)) continue;
    hold.whole.reset(part.node);
    hold.gres[part.node] = part.shares;
  }
  return hold;
}

bool may_use(const ClusterState& state, const Reservation& reservation, uint32_t uid,
             std::string_view account) {
  return user_allowed(reservation, uid) &&
         (reservation.accounts.empty() || account_allowed(state, reservation.accounts, account));
}

bool may_use_at_all(const ClusterState& state, const Reservation& reservation, uint32_t uid) {
  if (!user_allowed(reservation, uid)) return false;
  if (reservation.accounts.empty()) return true;
  const auto user = state.accounting.names->users.find(uid);
  bool may = false;
  if (user != state.accounting.names->users.end()) {
    state.accounting.associations.for_each([&](const AssociationRecord& record) {
      may = may || (record.user == user->second &&
                    account_allowed(state, reservation.accounts, record.account));
    });
  }
  return may;
}

ReservationChoice choose_reservations(const ClusterState& state, const Job& job, Time now) {
  ReservationChoice choice;
  const JobSpec& spec = *job.spec;
  const auto take = [&](const Reservation& one) {
    const bool flexible = (one.flags & kReservationFlex) != 0 && choice.named;
    if ((flexible || is_active(one, now)) && may_use(state, one, spec.uid, spec.account.view()))
      choice.usable.push_back(&one);
  };
  choice.named = !spec.reservation.empty();
  if (choice.named) {
    choice.invalid = true;
    for (const std::string& name : split_names(spec.reservation.view())) {
      const Reservation* found = find_reservation(state, name);
      if (found == nullptr) continue;
      if (may_use(state, *found, spec.uid, spec.account.view())) choice.invalid = false;
      take(*found);
    }
    return choice;
  }
  for (const Reservation& one : *state.reservations) {
    if ((one.flags & kReservationMagnetic) != 0) take(one);
  }
  return choice;
}

const Reservation* named_reservation(const ClusterState& state, const JobSpec& spec) {
  for (const std::string& name : split_names(spec.reservation.view())) {
    const Reservation* found = find_reservation(state, name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

Time last_moment(const Reservation* own, Time to, Time now) {
  if (own == nullptr || (own->flags & kReservationFlex) != 0) return to;
  return std::min(to, period_of(*own, now).end);
}

std::optional<Duration> leaves_within(const JobSpec& spec) {
  if (!spec.signal_reservation || spec.signal == 0) return std::nullopt;
  return std::chrono::seconds(spec.signal_seconds);
}

bool lets_in(const Reservation& reservation, std::optional<Duration> leaves_within) {
  return leaves_within && reservation.max_start_delay > Duration(0) &&
         *leaves_within <= reservation.max_start_delay;
}

NodeHold closed_by(const ClusterState& state, const Reservation& other, const Reservation* own,
                   std::optional<Duration> leaves_within, bool in_force) {
  if (own != nullptr && other.id == own->id) return {};
  if (lets_in(other, leaves_within)) return {};
  NodeHold closed = hold_of(state, other);
  if (in_force && own != nullptr && gives_way(other, *own))
    leave_to(state, hold_of(state, *own), closed);
  return closed;
}

// Whether the other one holds in the part of this time in which a job's own reservation does not.
static bool meets_outside(const Reservation& other, const Reservation* own, Time from, Time until,
                          Time now) {
  if (own == nullptr || (own->flags & kReservationFlex) == 0) return false;
  const auto [start, end] = period_of(*own, now);
  return (from < start && overlaps(other, from, std::min(until, start), now)) ||
         (until > end && overlaps(other, std::max(from, end), until, now));
}

NodeHold closed_to(const ClusterState& state, const PlannedUse& use, Time now) {
  NodeHold closed;
  const Time until = last_moment(use.own, use.to, now);
  for (const Reservation& other : *state.reservations) {
    if (!overlaps(other, use.from, until, now)) continue;
    const bool in_force = !meets_outside(other, use.own, use.from, until, now);
    closed.add(closed_by(state, other, use.own, use.leaves_within, in_force));
  }
  return closed;
}

std::optional<NodeHold> confines(const ClusterState& state, const Reservation* own) {
  constexpr ReservationFlags kOpen = kReservationFlex | kReservationAnyNodes;
  if (own == nullptr || (own->flags & kOpen) != 0) return std::nullopt;
  return hold_of(state, *own);
}

Status check_reservations(const ClusterState& state, const JobSpec& spec) {
  if (spec.reservation.empty()) return {};
  const std::vector<std::string> names = split_names(spec.reservation.view());
  if (names.empty()) return failure(ErrorCode::kInvalidReservation);
  size_t fitting = 0;
  bool outside = false;
  for (const std::string& name : names) {
    const Reservation* reservation = find_reservation(state, name);
    if (reservation == nullptr) return failure(ErrorCode::kInvalidReservation);
    if (!may_use(state, *reservation, spec.uid, spec.account.view())) {
      const bool hidden = has_option(state.config->private_data, "reservations") &&
                          !may_use_at_all(state, *reservation, spec.uid);  // it is not told of
      return failure(hidden ? ErrorCode::kInvalidReservation : ErrorCode::kReservationAccess);
    }
    const auto confined = confines(state, reservation);
    bool fits = !confined || confined->nodes().count() >= std::max(1U, spec.min_nodes);
    if (confined && !spec.required_nodes.empty()) {
      const auto required = resolve_nodes(state, spec.required_nodes.view());
      const bool inside = required && confined->nodes().contains(*required);
      outside |= !inside;
      fits &= inside;
    }
    fitting += fits ? 1 : 0;
  }
  if (fitting > 0) return {};
  if (outside) return failure(ErrorCode::kNodesNotAvailable, "Problem using reservation");
  return failure(ErrorCode::kNodesNotAvailable);
}

bool BeginningJobs::may_begin(const Job& job, std::string_view reservation,
                              const Allocation& allocation, Time end) {
  const ReservationChoice choice = choose_reservations(state_, job, now_);
  const Reservation* own = nullptr;
  if (!reservation.empty()) {
    const auto at = std::ranges::find(choice.usable, reservation, &Reservation::name);
    if (at == choice.usable.end()) return false;
    own = *at;
  } else if (choice.named) {
    return false;
  }
  if (state_.reservations->empty()) return true;
  const Bounds& within = bounds({own, now_, end, leaves_within(*job.spec)});
  return std::ranges::all_of(allocation.nodes, [&](const NodeAllocation& part) {
    return !within.closed.touches(part) && (!within.confined || within.confined->covers(part));
  });
}

const BeginningJobs::Bounds& BeginningJobs::bounds(const PlannedUse& use) {
  const auto [at, fresh] =
      bounds_.try_emplace({use.own == nullptr ? 0 : use.own->id, use.to, use.leaves_within});
  if (fresh) at->second = {closed_to(state_, use, now_), confines(state_, use.own)};
  return at->second;
}

ActiveReservations::ActiveReservations(const ClusterState& state, Time now) {
  for (const Reservation& one : *state.reservations) {
    if (is_active(one, now)) entries_.push_back({&one, nodes_of(state, one)});
  }
}

NodeFlags ActiveReservations::flags_of(NodeId node) const {
  NodeFlags flags = 0;
  for (const Entry& entry : entries_) {
    if (!entry.nodes.test(node)) continue;
    flags |= kNodeReserved;
    if ((entry.reservation->flags & kReservationMaint) != 0) flags |= kNodeMaint;
  }
  return flags;
}

std::string ActiveReservations::names_of(NodeId node) const {
  std::string names;
  for (const Entry& entry : entries_) {
    if (!entry.nodes.test(node)) continue;
    if (!names.empty()) names += ',';
    names += entry.reservation->name;
  }
  return names;
}

}  // namespace sluice::state
