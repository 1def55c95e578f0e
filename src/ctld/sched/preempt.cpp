#include "ctld/sched/preempt.hpp"

#include <algorithm>
#include <tuple>

#include "common/base/text.hpp"
#include "ctld/state/rules/preemption.hpp"
#include "ctld/state/rules/room.hpp"

namespace sluice::sched {
namespace {

// Of a heterogeneous job it is the first component that was told to.
bool leaves_already(const state::ClusterState& state, const Job& job) {
  if (state::is_leaving(job) || !is_het_follower(job)) return state::is_leaving(job);
  const Job* leader = state.jobs.find(job.het->leader);
  return leader != nullptr && leader->het != nullptr && leader->grace_end != kNoTime;
}

bool youngest_goes_first(const ClusterConfig& config) {
  const bool asked_for = has_option(config.preempt_parameters, "youngest_first");
  // as Slurm had it once
  const bool asked_before = has_option(config.scheduler_parameters, "preempt_youngest_first");
  return asked_for || asked_before;
}

}  // namespace

std::vector<JobId> preempted_together(const state::ClusterState& state, const Job& job) {
  const Job* leader = job.het == nullptr ? nullptr : state.jobs.find(job.het->leader);
  const bool alone = leader == nullptr || leader->het == nullptr || is_completing(*leader) ||
                     is_terminal(leader->state);
  if (alone) return {job.id};
  std::vector<JobId> all;
  state::for_components(state, *job.het, [&](const Job& one) { all.push_back(one.id); });
  return all;
}

Gone Preemption::leaving_already() const {
  Gone gone = preempted_;
  const state::ClusterState& state = resources_.state();
  state.active.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    if (!job.allocation || !leaves_already(state, job)) return;
    gone.try_emplace(id, Leaving{expected_end(state, job, resources_.now())});
  });
  return gone;
}

std::vector<Preemption::Victim> Preemption::find_victims(const LeavingOf& leaving_of) const {
  const state::ClusterState& state = resources_.state();
  const bool youngest_first = youngest_goes_first(*state.config);
  std::vector<std::pair<std::tuple<uint32_t, int64_t, JobId>, Victim>> found;
  state.active.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    if (!job.allocation || preempted_.contains(id)) return;
    const auto leaving = leaving_of(job);
    if (!leaving) return;
    const state::Partition* partition = state::find_partition(state, job.partition.view());
    const uint32_t tier = partition == nullptr ? 0 : partition->config->priority_tier;
    const int64_t worth = youngest_first ? (resources_.now() - job.start).count()
                                         : static_cast<int64_t>(job.allocation->nodes.size());
    found.push_back({{tier, worth, UINT32_MAX - id}, {&job, *leaving}});
  });
  std::ranges::sort(found, {}, [](const auto& one) { return one.first; });
  std::vector<Victim> victims;
  victims.reserve(found.size());
  for (const auto& one : found) victims.push_back(one.second);
  return victims;
}

// As if they were gone now: what is planned for others later is left to those.
Placed Preemption::place_without(const Request& request, Tick duration, const Gone& gone,
                                 const Bitmap* only) const {
  const Time ends = resources_.time_of(duration);
  const state::NodeHold closed = resources_.closed_to(request, resources_.now(), ends);
  std::vector<fit::Room> rooms;
  std::vector<fit::PartitionUse> uses;
  const std::vector<NodeId>& order = resources_.order_of(*request.partition);
  rooms.reserve(order.size());
  uses.reserve(order.size());
  std::vector<const fit::Room*> list;
  Bitmap touched;
  if (request.groups_alone) return std::nullopt;  // who wants whole groups waits for them
  for (const auto& [job, leaving] : gone)
    touched |= resources_.touched_by(resources_.state().jobs.at(job));
  timeline::Free free;
  for (const NodeId id : order) {
    if (closed.whole.test(id) || (only != nullptr && !only->test(id))) continue;
    if (touched.test(id)) resources_.without(id, gone).window(0, duration, free);
    else resources_.timeline().node(id).window(0, duration, free);
    if (free.core_count == 0) continue;
    rooms.emplace_back();
    resources_.room_with(id, free, rooms.back());
    if (!resources_.leave_open(closed, rooms.back())) {
      rooms.pop_back();
      continue;
    }
    if (state::bounds_cpus(*request.partition->config)) {
      uses.push_back(resources_.held_in(id, 0, duration, *request.partition, &gone));
      rooms.back().held = &uses.back();
    }
    list.push_back(&rooms.back());
  }
  const fit::Unit unit = resources_.rules().unit;
  const Topology* topology = resources_.topology();
  if (topology == nullptr) return fit::place(request.needs, list, &request.required, unit);
  return topology->place(request.needs, list, &request.required, unit,
                         wish_of(resources_, request, order));
}

void Preemption::keep_needed(const Request& request, Tick duration, std::vector<Victim>& victims,
                             Gone& gone, std::vector<NodeAllocation>& placed) const {
  constexpr size_t kMostTries = 32;  // of keeping one that need not go
  const auto keep_those_elsewhere = [&] {
    Bitmap nodes;
    for (const NodeAllocation& a : placed) nodes.set(a.node);
    std::erase_if(victims, [&](const Victim& one) {
      const bool elsewhere = !nodes_of(*one.job).intersects(nodes);
      if (elsewhere) gone.erase(one.job->id);
      return elsewhere;
    });
  };
  keep_those_elsewhere();
  size_t tries = 0;
  for (size_t i = victims.size(); i-- > 0 && tries < kMostTries; ++tries) {
    const Victim one = victims[i];
    gone.erase(one.job->id);
    // on any nodes: the large ones of those that stay may be enough without the small ones
    if (auto without = place_without(request, duration, gone, nullptr)) {
      placed = std::move(*without);
      victims.erase(victims.begin() + static_cast<ptrdiff_t>(i));
    } else {
      gone.emplace(one.job->id, one.leaving);
    }
  }
  keep_those_elsewhere();
}

// As many of the first as it takes; of them those that it really takes are left.
Placed Preemption::place_with_victims(const Request& request, Tick duration,
                                      std::vector<Victim>& victims, Gone& gone) const {
  if (victims.empty()) return std::nullopt;
  const Gone before = gone;
  const auto with = [&](size_t count) {
    gone = before;
    for (size_t i = 0; i < count; ++i) gone.try_emplace(victims[i].job->id, victims[i].leaving);
    return place_without(request, duration, gone, nullptr);
  };
  size_t low = 1, high = victims.size();
  Placed placed = with(high);
  if (!placed) return std::nullopt;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    auto fewer = with(middle);
    const bool enough = fewer.has_value();
    if (enough) placed = std::move(fewer);
    (enough ? high : low) = enough ? middle : middle + 1;
  }
  victims.resize(high);
  gone = before;
  for (const Victim& one : victims) gone.try_emplace(one.job->id, one.leaving);
  keep_needed(request, duration, victims, gone, *placed);
  return placed;
}

void Preemption::preempt(const std::vector<Victim>& victims) {
  Gone ends;
  for (const Victim& one : victims) {
    for (const JobId id : preempted_together(resources_.state(), *one.job)) {
      ends.emplace(id, one.leaving);
      preempted_.emplace(id, one.leaving);
    }
  }
  if (!ends.empty()) resources_.end_early(ends);
}

std::optional<Preemption::Outcome> Preemption::make_room(const Job& job, const Request& request,
                                                         Minutes limit, const LeavingOf& leaving_of,
                                                         const Accepts& accepts) {
  if (request.unknown_node) return std::nullopt;
  // nobody goes for what it could not use yet, nor for what it need not insist on any more
  Request now = request;
  const Patience insists =
      patience_of(request, job, resources_.now(), resources_.topology() != nullptr);
  now.needs.may_change = now.needs.may_change && insists.may_change;
  now.switches.most = insists.most_switches;
  const Tick duration = resources_.duration_of(limit);
  Gone gone = leaving_already();
  Placed placed = place_without(now, duration, gone, nullptr);
  std::vector<Victim> victims;
  if (!placed) {
    victims = find_victims(leaving_of);
    std::erase_if(victims, [&](const Victim& one) { return gone.contains(one.job->id); });
    placed = place_with_victims(now, duration, victims, gone);
    if (!placed) return std::nullopt;
  }
  if (!accepts(*placed)) return std::nullopt;
  Outcome outcome;
  for (const NodeAllocation& a : *placed) outcome.nodes.set(a.node);
  for (const Victim& one : victims) outcome.preempted.push_back(one.job->id);
  preempt(victims);
  outcome.start = resources_.now();
  for (const auto& [id, leaving] : gone) {
    const Job& leaves = resources_.state().jobs.at(id);
    if (nodes_of(leaves).intersects(outcome.nodes))
      outcome.start = std::max(outcome.start, leaving.end);
  }
  const Tick start = std::max<Tick>(1, resources_.tick_from(outcome.start));
  resources_.claim(job, now, *placed, start, start + duration);
  return outcome;
}

}  // namespace sluice::sched
