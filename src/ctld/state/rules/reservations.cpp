#include "ctld/state/rules/reservations.hpp"

#include <algorithm>
#include <tuple>

#include "common/base/text.hpp"
#include "common/format/reservation_keys.hpp"
#include "ctld/fit/features.hpp"

namespace sluice::state {
namespace {

// Occurrences that are looked at of a reservation that comes again: hours of a year.
constexpr int kMostOccurrences = 9000;

// A list such as "-a,-b" lets in who is not in it.
bool excludes(std::string_view list) { return list.starts_with('-'); }

bool account_allowed(std::string_view list, std::string_view account) {
  if (!excludes(list)) return is_named(list, account);
  return !is_named(list, "-" + std::string(account));
}

// Whether jobs of `own` may use nodes that `other` has, too: it was made to overlap, one of them.
bool gives_way(const Reservation& other, const Reservation& own) {
  return (other.flags & kReservationMaint) == 0 || (own.flags & kReservationMaint) != 0;
}

bool is_free_of_jobs(const ClusterState& state, const Node& node, Time from) {
  return std::ranges::none_of(node.jobs, [&](JobId id) {
    const Job& job = state.jobs.at(id);
    return job.end == kNoTime || job.end > from || is_completing(job);
  });
}

}  // namespace

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

void move_on(Reservation& reservation) {
  const Period next = next_period({reservation.start, reservation.end}, reservation.flags);
  reservation.start = next.start;
  reservation.end = next.end;
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

bool may_use(const Reservation& reservation, uint32_t uid, std::string_view account) {
  const std::string& people = reservation.users.empty() ? reservation.groups : reservation.users;
  if (!people.empty()) {
    const bool listed = std::ranges::binary_search(reservation.uids, uid);
    if (listed == excludes(people)) return false;
  }
  return reservation.accounts.empty() || account_allowed(reservation.accounts, account);
}

ReservationChoice choose_reservations(const ClusterState& state, const Job& job, Time now) {
  ReservationChoice choice;
  const JobSpec& spec = *job.spec;
  const auto take = [&](const Reservation& one) {
    const bool flexible = (one.flags & kReservationFlex) != 0 && choice.named;
    if ((flexible || is_active(one, now)) && may_use(one, spec.uid, spec.account.view()))
      choice.usable.push_back(&one);
  };
  choice.named = !spec.reservation.empty();
  if (choice.named) {
    choice.invalid = true;
    for (const std::string& name : split_list(spec.reservation.view())) {
      const Reservation* found = find_reservation(state, name);
      if (found == nullptr) continue;
      if (may_use(*found, spec.uid, spec.account.view())) choice.invalid = false;
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
  for (const std::string& name : split_list(spec.reservation.view())) {
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

Bitmap nodes_closed_by(const ClusterState& state, const Reservation& other, const Reservation* own,
                       std::optional<Duration> leaves_within) {
  if (own != nullptr && other.id == own->id) return {};
  if (lets_in(other, leaves_within)) return {};
  Bitmap nodes = nodes_of(state, other);
  if (own != nullptr && gives_way(other, *own)) nodes.and_not(nodes_of(state, *own));
  return nodes;
}

Bitmap closed_nodes(const ClusterState& state, const PlannedUse& use, Time now) {
  Bitmap closed;
  const Time until = last_moment(use.own, use.to, now);
  for (const Reservation& other : *state.reservations) {
    if (overlaps(other, use.from, until, now))
      closed |= nodes_closed_by(state, other, use.own, use.leaves_within);
  }
  return closed;
}

std::optional<Bitmap> confines(const ClusterState& state, const Reservation* own) {
  if (own == nullptr || (own->flags & kReservationFlex) != 0) return std::nullopt;
  return nodes_of(state, *own);
}

Status check_reservations(const ClusterState& state, const JobSpec& spec) {
  if (spec.reservation.empty()) return {};
  const std::vector<std::string> names = split_list(spec.reservation.view());
  if (names.empty()) return failure(ErrorCode::kInvalidReservation);
  size_t large_enough = 0;
  for (const std::string& name : names) {
    const Reservation* reservation = find_reservation(state, name);
    if (reservation == nullptr) return failure(ErrorCode::kInvalidReservation);
    if (!may_use(*reservation, spec.uid, spec.account.view()))
      return failure(ErrorCode::kReservationAccess);
    const auto confined = confines(state, reservation);
    bool fits = !confined || confined->count() >= std::max(1U, spec.min_nodes);
    if (confined && !spec.required_nodes.empty()) {
      const auto required = resolve_nodes(state, spec.required_nodes.view());
      if (!required || !confined->contains(*required)) {
        return failure(ErrorCode::kNodesNotAvailable, "Problem using reservation");
      }
    }
    large_enough += fits ? 1 : 0;
  }
  if (large_enough == 0) return failure(ErrorCode::kNodesNotAvailable);
  return {};
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
    return !within.closed.test(part.node) && (!within.confined || within.confined->test(part.node));
  });
}

const BeginningJobs::Bounds& BeginningJobs::bounds(const PlannedUse& use) {
  const auto [at, fresh] =
      bounds_.try_emplace({use.own == nullptr ? 0 : use.own->id, use.to, use.leaves_within});
  if (fresh) at->second = {closed_nodes(state_, use, now_), confines(state_, use.own)};
  return at->second;
}

Result<Bitmap> choose_nodes(const ClusterState& state, const NodeWish& wish, Time now) {
  const Reservation& r = *wish.reservation;
  const Period period = period_of(r, now);
  Bitmap from;
  if ((r.flags & kReservationAnyNodes) != 0 && r.partition.empty()) {
    from = all_nodes(state);
  } else {
    const Partition* partition =
        r.partition.empty() ? default_partition(state) : find_partition(state, r.partition);
    if (partition == nullptr) return failure(ErrorCode::kInvalidPartition);
    from = partition->nodes;
  }
  if ((r.flags & (kReservationMaint | kReservationOverlap)) == 0) {
    for (const Reservation& other : *state.reservations) {
      if (other.id != r.id && ever_meet(r, other, now)) from.and_not(nodes_of(state, other));
    }
  }
  fit::FeatureExpression features;
  if (!r.features.empty()) {
    auto parsed = fit::parse_features(r.features);
    if (!parsed) return failure(ErrorCode::kInvalidFeature);
    features = std::move(*parsed);
  }
  from.and_not(wish.keep);
  std::vector<const Node*> nodes;
  from.for_each([&](size_t id) {
    const Node& node = state.nodes.at(static_cast<NodeId>(id));
    if (!may_serve(state, node)) return;
    if (!r.features.empty() && !fit::satisfies_any(features, node.config->features)) return;
    const bool free =
        (r.flags & kReservationIgnoreJobs) != 0 || is_free_of_jobs(state, node, period.start);
    if (free) nodes.push_back(&node);
  });
  std::ranges::stable_sort(nodes, [](const Node* a, const Node* b) {
    return std::tuple(!a->jobs.empty(), is_asleep(*a), a->weight) <
           std::tuple(!b->jobs.empty(), is_asleep(*b), b->weight);
  });
  Bitmap chosen = wish.keep;
  for (size_t at = 0; at < nodes.size() && chosen.count() < wish.count; ++at)
    chosen.set(nodes[at]->id);
  if (chosen.count() < wish.count) return failure(ErrorCode::kNodesBusy);
  return chosen;
}

bool has_jobs(const ClusterState& state, const Bitmap& nodes, Time from) {
  bool busy = false;
  nodes.for_each([&](size_t id) {
    const Node& node = state.nodes.at(static_cast<NodeId>(id));
    busy = busy || !is_free_of_jobs(state, node, from);
  });
  return busy;
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
