#include "ctld/sched/start_finder.hpp"

#include <algorithm>
#include <bit>

#include "common/base/bounded.hpp"
#include "common/base/text.hpp"
#include "ctld/state/rules/room.hpp"

namespace sluice::sched {

using timeline::Free;
using timeline::kNoTick;
using timeline::StartIndex;

namespace {

// Whether more than free CPUs and memory says how many tasks a node takes.
bool needs_exact_units(const fit::Needs& needs, const fit::Rules& rules) {
  return !needs.gres.empty() || needs.tasks_per_core > 0 || needs.tasks_per_socket > 0 ||
         needs.system.given() || needs.max_cpus_per_socket != UINT32_MAX ||
         needs.max_cpus_per_node != UINT32_MAX || needs.most_memory_per_cpu_mib > 0 ||
         needs.most_memory_per_node_mib > 0 || needs.may_change || needs.all_cores ||
         rules.unit == fit::Unit::kSocket;
}

// Whether which nodes serve matters, not only how many and how much they give.
bool chooses_among_nodes(const fit::Needs& needs) {
  return needs.contiguous || !needs.features.counts.empty() || needs.features.one_branch_for_all ||
         !needs.node_counts.empty() || needs.near_only;
}

// SchedulerParameters=pack_serial_at_end: jobs of one CPU begin at the other end of the nodes.
bool begins_at_the_end(const ClusterConfig& config, const fit::Needs& needs) {
  return needs.tasks <= 1 && needs.cpus_per_task <= 1 && needs.min_cpus <= 1 &&
         needs.min_nodes <= 1 && !needs.whole_nodes &&
         has_option(config.scheduler_parameters, "pack_serial_at_end");
}

// No node is changed for what is only preferred. Where nodes may be, a start does not tell whether
// its nodes were counted by what is preferred (node_features): then they are not.
std::optional<fit::Needs> preferred_needs(const Request& request) {
  if (request.prefer.empty()) return std::nullopt;
  if (request.needs.may_change && request.prefer.any_of.empty()) return std::nullopt;
  fit::Needs needs = request.needs;
  needs.features = request.prefer;
  needs.may_change = false;
  return needs;
}

}  // namespace

TopologyWish wish_of(const Resources& resources, const Request& request,
                     const std::vector<NodeId>& nodes) {
  TopologyWish wish;
  wish.most_switches = request.switches.most;
  wish.segment = request.segment;
  wish.spread_segments = request.spread_segments;
  const Topology* topology = resources.topology();
  if (topology == nullptr || wish.segment > 0) return wish;
  std::vector<const fit::Room*> idle;
  idle.reserve(nodes.size());
  for (const NodeId id : nodes) idle.push_back(resources.idle(id));
  wish.highest_level =
      topology->level_for(request.needs, idle, &request.required, resources.rules().unit);
  return wish;
}

StartFinder::StartFinder(Resources& resources, const Request& request, Finders* finders)
    : resources_(resources),
      request_(request),
      preferred_(preferred_needs(request)),
      share_(resources, request),
      from_end_(begins_at_the_end(*resources.state().config, request.needs)),
      finders_(from_end_ ? nullptr : finders),  // the others have their nodes in another order
      closings_(resources.closings_for(request)) {
  const fit::Needs& needs = request.needs;
  const fit::Rules& rules = resources.rules();
  const bool least_loaded = rules.least_loaded || request.partition->config->lln;
  exact_ = needs_exact_units(needs, rules);
  every_change_ = chooses_among_nodes(needs) || resources.topology() != nullptr ||
                  rules.unit == fit::Unit::kSocket || !needs.gres.empty() || preferred_ ||
                  state::bounds_cpus(*request.partition->config);
  const bool as_many = needs.as_many_nodes && needs.max_nodes > needs.min_nodes;
  any_subset_ = !every_change_ && !least_loaded && !as_many && request.required.none() &&
                needs.min_cpus <= needs.tasks * needs.cpus_per_task;
  enough_ = {std::max(1U, needs.min_nodes), std::max(1U, needs.tasks)};
  list_nodes();
  wish_ = wish_of(resources_, request_, nodes_.ids());
  if (finders_ == nullptr) return;
  finders_->by_partition[request.partition].push_back(this);
  busy_ = finders_->busy_for(least().rounded(), resources.state().next_node_id);
}

// Four bits behind the first.
Finders::Least Finders::Least::rounded() const {
  const auto round = []<class Count>(Count count) {
    constexpr int kBits = 5;
    const int rest = static_cast<int>(std::bit_width(count)) - kBits;
    return rest > 0 ? static_cast<Count>(count >> rest << rest) : count;
  };
  Least out = *this;
  out.cpus = round(cpus);
  out.memory_per_node_mib = round(memory_per_node_mib);
  out.memory_per_cpu_mib = round(memory_per_cpu_mib);
  return out;
}

timeline::BusyNodes* Finders::busy_for(const Least& rounded, size_t nodes) {
  constexpr size_t kMostNodes = 16'000'000;  // 16 bytes each
  const auto known = busy.find(rounded);
  if (known != busy.end()) return &known->second;
  if ((busy.size() + 1) * nodes > kMostNodes) return nullptr;
  return &busy.try_emplace(rounded, nodes).first->second;
}

Finders::Least StartFinder::least() const {
  const fit::Needs& needs = request_.needs;
  const uint32_t tasks = std::max(1U, needs.tasks_per_node);
  Finders::Least least{
      .threads_per_core = needs.threads_per_core,
      .cpus = std::max({1U, needs.min_cpus_per_node, bounded_product(needs.cpus_per_task, tasks)}),
      .whole = needs.whole_nodes || needs.all_cores,
      .view = closings_.view};
  if (needs.uses_memory) {
    least.memory_per_node_mib = needs.memory_per_node_mib;
    least.memory_per_cpu_mib = needs.memory_per_cpu_mib;
  }
  return least;
}

timeline::LeastFree StartFinder::least_on(const fit::Room& idle, const Finders::Least& of) const {
  const uint32_t each = cpus_of_core(*idle.config);
  const uint32_t threads = of.threads_per_core > 0 ? std::min(each, of.threads_per_core) : each;
  const uint32_t cores = of.whole ? static_cast<uint32_t>(idle.free_cores.count())
                                  : rounded_up_quotient(of.cpus, threads);
  const uint32_t cpus = bounded_product(cores, threads);
  return {
      .cores = std::max(1U, cores),
      .memory_mib = std::max(of.memory_per_node_mib, bounded_product(of.memory_per_cpu_mib, cpus))};
}

bool StartFinder::asks_no_more_than(const StartFinder& other) const {
  const fit::Needs &mine = request_.needs, &its = other.request_.needs;
  const bool is_plain = any_subset_ && mine.features.any_of.empty() && mine.gres.empty() &&
                        mine.sockets == 0 && mine.cores_per_socket == 0 &&
                        mine.threads_per_core == its.threads_per_core && mine.tmp_disk_mib == 0;
  const bool same_place = request_.reservation == other.request_.reservation &&
                          request_.leaves_within == other.request_.leaves_within &&
                          request_.excluded == other.request_.excluded &&
                          request_.sharers == other.request_.sharers && possible_;
  if (!is_plain || !same_place) return false;
  if (finders_->keeps_users_apart && (mine.uid != its.uid || mine.one_user != its.one_user))
    return false;
  const bool fewer = enough_.nodes <= other.enough_.nodes && enough_.units <= other.enough_.units &&
                     mine.max_nodes >= its.max_nodes && mine.min_cpus <= its.min_cpus;
  const bool whole = its.whole_nodes || (!mine.whole_nodes && its.all_cores);
  const bool smaller = mine.cpus_per_task <= its.cpus_per_task &&
                       mine.min_cpus_per_node <= its.min_cpus_per_node &&
                       mine.tasks_per_node <= its.tasks_per_node &&
                       mine.max_tasks_per_node >= its.max_tasks_per_node &&
                       (whole || (!mine.whole_nodes && !mine.all_cores));
  // where no job is given any it says which nodes are large enough
  const bool less_memory =
      (!mine.uses_memory && std::max(mine.memory_per_node_mib, mine.memory_per_cpu_mib) <=
                                std::max(its.memory_per_node_mib, its.memory_per_cpu_mib)) ||
      (mine.uses_memory && !mine.all_memory &&
       mine.memory_per_node_mib <= its.memory_per_node_mib &&
       mine.memory_per_cpu_mib <= its.memory_per_cpu_mib);
  return fewer && smaller && less_memory;
}

bool StartFinder::asks_nodes_for_the_same(const StartFinder& other) const {
  const fit::Needs &mine = request_.needs, &its = other.request_.needs;
  return !exact_ && !other.exact_ && !other.every_change_ &&
         mine.cpus_per_task == its.cpus_per_task && mine.tasks_per_node == its.tasks_per_node &&
         mine.max_tasks_per_node == its.max_tasks_per_node &&
         mine.min_cpus_per_node == its.min_cpus_per_node && mine.whole_nodes == its.whole_nodes &&
         mine.uses_memory == its.uses_memory && mine.all_memory == its.all_memory &&
         mine.memory_per_node_mib == its.memory_per_node_mib &&
         mine.memory_per_cpu_mib == its.memory_per_cpu_mib && mine.uid == its.uid &&
         mine.one_user == its.one_user;
}

// Finders are made one after another: of the last ones since the last look.
void StartFinder::list_smaller() {
  constexpr size_t kMost = 512;  // where hardly two jobs are alike
  const std::vector<StartFinder*>& all = finders_->by_partition[request_.partition];
  if (all.size() > kMost) seen_ = std::max(seen_, all.size() - kMost);
  for (; seen_ < all.size(); ++seen_) {
    const StartFinder& other = *all[seen_];
    if (!other.asks_no_more_than(*this)) continue;
    smaller_.push_back(
        {&other, other.nodes_.has_order_of(nodes_), other.asks_nodes_for_the_same(*this)});
  }
  if (smaller_.size() > kMost)
    smaller_.erase(smaller_.begin(), smaller_.end() - static_cast<ptrdiff_t>(kMost));
}

// From two indexes whose jobs ask for no more and last no longer: the one with the latest bound,
// and the one that was used last, which knows most of what nodes have been claimed since.
void StartFinder::learn(Known& mine) {
  list_smaller();
  StartIndex::Other best, fresh;
  uint64_t last_used = 0;
  for (const Smaller& one : smaller_) {
    for (const auto& [duration, known] : one.finder->indexes_) {
      if (duration > mine.index.duration()) break;
      if (&known == &mine || !known.index.is_current()) continue;
      const StartIndex::Other other{&known.index, one.same_nodes, one.asks_the_same};
      if (best.index == nullptr || known.index.bound() > best.index->bound()) best = other;
      if (known.used > last_used) fresh = other;
      last_used = std::max(last_used, known.used);
    }
  }
  mine.used = ++finders_->uses;
  if (best.index == nullptr) return;
  mine.index.raise_bound(best.index->bound());
  mine.index.learn_from(best);
  if (fresh.index != nullptr && fresh.index != best.index) mine.index.learn_from(fresh);
}

// From the end, of those that weigh the same.
std::vector<NodeId> StartFinder::order() const {
  std::vector<NodeId> nodes = resources_.order_of(*request_.partition);
  if (request_.first.any()) {
    std::stable_partition(nodes.begin(), nodes.end(),
                          [&](NodeId id) { return request_.first.test(id); });
    return nodes;
  }
  if (!from_end_) return nodes;
  const auto key = [&](NodeId id) {
    const Node& node = resources_.state().nodes.at(id);
    return std::pair(state::is_asleep(node), node.weight);
  };
  for (auto first = nodes.begin(); first != nodes.end();) {
    const auto last = std::find_if(first, nodes.end(),
                                   [&, of = key(*first)](NodeId id) { return key(id) != of; });
    std::reverse(first, last);
    first = last;
  }
  return nodes;
}

void StartFinder::list_nodes() {
  const fit::Needs& needs = request_.needs;
  const Finders::Least least = this->least(), rounded = least.rounded();
  size_t required = 0;
  for (const NodeId id : order()) {
    if (closings_.closed.test(id)) continue;
    const uint32_t most = tasks_on(*resources_.idle(id));
    if (most == 0 || share_.units(id, resources_.base_of(id)) == 0) continue;
    const auto closings = closings_.by_node->find(id);
    timeline::IndexedNode node{id, std::min(most, std::max(1U, needs.tasks)),
                               closings == closings_.by_node->end() ? nullptr : &closings->second,
                               request_.required.test(id)};
    node.least = least_on(*resources_.idle(id), least);
    node.busy = least_on(*resources_.idle(id), rounded);
    nodes_.add(node);
    required += node.required ? 1 : 0;
  }
  if (finders_ != nullptr) nodes_.share_order(finders_->orders);
  possible_ = !request_.unknown_node && required == request_.required.count();
}

uint32_t StartFinder::units(NodeId node, const Free& free) const {
  const uint32_t tasks = share_.units(node, free);
  return tasks == 0 || !exact_ ? tasks : exact_units(node, free);
}

uint32_t StartFinder::exact_units(NodeId node, const Free& free) const {
  resources_.room_with(node, free, scratch_);
  return tasks_on(scratch_);
}

uint32_t StartFinder::tasks_on(const fit::Room& room) const {
  const uint32_t tasks = fit::capacity(request_.needs, room).tasks;
  return preferred_ ? std::max(tasks, fit::capacity(*preferred_, room).tasks) : tasks;
}

StartFinder::Known& StartFinder::known_for(Tick duration) {
  auto found = indexes_.find(duration);
  if (found == indexes_.end()) {
    if (finders_ != nullptr) finders_->make_place(*this, duration, nodes_.size());
    found = indexes_
                .try_emplace(
                    duration,
                    StartIndex::Of{resources_.timeline(), nodes_, *this, closings_.view, busy_},
                    duration, every_change_)
                .first;
  }
  return found->second;
}

StartIndex& StartFinder::index_for(Tick duration) {
  Known& known = known_for(duration);
  if (finders_ != nullptr) learn(known);
  return known.index;
}

void Finders::make_place(StartFinder& finder, Tick duration, size_t positions) {
  // 20 bytes each
  constexpr size_t kMostPositions = 32'000'000;
  for (; !made.empty() && known_positions + positions > kMostPositions; made.pop_front()) {
    const Made& oldest = made.front();
    known_positions -= oldest.positions;
    oldest.finder->forget(oldest.duration);
  }
  known_positions += positions;
  made.push_back({&finder, duration, positions});
}

std::optional<FoundStart> StartFinder::first(const Wanted& wanted) {
  if (!possible_) return std::nullopt;
  const bool may_share = request_.sharers > 1 && wanted.from == 0;
  const auto is_too_late = [&](const StartIndex& index) {
    return !may_share && index.is_current() && index.bound() > wanted.latest;
  };
  if (is_too_late(known_for(wanted.duration).index)) return std::nullopt;
  StartIndex& index = index_for(wanted.duration);
  if (is_too_late(index)) return std::nullopt;
  if (may_share) {
    if (auto placed = place_shared(index)) return FoundStart{0, std::move(*placed)};
  }
  Serving serving;
  Tick from = wanted.from;
  bool exact = true;  // all moments before were looked at
  constexpr uint32_t kExactMoments = 100;
  uint32_t failed = 0;
  Tick apart = 0;
  while (true) {
    const Tick at = index.next(from, enough_, !any_subset_, serving);
    if (exact && wanted.from <= index.bound()) index.raise_bound(at);
    if (at == kNoTick || at > wanted.latest) return std::nullopt;
    if (auto placed = place(index, at, wanted.patience, serving))
      return FoundStart{at, std::move(*placed)};
    // what fails for want of patience may do later, and for another job now
    exact = exact && request_.switches.most == 0 && !request_.needs.may_change;
    if (finders_ != nullptr && finders_->out_of_time && finders_->out_of_time())
      return std::nullopt;
    Tick next = index.next_change(at);
    if (++failed > kExactMoments && next != kNoTick) {
      exact = false;
      apart = std::max(apart * 2, next - at);
      if (apart > timeline::kHorizon - std::min(at, timeline::kHorizon)) return std::nullopt;
      next = std::max(next, at + apart);
    }
    if (next == kNoTick) return std::nullopt;
    from = next;
  }
}

Placed StartFinder::place_at(Tick at, const Wanted& wanted) {
  if (!possible_) return std::nullopt;
  StartIndex& index = index_for(wanted.duration);
  Serving serving;
  if (index.next(at, enough_, true, serving) != at) return std::nullopt;
  return place(index, at, wanted.patience, serving);
}

Tick StartFinder::next_after(Tick at, const Wanted& wanted) {
  if (!possible_) return kNoTick;
  StartIndex& index = index_for(wanted.duration);
  Serving serving;
  (void)index.next(at, enough_, true, serving);
  const Tick next = index.next_change(at);
  return next == kNoTick ? kNoTick : index.next(next, enough_, false, serving);
}

// Nodes that have the job's features go before those that are changed for them.
Placed StartFinder::place(StartIndex& index, Tick at, const Patience& patience, Serving& serving) {
  const fit::Needs& needs = request_.needs;
  const bool insists = at == 0 || resources_.time_of(at) < patience.until;
  const uint32_t most_switches = insists ? patience.most_switches : 0;
  if (!needs.may_change) return place_with(index, at, needs, most_switches, serving);
  fit::Needs unchanged = needs;
  unchanged.may_change = false;
  if (auto placed = place_with(index, at, unchanged, most_switches, serving)) return placed;
  if (insists && !patience.may_change) return std::nullopt;
  return place_with(index, at, needs, most_switches, serving);
}

Placed StartFinder::place_with(StartIndex& index, Tick at, const fit::Needs& needs,
                               uint32_t most_switches, Serving& serving) {
  if (any_subset_ && fit::fits_one_node(needs)) {
    if (auto placed = place_on_one(index, at, needs)) return placed;
    if (needs.tasks <= 1) {  // what seemed enough is not
      (void)index.next(at, enough_, true, serving);
      return std::nullopt;
    }
  }
  if (preferred_) {
    if (auto placed = place_among(index, at, *preferred_, most_switches, serving)) return placed;
  }
  // more nodes than it may have are enough: the largest of all are taken then
  if (any_subset_ && serving.size() > needs.max_nodes) {
    if (index.next(at, enough_, true, serving) != at) return std::nullopt;
    return place_among(index, at, needs, most_switches, serving);
  }
  if (auto placed = place_among(index, at, needs, most_switches, serving)) return placed;
  if (!any_subset_) return std::nullopt;
  if (index.next(at, enough_, true, serving) != at) return std::nullopt;
  return place_among(index, at, needs, most_switches, serving);
}

// The first node that takes the whole job.
Placed StartFinder::place_on_one(StartIndex& index, Tick at, const fit::Needs& needs) {
  if (rooms_.empty()) rooms_.resize(1);
  if (uses_.empty()) uses_.resize(1);
  StartIndex::Walk walk(index, at, {.least = needs.tasks});
  for (uint32_t i = walk.next(); i != walk.end(); i = walk.next()) {
    if (index.units(i) < needs.tasks) continue;
    resources_.window({nodes_[i].id, at, at + index.duration(), closings_.view},
                      *request_.partition, rooms_[0], uses_.data());
    if (auto placed = fit::place_on(needs, rooms_[0], resources_.rules().unit))
      return std::vector{std::move(*placed)};
  }
  return std::nullopt;
}

Placed StartFinder::place_among(StartIndex& index, Tick at, const fit::Needs& needs,
                                uint32_t most_switches, const Serving& serving) {
  const fit::Rules& rules = resources_.rules();
  if (rooms_.size() < serving.size()) rooms_.resize(serving.size());
  if (uses_.size() < serving.size()) uses_.resize(serving.size());
  std::vector<const fit::Room*> list;
  list.reserve(serving.size());
  for (size_t i = 0; i < serving.size(); ++i) {
    const NodeId id = nodes_[serving[i]].id;
    resources_.window({id, at, at + index.duration(), closings_.view}, *request_.partition,
                      rooms_[i], &uses_[i]);
    list.push_back(&rooms_[i]);
  }
  if (rules.least_loaded || request_.partition->config->lln) {
    const auto by_load = [&](const fit::Room* a, const fit::Room* b) {
      const auto key = [&](const fit::Room* room) {
        const Node& node = resources_.state().nodes.at(room->node);
        return std::pair(state::is_asleep(node), node.weight);
      };
      const auto ka = key(a), kb = key(b);
      return ka != kb ? ka < kb : a->free_cpus > b->free_cpus;
    };
    std::ranges::stable_sort(list, by_load);
  }
  const Topology* topology = resources_.topology();
  if (topology == nullptr) return fit::place(needs, list, &request_.required, rules.unit);
  if (request_.groups_alone) {
    const Bitmap open = resources_.idle_groups(at, at + index.duration());
    std::erase_if(list, [&](const fit::Room* room) { return !open.test(room->node); });
  }
  TopologyWish wish = wish_;
  wish.most_switches = most_switches;
  return topology->place(needs, list, &request_.required, rules.unit, wish);
}

Placed StartFinder::place_shared(StartIndex& index) {
  Serving serving;
  // free cores go first
  if (index.next(0, enough_, true, serving) == 0) {
    if (auto placed = place(index, 0, {}, serving)) return placed;
  }
  const Tick to = index.duration();
  const fit::Unit unit = resources_.rules().unit;
  if (rooms_.size() < nodes_.size()) rooms_.resize(nodes_.size());
  if (uses_.size() < nodes_.size()) uses_.resize(nodes_.size());
  std::vector<const fit::Room*> list;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const timeline::IndexedNode node = nodes_[i];
    if (node.closings != nullptr && !node.closings->empty() && node.closings->front().from < to)
      continue;
    resources_.window({node.id, 0, to, closings_.view}, *request_.partition, rooms_[i], &uses_[i]);
    Bitmap cores = resources_.shareable_cores(node.id, to, *request_.partition, request_.sharers);
    if (closings_.view != nullptr) cores.and_not(closings_.view->reserved(node.id, to));
    fit::set_free_cores(rooms_[i], std::move(cores), unit);
    list.push_back(&rooms_[i]);
  }
  if (preferred_) {
    if (auto placed = fit::place(*preferred_, list, &request_.required, unit)) return placed;
  }
  return fit::place(request_.needs, list, &request_.required, unit);
}

}  // namespace sluice::sched
