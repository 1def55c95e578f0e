// What reservations close to jobs, and when (see resources.hpp).
#include <algorithm>

#include "ctld/sched/resources.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::sched {

using timeline::Closing;
using timeline::kNoTick;

state::NodeHold Resources::closed_to(const Request& request, Time from, Time to) const {
  state::NodeHold closed;
  closed.whole = request.excluded;
  if (request.confined) {
    Bitmap outside = request.partition->nodes;
    closed.whole |= outside.and_not(request.confined->nodes());
    for (const auto& [node, cores] : request.confined->cores) {
      Bitmap others = cores_beside(node, cores);
      if (!closed.whole.test(node) && others.any()) closed.cores[node] = std::move(others);
    }
    for (const auto& [node, gres] : request.confined->gres) {
      GresShares others = state::gres_beside(state_.nodes.at(node), gres);
      if (!closed.whole.test(node) && !others.empty()) closed.gres[node] = std::move(others);
    }
  }
  if (from < to && !state_.reservations->empty()) {
    state::NodeHold others =
        state::closed_to(state_, {request.reservation, from, to, request.leaves_within}, now_);
    // nobody else is to come there
    if (request.needs.one_user || request.needs.whole_nodes) others = {others.nodes(), {}, {}};
    closed.add(others);
  }
  return closed;
}

Bitmap Resources::cores_beside(NodeId node, const Bitmap& cores) const {
  Bitmap others = Bitmap::first(state_.nodes.at(node).config->cores());
  return others.and_not(cores);
}

bool Resources::leave_open(const state::NodeHold& closed, fit::Room& room) const {
  if (!closed.has_part(room.node)) return true;
  if (const auto at = closed.cores.find(room.node); at != closed.cores.end()) {
    Bitmap open = room.free_cores;
    fit::set_free_cores(room, open.and_not(at->second), rules_.unit);
  }
  if (const auto at = closed.gres.find(room.node); at != closed.gres.end()) {
    GresShares used = room.used_gres == nullptr ? GresShares() : *room.used_gres;
    add_shares(used, at->second);
    room.used_gres = std::make_shared<const GresShares>(std::move(used));
  }
  room.jobs = std::max(room.jobs, 1U);  // nobody has the node alone
  room.changeable = nullptr;
  return room.free_cores.any();
}

Resources::Closings Resources::closings_for(const Request& request) const {
  Closings closings;
  closings.closed = closed_to(request, now_, now_).whole;
  const auto [at, fresh] = closings_.try_emplace({request.reservation, request.leaves_within});
  if (fresh) at->second = make_closings(request);
  closings.by_node = at->second.by_node;
  closings.view = at->second.view;
  return closings;
}

// What is counted is kept apart; units are in what is closed.
void Resources::reserve_counts(const Request& request, const Reservation& of,
                               const std::vector<Closing>& when,
                               timeline::ReservedForOthers& reserved) const {
  for (const ReservedGres& part : of.gres) {
    for (const GresShare& share : part.shares) {
      if (!state::is_counted(share) || state_.nodes.find(part.node) == nullptr) continue;
      const bool own = &of == request.reservation;
      uint64_t kept = share.count;
      if (!own && request.reservation != nullptr && state::gives_way(of, *request.reservation))
        kept -= std::min(kept, state::counted_in(*request.reservation, part.node, share));
      std::vector<timeline::ReservedCounts>& counts = reserved.counts[part.node];
      auto at = std::ranges::find_if(counts, [&](const timeline::ReservedCounts& one) {
        return one.name == share.name && one.type == share.type;
      });
      if (at == counts.end()) {
        const uint64_t total = state::total_of(state_.nodes.at(part.node), share);
        at = counts.insert(at, {.name = share.name, .type = share.type, .total = total});
      }
      if (own && request.confined) at->most = share.count;
      if (own) continue;
      for (const Closing& one : when) at->kept.push_back({one.from, one.to, kept, of.id, true});
    }
  }
}

// Jobs of the reservation have nothing but its part of a node.
void Resources::confine(const Request& request, timeline::ReservedForOthers& reserved) const {
  request.confined->parts().for_each([&](size_t id) {
    const auto node = static_cast<NodeId>(id);
    timeline::Reserved others{.from = 0, .to = kNoTick, .cores = {}, .uid = fit::kNoUser};
    const auto cores = request.confined->cores.find(node), none = request.confined->cores.end();
    if (cores != none) others.cores = cores_beside(node, cores->second);
    const auto gres = request.confined->gres.find(node);
    if (gres != request.confined->gres.end()) {
      const Node& of = state_.nodes.at(node);
      GresShares beside = state::gres_beside(of, gres->second);
      for (const GresShare& share : beside) {  // of what it has itself reserve_counts() tells
        const bool own = count_of(gres->second, share.name, share.type.view()) > 0;
        if (!state::is_counted(share) || own) continue;
        reserved.counts[node].push_back({.name = share.name,
                                         .type = share.type,
                                         .total = state::total_of(of, share),
                                         .most = 0});
      }
      others.units = state::units_only(std::move(beside));
    }
    if (others.cores.any() || !others.units.empty())
      reserved.parts[node].push_back(std::move(others));
  });
}

// Times in which a job's own reservation holds, or counts as if it did, and those in which it does
// not: jobs of a FLEX reservation run out of its time as well.
Resources::InAndOut Resources::split_times(const std::vector<Closing>& list,
                                           const Reservation* own) const {
  if (own == nullptr || (own->flags & kReservationFlex) == 0) return {list, {}};
  const state::Period period = state::period_of(*own, now_);
  const Tick start = tick_until(period.start), end = tick_from(period.end);
  InAndOut out;
  const auto add = [](std::vector<Closing>& to, Tick from, Tick until) {
    if (from < until) to.push_back({from, until});
  };
  for (const Closing& one : list) {
    add(out.out, one.from, std::min(one.to, start));
    add(out.in, std::max(one.from, start), std::min(one.to, end));
    add(out.out, std::max(one.from, end), one.to);
  }
  return out;
}

Resources::MadeClosings Resources::make_closings(const Request& request) const {
  NodeClosings by_node;
  timeline::ReservedForOthers reserved;
  reserved.group = request.reservation == nullptr ? 0 : request.reservation->id;
  if (request.confined) confine(request, reserved);
  for (const Reservation& other : *state_.reservations) {
    const bool own = &other == request.reservation;
    if (own) reserve_counts(request, other, {}, reserved);
    if (state::closed_by(state_, other, request.reservation, request.leaves_within, false).none())
      continue;
    const bool floats = (other.flags & kReservationTimeFloat) != 0;
    std::vector<Closing> list;
    for (const state::Period& period : state::planned_periods(other, now_)) {
      const Closing closing{tick_until(period.start), floats ? kNoTick : tick_from(period.end)};
      if (closing.to > closing.from) list.push_back(closing);
    }
    const auto close = [&](const std::vector<Closing>& times, bool in_force) {
      if (times.empty()) return;
      const state::NodeHold hold =
          state::closed_by(state_, other, request.reservation, request.leaves_within, in_force);
      hold.parts().for_each([&](size_t id) {
        const auto node = static_cast<NodeId>(id);
        const auto cores = hold.cores.find(node);
        const auto gres = hold.gres.find(node);
        for (const Closing& one : times) {
          timeline::Reserved& part =
              reserved.parts[node].emplace_back(timeline::Reserved{.from = one.from, .to = one.to});
          if (cores != hold.cores.end()) part.cores = cores->second;
          if (gres != hold.gres.end()) part.units = state::units_only(gres->second);
        }
      });
      hold.whole.for_each([&](size_t id) {
        std::vector<Closing>& all = by_node[static_cast<NodeId>(id)];
        all.insert(all.end(), times.begin(), times.end());
      });
    };
    const InAndOut times = split_times(list, request.reservation);
    close(times.in, true);
    close(times.out, false);
    const bool any_hold =
        !state::closed_by(state_, other, request.reservation, request.leaves_within).none();
    if (any_hold) reserve_counts(request, other, list, reserved);
  }
  for (auto& [node, list] : by_node) std::ranges::sort(list, {}, &Closing::from);
  const auto is_out = [&](const auto& one) { return idle(one.first) == nullptr; };
  std::erase_if(reserved.parts, is_out);
  std::erase_if(reserved.counts, is_out);
  std::vector<NodeId> counted;
  for (const auto& [node, counts] : reserved.counts) counted.push_back(node);
  const timeline::Timeline::View* view =
      reserved.empty() ? nullptr : &timeline_.add_view(std::move(reserved));
  for (const NodeId node : counted) tell_claims(node);
  return {std::make_shared<const NodeClosings>(std::move(by_node)), view};
}

}  // namespace sluice::sched
