#include "ctld/sched/rooms.hpp"

#include <algorithm>

#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/reservations.hpp"
#include "ctld/state/rules/room.hpp"

namespace sluice::sched {

using state::ClusterState;
using state::Partition;

namespace {

// `cores` of a room, at most `count` of them.
Bitmap at_most(const Bitmap& cores, uint32_t count) {
  return cores.count() <= count ? cores : cores.take_first(count);
}

}  // namespace

Rooms::Rooms(const ClusterState& state, Time now)
    : state_(state),
      now_(now),
      rules_(fit::rules_of(*state.config)),
      tree_(state),
      rooms_(state.next_node_id),
      kept_(state.next_node_id) {
  state.nodes.for_each([&](const Node& node) {
    if (!state::may_serve(state, node)) return;
    rooms_[node.id] = state::room_of(state, node, rules_.unit);
    // it comes up with the features that it has
    if (state::is_asleep(node)) rooms_[node.id].changeable = nullptr;
  });
}

Result<Ask> Rooms::ask_of(const Job& job, const Partition& partition) const {
  return ask_in(job, partition, state::named_reservation(state_, *job.spec));
}

Result<Ask> Rooms::ask_in(const Job& job, const Partition& partition,
                          const Reservation* reservation) const {
  Ask ask;
  ask.partition = &partition;
  ask.reservation = reservation;
  ask.confined = state::confines(state_, reservation);
  ask.leaves_within = state::leaves_within(*job.spec);
  auto needs = fit::needs_of(*job.spec, *partition.config, *state_.config, rules_);
  if (!needs) return tl::unexpected(std::move(needs.error()));
  ask.needs = std::move(*needs);
  ask.sharers = state::sharers_of(*partition.config, *job.spec);
  if (auto prefer = fit::parse_features(job.spec->prefer.view())) ask.prefer = std::move(*prefer);
  ask.switches = switch_wish(*job.spec, *state_.config);
  for (auto [text, nodes] : {std::pair{&job.spec->required_nodes, &ask.required},
                             std::pair{&job.spec->excluded_nodes, &ask.excluded}}) {
    if (text->empty()) continue;
    auto resolved = state::resolve_nodes(state_, *text);
    if (resolved) *nodes = std::move(*resolved);
    else ask.unknown_node = true;
  }
  ask.needs.min_nodes = std::max(ask.needs.min_nodes, static_cast<uint32_t>(ask.required.count()));
  ask.needs.max_nodes = std::max(ask.needs.max_nodes, ask.needs.min_nodes);
  return ask;
}

Bitmap Rooms::closed_to(const Ask& ask, Time from, Time to) const {
  Bitmap closed = ask.excluded;
  if (ask.confined) {
    Bitmap outside = ask.partition->nodes;
    closed |= outside.and_not(*ask.confined);
  }
  if (from < to && !state_.reservations->empty()) {
    closed |= state::closed_nodes(state_, {ask.reservation, from, to, ask.leaves_within}, now_);
  }
  return closed;
}

Time Rooms::end_of(Minutes limit) const { return state::planned_end(now_, limit); }

const fit::Room* Rooms::room(NodeId id) const {
  return id < rooms_.size() && rooms_[id].config != nullptr ? &rooms_[id] : nullptr;
}

std::vector<NodeId> Rooms::make_order(const Partition& partition) const {
  std::vector<NodeId> ids;
  partition.nodes.for_each([&](size_t id) { ids.push_back(static_cast<NodeId>(id)); });
  // those that are asleep come last, whatever they weigh
  const auto weight = [&](NodeId id) {
    const Node& node = state_.nodes.at(id);
    return std::pair(state::is_asleep(node), node.weight);
  };
  if (rules_.least_loaded || partition.config->lln) {
    std::ranges::stable_sort(ids, [&](NodeId a, NodeId b) {
      return std::pair(weight(a), rooms_[b].free_cpus) < std::pair(weight(b), rooms_[a].free_cpus);
    });
  } else if (!std::ranges::is_sorted(ids, {}, weight)) {
    std::ranges::stable_sort(ids, {}, weight);
  }
  return ids;
}

Rooms::Order& Rooms::order_of(const Partition& partition) {
  auto [at, fresh] = orders_.try_emplace(&partition);
  Order& order = at->second;
  if (fresh || rules_.least_loaded || partition.config->lln) {
    order.nodes = make_order(partition);
    order.first_free = 0;
  }
  while (order.first_free < order.nodes.size() &&
         rooms_[order.nodes[order.first_free]].free_cpus == 0) {
    ++order.first_free;
  }
  return order;
}

const fit::Room* Rooms::usable(const fit::Room& room, Time ends, fit::Room& scratch) const {
  const Kept& kept = kept_[room.node];
  if (kept.from == kNever || ends <= kept.from) return &room;
  if (kept.spare_cores == 0) return nullptr;
  const bool all_cores =
      kept.spare_cores >= room.free_cores.count() && kept.spare_memory_mib >= room.free_memory_mib;
  if (all_cores && kept.spare_gres.empty()) return &room;
  scratch = room;
  fit::set_free_cores(scratch, at_most(room.free_cores, kept.spare_cores), rules_.unit);
  scratch.free_memory_mib = std::min(room.free_memory_mib, kept.spare_memory_mib);
  if (kept.spare_cores < room.free_cores.count()) ++scratch.jobs;  // no longer for one job alone
  if (!kept.spare_gres.empty()) fit::hold_back(scratch, kept.spare_gres);
  return scratch.free_cpus > 0 ? &scratch : nullptr;
}

fit::Room Rooms::free_for(NodeId id, Minutes limit) const {
  fit::Room scratch;
  const fit::Room* free = usable(rooms_[id], end_of(limit), scratch);
  if (free != nullptr) return *free;
  scratch = rooms_[id];
  fit::set_free_cores(scratch, {}, rules_.unit);
  return scratch;
}

Patience Rooms::patience(const Ask& ask, const Job& job) const {
  const Time since = job.accrue != kNoTime ? job.accrue : job.submit;
  Patience patience;
  const auto insists_until = [&](Time then) {
    if (then > now_) patience.until = std::min(patience.until, then);
    return then > now_;
  };
  if (ask.needs.may_change)
    patience.may_change =
        !insists_until(since + std::chrono::seconds(job.spec->delay_boot_seconds));
  const bool insists =
      ask.switches.most > 0 && !tree_.empty() && insists_until(since + ask.switches.wait);
  if (insists) patience.most_switches = ask.switches.most;
  return patience;
}

Rooms::Placed Rooms::place_among(const Ask& ask, std::span<const fit::Room* const> rooms,
                                 uint32_t most_switches) const {
  if (tree_.empty()) return fit::place(ask.needs, rooms, &ask.required, rules_.unit);
  return tree_.place(ask.needs, rooms, &ask.required, rules_.unit, most_switches);
}

const fit::Room* Rooms::offer(const Ask& ask, NodeId id, Time ends, bool preferred,
                              fit::Room& scratch) {
  const fit::Room& room = rooms_[id];
  if (room.free_cpus == 0 || closed_.test(id)) return nullptr;
  if (preferred && !fit::satisfies_any(ask.prefer, room.features())) return nullptr;
  const fit::Room* free = usable(room, ends, scratch);
  if (free == nullptr || !state::bounds_cpus(*ask.partition->config)) return free;
  if (free != &scratch) scratch = *free;
  scratch.held = &use_on(*ask.partition, id);
  return &scratch;
}

fit::PartitionUse Rooms::held_on(const Partition& partition, NodeId id) const {
  if (const auto nodes = uses_.find(&partition); nodes != uses_.end()) {
    if (const auto use = nodes->second.find(id); use != nodes->second.end()) return use->second;
  }
  return state::use_of(state_, partition, state_.nodes.at(id));
}

fit::PartitionUse& Rooms::use_on(const Partition& partition, NodeId id) {
  auto [at, fresh] = uses_[&partition].try_emplace(id);
  if (fresh) at->second = state::use_of(state_, partition, state_.nodes.at(id));
  return at->second;
}

Rooms::Uses Rooms::uses_without(const Partition& partition, const Gone& gone) const {
  Uses uses;
  if (!state::bounds_cpus(*partition.config)) return uses;
  for (size_t i = 0; i < holders_.size(); ++i) {
    const Holder& h = holders_[i];
    for (size_t at = 0; !gone[i] && h.partition == &partition && at < h.nodes->size(); ++at) {
      const NodeAllocation& a = (*h.nodes)[at];
      if (!h.gave_back(at) && a.node < rooms_.size() && rooms_[a.node].config != nullptr)
        uses[a.node].add(a, *rooms_[a.node].config);
    }
  }
  return uses;
}

Rooms::Placed Rooms::place_on_one_node(const Ask& ask, Time ends, bool preferred) {
  const Order& order = order_of(*ask.partition);
  fit::Room scratch;
  for (size_t i = order.first_free; i < order.nodes.size(); ++i) {
    const fit::Room* free = offer(ask, order.nodes[i], ends, preferred, scratch);
    if (free == nullptr) continue;
    if (auto placed = fit::place_on(ask.needs, *free, rules_.unit))
      return std::vector{std::move(*placed)};
  }
  return std::nullopt;
}

Rooms::Placed Rooms::place_free(const Ask& ask, Time ends, bool preferred, uint32_t most_switches) {
  const bool one = fit::fits_one_node(ask.needs) && ask.required.none();
  if (one) {
    if (auto placed = place_on_one_node(ask, ends, preferred)) return placed;
  }
  const bool dealt = std::ranges::any_of(ask.needs.gres, &fit::GresNeed::is_dealt);
  if (one && ask.needs.tasks <= 1 && ask.needs.min_cpus <= ask.needs.min_cpus_per_node && !dealt)
    return std::nullopt;
  const Order& order = order_of(*ask.partition);
  list_.clear();
  made_.clear();
  made_.reserve(order.nodes.size());
  for (size_t i = order.first_free; i < order.nodes.size(); ++i) {
    made_.emplace_back();
    const fit::Room* free = offer(ask, order.nodes[i], ends, preferred, made_.back());
    if (free != &made_.back()) made_.pop_back();
    if (free != nullptr) list_.push_back(free);
  }
  return place_among(ask, list_, most_switches);
}

Rooms::Placed Rooms::place_now(const Ask& ask, Minutes limit, const Patience& patience) {
  if (ask.unknown_node) return std::nullopt;
  const Time ends = end_of(limit);
  close_for(ask, ends);
  if (!ask.needs.may_change) return place_free_or_shared(ask, ends, patience.most_switches);
  Ask unchanged = ask;  // nodes that have its features go first
  unchanged.needs.may_change = false;
  if (auto placed = place_free_or_shared(unchanged, ends, patience.most_switches)) return placed;
  return patience.may_change ? place_free_or_shared(ask, ends, patience.most_switches)
                             : std::nullopt;
}

Rooms::Placed Rooms::place_free_or_shared(const Ask& ask, Time ends, uint32_t most_switches) {
  if (!ask.prefer.any_of.empty()) {
    if (auto placed = place_free(ask, ends, true, most_switches)) return placed;
  }
  if (auto placed = place_free(ask, ends, false, most_switches)) return placed;
  return ask.sharers > 1 ? place_shared(ask, ends) : std::nullopt;
}

Bitmap Rooms::shareable_cores(const fit::Room& room, const Partition& partition,
                              uint32_t sharers) const {
  std::vector<uint32_t> held(room.config->cores());
  const auto count = [&](const Holder& h) {
    for (size_t i = 0; i < h.nodes->size(); ++i) {
      const NodeAllocation& a = (*h.nodes)[i];
      if (a.node != room.node || h.gave_back(i)) continue;
      const bool shares = h.partition == &partition && h.sharers > 1 && !h.whole;
      a.cores.for_each([&](size_t core) {
        if (core < held.size()) held[core] += shares ? 1 : sharers;
      });
    }
  };
  std::ranges::for_each(holders_, count);
  std::ranges::for_each(started_, count);
  Bitmap cores = fit::room_empty(state_.nodes.at(room.node), rules_.unit).free_cores;
  for (size_t core = 0; core < held.size(); ++core) {
    if (held[core] >= sharers) cores.reset(core);
  }
  return cores;
}

Rooms::Placed Rooms::place_shared(const Ask& ask, Time ends) {
  find_holders();
  list_.clear();
  made_.clear();
  made_.reserve(rooms_.size());
  for (const NodeId id : order_of(*ask.partition).nodes) {
    if (rooms_[id].config == nullptr || closed_.test(id)) continue;
    if (kept_[id].from != kNever && ends > kept_[id].from) continue;
    made_.push_back(rooms_[id]);
    fit::set_free_cores(made_.back(), shareable_cores(rooms_[id], *ask.partition, ask.sharers),
                        rules_.unit);
    if (state::bounds_cpus(*ask.partition->config)) made_.back().held = &use_on(*ask.partition, id);
    list_.push_back(&made_.back());
  }
  return fit::place(ask.needs, list_, &ask.required, rules_.unit);
}

Rooms::Placed Rooms::place_empty(const Ask& ask, bool any_state) {
  return place_empty_but(ask, any_state, closed_to(ask, now_, now_));
}

Rooms::Placed Rooms::place_beside_reservations(const Ask& ask, Minutes limit) {
  return place_empty_but(ask, false, closed_until_end(ask, limit));
}

Rooms::Placed Rooms::place_empty_but(const Ask& ask, bool any_state, const Bitmap& closed) {
  if (ask.unknown_node) return std::nullopt;
  if (empty_.empty()) {
    empty_.resize(rooms_.size());
    state_.nodes.for_each(
        [&](const Node& node) { empty_[node.id] = fit::room_empty(node, rules_.unit); });
  }
  const bool one = fit::fits_one_node(ask.needs) && ask.required.none();
  list_.clear();
  for (const NodeId id : order_of(*ask.partition).nodes) {
    if (closed.test(id) || (!any_state && rooms_[id].config == nullptr)) continue;
    if (one) {
      if (auto placed = fit::place_on(ask.needs, empty_[id], rules_.unit)) {
        return std::vector{std::move(*placed)};
      }
    }
    list_.push_back(&empty_[id]);
  }
  return fit::place(ask.needs, list_, &ask.required, rules_.unit);
}

void Rooms::take(const Job& job, const Ask& ask, const std::vector<NodeAllocation>& allocation,
                 Minutes limit) {
  const Time ends = end_of(limit);
  for (const NodeAllocation& a : allocation) {
    fit::Room& room = rooms_[a.node];
    fit::PartitionUse* use =
        state::bounds_cpus(*ask.partition->config) ? &use_on(*ask.partition, a.node) : nullptr;
    if (trying_) {
      before_.push_back(
          {a.node, room, kept_[a.node], use, use == nullptr ? fit::PartitionUse{} : *use});
    }
    if (use != nullptr) use->add(a, *room.config);
    fit::take_from(room, a, ask.needs.whole_nodes, ask.needs.uid);
    room.one_user = room.one_user || ask.needs.one_user;
    // while a node changes nothing else begins there
    const bool changes =
        ask.needs.may_change && !fit::satisfies_any(ask.needs.features, room.features());
    if (changes) fit::set_free_cores(room, {}, rules_.unit);
    Kept& kept = kept_[a.node];
    if (kept.from == kNever || ends <= kept.from) continue;
    kept.spare_cores -= std::min(kept.spare_cores, static_cast<uint32_t>(a.cores.count()));
    kept.spare_memory_mib -= std::min(kept.spare_memory_mib, a.memory_mib);
    fit::take_spare(kept.spare_gres, room, a.gres);
  }
  own_.push_back(std::make_shared<const std::vector<NodeAllocation>>(allocation));
  started_.push_back({ends, job.id, own_.back().get(), nullptr, ask.needs.whole_nodes, ask.sharers,
                      ask.needs.uid, ask.needs.one_user, ask.partition});
}

Minutes Rooms::minutes_before_others(const std::vector<NodeAllocation>& nodes) const {
  Time until = kNever;
  for (const NodeAllocation& a : nodes) until = std::min(until, kept_[a.node].from);
  if (until == kNever) return kInfiniteMinutes;
  const auto minutes = std::chrono::floor<std::chrono::minutes>(until - now_).count();
  return static_cast<Minutes>(std::max<int64_t>(0, minutes));
}

void Rooms::begin_trial() {
  before_.clear();
  owned_before_ = own_.size();
  trying_ = true;
}

void Rooms::end_trial(bool keep) {
  trying_ = false;
  if (keep) return;
  for (size_t i = before_.size(); i-- > 0;) {
    rooms_[before_[i].node] = std::move(before_[i].room);
    kept_[before_[i].node] = std::move(before_[i].kept);
    if (before_[i].use != nullptr) *before_[i].use = std::move(before_[i].use_before);
  }
  for (size_t i = owned_before_; i < own_.size(); ++i) {
    const auto of_trial = [&](const Holder& h) { return h.nodes == own_[i].get(); };
    std::erase_if(holders_, of_trial);
    std::erase_if(started_, of_trial);
  }
  own_.resize(owned_before_);
  for (auto& [partition, order] : orders_) order.first_free = 0;
}

void Rooms::find_holders() {
  const auto by_end = [](const Holder& a, const Holder& b) {
    return std::pair(a.end, a.job) < std::pair(b.end, b.job);
  };
  if (!holders_found_) {
    holders_found_ = true;
    state_.active.for_each([&](JobId id) {
      const Job& job = state_.jobs.at(id);
      if (!job.allocation) return;
      const Partition* partition = state::find_partition(state_, job.partition);
      Holder h{job.end,
               id,
               &job.allocation->nodes,
               &job.released,
               job.allocation->whole_nodes,
               1,
               job.spec->uid,
               state::is_one_user(partition, *job.spec),
               partition};
      if (partition != nullptr) h.sharers = state::sharers_of(*partition->config, *job.spec);
      if (h.end == kNoTime || h.end >= kNever)
        h.end = std::max(state::planned_end(job.start, kInfiniteMinutes), now_);
      const Job* leader = is_het_follower(job) ? state_.jobs.find(job.het->leader) : nullptr;
      // they go together
      if (leader != nullptr && leader->grace_end != kNoTime)
        h.end = std::min(h.end, leader->grace_end);
      h.end = std::max(h.end, now_);
      holders_.push_back(h);
    });
    std::ranges::sort(holders_, by_end);
  }
  if (started_.empty()) return;
  holders_.insert(holders_.end(), started_.begin(), started_.end());
  started_.clear();
  std::ranges::sort(holders_, by_end);
}

Rooms::Gone Rooms::first_ended(size_t count) const {
  Gone gone(holders_.size());
  std::fill_n(gone.begin(), count, true);
  return gone;
}

std::vector<fit::Room> Rooms::rooms_without(const Gone& gone) const {
  std::vector<fit::Room> later = rooms_;
  std::vector<bool> touched(later.size());
  for (size_t i = 0; i < holders_.size(); ++i) {
    for (size_t at = 0; gone[i] && at < holders_[i].nodes->size(); ++at) {
      const NodeAllocation& a = (*holders_[i].nodes)[at];
      if (!holders_[i].gave_back(at) && a.node < later.size() && later[a.node].config != nullptr)
        touched[a.node] = true;
    }
  }
  for (NodeId id = 0; id < later.size(); ++id) {
    if (touched[id]) later[id] = fit::room_empty(state_.nodes.at(id), rules_.unit);
  }
  for (size_t i = 0; i < holders_.size(); ++i) {
    const Holder& h = holders_[i];
    for (size_t at = 0; !gone[i] && at < h.nodes->size(); ++at) {
      const NodeAllocation& a = (*h.nodes)[at];
      if (a.node >= later.size() || !touched[a.node] || h.gave_back(at)) continue;
      fit::take_from(later[a.node], a, h.whole, h.uid);
      later[a.node].one_user = later[a.node].one_user || h.one_user;
    }
  }
  for (NodeId id = 0; id < later.size(); ++id) {
    if (touched[id]) fit::set_free_cores(later[id], std::move(later[id].free_cores), rules_.unit);
  }
  return later;
}

Rooms::Placed Rooms::place_later(const Ask& ask, const std::vector<fit::Room>& later,
                                 const Bitmap& closed) const {
  std::vector<const fit::Room*> list;
  for (const NodeId id : make_order(*ask.partition)) {
    if (later[id].config == nullptr || later[id].free_cpus == 0 || closed.test(id)) continue;
    if (kept_[id].from == kNever) list.push_back(&later[id]);
  }
  return place_among(ask, list, ask.switches.most);
}

Rooms::Placements Rooms::place_all(const std::vector<Wish>& wishes, size_t ended, Time at) const {
  Placements all;
  const Gone gone = first_ended(ended);
  std::vector<fit::Room> later = rooms_without(gone);
  std::unordered_map<const Partition*, Uses> uses;
  for (const Wish& wish : wishes) {
    const Partition& partition = *wish.ask->partition;
    const Minutes limit = state::limit_in(*wish.job, *partition.config);
    const auto [found, fresh] = uses.try_emplace(&partition);
    Uses& held = found->second;
    if (fresh) held = uses_without(partition, gone);
    for (const auto& [id, use] : held) later[id].held = &use;
    auto placed =
        place_later(*wish.ask, later, closed_to(*wish.ask, at, at + (end_of(limit) - now_)));
    for (const auto& [id, use] : held) later[id].held = nullptr;
    if (!placed) return {};
    if (wishes.size() > 1) {
      for (const NodeAllocation& a : *placed) {
        fit::take_from(later[a.node], a, wish.ask->needs.whole_nodes, wish.ask->needs.uid);
        if (state::bounds_cpus(*partition.config)) held[a.node].add(a, *later[a.node].config);
      }
    }
    all.push_back(std::move(*placed));
  }
  return all;
}

// Keeps the nodes for the job; `later` is what is free then, less what it takes.
void Rooms::keep(const Wish& wish, Time from, const std::vector<NodeAllocation>& placed,
                 std::vector<fit::Room>& later) {
  const fit::Needs& needs = wish.ask->needs;
  for (const NodeAllocation& a : placed) {
    fit::Room& room = later[a.node];
    Kept& kept = kept_[a.node];
    const auto cores = static_cast<uint32_t>(room.free_cores.count());
    const auto taken = needs.whole_nodes || needs.all_memory || needs.one_user
                           ? cores
                           : static_cast<uint32_t>(a.cores.count());
    auto spare_gres = std::move(kept.spare_gres);  // of another component; else empty
    if (!a.gres.empty()) {
      spare_gres = fit::free_counts(room);
      fit::take_spare(spare_gres, room, a.gres);
    }
    kept = {from, wish.job->id, cores - std::min(cores, taken),
            room.free_memory_mib - std::min(room.free_memory_mib, a.memory_mib),
            std::move(spare_gres)};
    fit::take_from(room, a, needs.whole_nodes, needs.uid);
  }
}

// More is free as time passes: the least number of ended jobs after which all can be placed.
std::optional<Rooms::Moment> Rooms::first_end(const std::vector<Wish>& wishes) const {
  if (place_all(wishes, holders_.size(), now_).empty()) return std::nullopt;
  size_t low = 0, high = holders_.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (!place_all(wishes, middle, now_).empty()) high = middle;
    else low = middle + 1;
  }
  // all jobs that end at the same time are gone then
  while (low > 0 && low < holders_.size() && holders_[low].end == holders_[low - 1].end) ++low;
  return Moment{low == 0 ? now_ : holders_[low - 1].end, low};
}

// Not so here: at a later moment a reservation may have begun. Ends of jobs and of reservations are
// tried in turn.
std::optional<Rooms::Moment> Rooms::first_moment(const std::vector<Wish>& wishes) const {
  constexpr size_t kMostMoments = 500, kFurtherMoments = 64;
  std::vector<Time> moments{now_};
  for (const Holder& holder : holders_) moments.push_back(holder.end);
  for (const Reservation& one : *state_.reservations) {
    const state::Period period = state::period_of(one, now_);
    if ((one.flags & kReservationTimeFloat) == 0 && period.end > now_)
      moments.push_back(period.end);
  }
  std::ranges::sort(moments);
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  const auto try_at = [&](size_t i) -> std::optional<Moment> {
    const auto after = std::ranges::upper_bound(holders_, moments[i], {}, &Holder::end);
    const auto ended = static_cast<size_t>(after - holders_.begin());
    if (place_all(wishes, ended, moments[i]).empty()) return std::nullopt;
    return Moment{moments[i], ended};
  };
  const size_t each = std::min(moments.size(), kMostMoments);
  for (size_t i = 0; i < each; ++i) {
    if (auto found = try_at(i)) return found;
  }
  // Later ones not each: some, and then by halves what lies before the first that will do. A job
  // that waits so long has to have some nodes kept for it more than it has to have the very first.
  size_t low = each;  // all before it have been looked at, or passed over
  const size_t stride = std::max<size_t>(1, (moments.size() - each) / kFurtherMoments);
  for (size_t i = low; i < moments.size();
       i = i + 1 == moments.size() ? i + 1 : std::min(i + stride, moments.size() - 1)) {
    auto found = try_at(i);
    if (!found) {
      low = i + 1;
      continue;
    }
    for (size_t high = i; low < high;) {
      const size_t middle = (low + high) / 2;
      const auto earlier = try_at(middle);
      if (earlier) found = earlier;
      (earlier ? high : low) = earlier ? middle : middle + 1;
    }
    return found;
  }
  return std::nullopt;
}

std::optional<Forecast> Rooms::reserve_earliest(std::vector<Wish> wishes) {
  if (std::ranges::any_of(wishes, [](const Wish& w) { return w.ask->unknown_node; }))
    return std::nullopt;
  std::vector<Ask> unchanged;
  unchanged.reserve(wishes.size());
  for (Wish& wish : wishes) {
    if (!wish.ask->needs.may_change || patience(*wish.ask, *wish.job).may_change) continue;
    unchanged.push_back(*wish.ask);
    unchanged.back().needs.may_change = false;
    wish.ask = &unchanged.back();
  }
  find_holders();
  const auto moment = state_.reservations->empty() ? first_end(wishes) : first_moment(wishes);
  if (!moment) return std::nullopt;
  std::vector<fit::Room> later = rooms_without(first_ended(moment->ended));
  const Placements placements = place_all(wishes, moment->ended, moment->at);
  if (placements.empty()) return std::nullopt;
  Forecast forecast{moment->at, {}};
  for (size_t i = 0; i < wishes.size(); ++i) {
    for (const NodeAllocation& a : placements[i]) forecast.nodes.set(a.node);
    keep(wishes[i], forecast.start, placements[i], later);
  }
  return forecast;
}

}  // namespace sluice::sched
