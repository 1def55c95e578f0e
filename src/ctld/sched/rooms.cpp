#include "ctld/sched/rooms.hpp"

#include <algorithm>

namespace sluice::sched {

using state::ClusterState;
using state::Partition;

Rooms::Rooms(const ClusterState& state, Time now)
    : state_(state),
      now_(now),
      unit_(fit::unit_of(*state.config)),
      rooms_(state.next_node_id),
      reserved_from_(state.next_node_id, kNever) {
  state.nodes.for_each([&](const Node& node) {
    if (state::is_schedulable(node)) rooms_[node.id] = fit::room_now(node, unit_);
  });
}

std::vector<NodeId> Rooms::candidates(const Job& job, const Partition& partition) const {
  Bitmap usable = partition.nodes;
  if (!job.spec->excluded_nodes.empty()) {
    if (const auto excluded = state::resolve_nodes(state_, job.spec->excluded_nodes)) usable.and_not(*excluded);
  }
  std::vector<NodeId> ids;
  bool weighted = false;
  usable.for_each([&](size_t id) {
    if (!ids.empty() && state_.nodes.at(static_cast<NodeId>(id)).weight != state_.nodes.at(ids[0]).weight) {
      weighted = true;
    }
    ids.push_back(static_cast<NodeId>(id));
  });
  if (weighted) std::ranges::stable_sort(ids, {}, [&](NodeId id) { return state_.nodes.at(id).weight; });
  return ids;
}

void Rooms::mark_required(const Job& job, std::vector<fit::Room>& rooms) const {
  if (job.spec->required_nodes.empty()) return;
  const auto required = state::resolve_nodes(state_, job.spec->required_nodes);
  if (!required) return rooms.clear();
  size_t found = 0;
  for (fit::Room& room : rooms) {
    room.required = required->test(room.node);
    found += room.required ? 1 : 0;
  }
  if (found != required->count()) rooms.clear();  // one of them cannot be had now
}

std::optional<std::vector<NodeAllocation>> Rooms::place_now(const Job& job,
                                                            const Partition& partition,
                                                            const fit::Needs& needs,
                                                            Minutes limit) const {
  const Time ends = limit == kInfiniteMinutes || limit == 0 ? kNever : now_ + std::chrono::minutes(limit);
  std::vector<fit::Room> usable;
  for (const NodeId id : candidates(job, partition)) {
    const auto& room = rooms_[id];
    if (!room || room->free_cpus == 0) continue;
    if (reserved_from_[id] != kNever && ends > reserved_from_[id]) continue;
    usable.push_back(*room);
  }
  mark_required(job, usable);
  return fit::place(needs, usable, unit_);
}

std::optional<std::vector<NodeAllocation>> Rooms::place_empty(const Job& job,
                                                              const Partition& partition,
                                                              const fit::Needs& needs,
                                                              bool any_state) const {
  std::vector<fit::Room> usable;
  for (const NodeId id : candidates(job, partition)) {
    if (any_state || rooms_[id]) usable.push_back(fit::room_empty(state_.nodes.at(id), unit_));
  }
  mark_required(job, usable);
  return fit::place(needs, usable, unit_);
}

void Rooms::take(const std::vector<NodeAllocation>& allocation, bool whole_nodes) {
  for (const NodeAllocation& a : allocation) {
    fit::Room& room = *rooms_[a.node];
    room.free_units.and_not(a.cores);
    room.free_cpus = whole_nodes ? 0 : room.free_cpus - std::min(room.free_cpus, a.cpus);
    if (whole_nodes) room.free_units.clear();
    room.free_memory_mib -= std::min(room.free_memory_mib, a.memory_mib);
    ++room.jobs;
  }
}

Waiting Rooms::why_waiting(const Job& job, const Partition& partition, const fit::Needs& needs) const {
  if (place_empty(job, partition, needs, false)) return {};
  if (!place_empty(job, partition, needs, true)) return {JobReason::kBadConstraints, {}};
  if (job.spec->required_nodes.empty()) {
    return {JobReason::kResources,
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"};
  }
  Bitmap unavailable;
  if (const auto required = state::resolve_nodes(state_, job.spec->required_nodes)) {
    required->for_each([&](size_t id) {
      if (!rooms_[id]) unavailable.set(id);
    });
  }
  if (unavailable.none()) return {};
  return {JobReason::kReqNodeNotAvail,
          "ReqNodeNotAvail, UnavailableNodes:" + state::node_list(state_, unavailable)};
}

std::optional<Forecast> Rooms::reserve_earliest(const Job& job,
                                                const Partition& partition,
                                                const fit::Needs& needs) {
  std::vector<const Job*> running;
  state_.active.for_each([&](JobId id) {
    const Job& other = state_.jobs.at(id);
    if (other.allocation) running.push_back(&other);
  });
  std::ranges::sort(running, {}, [](const Job* j) { return j->end; });
  std::vector<std::optional<fit::Room>> later = rooms_;
  size_t next = 0;
  while (next < running.size()) {
    const Time at = running[next]->end;
    if (at == kNoTime || at >= kNever) return std::nullopt;
    for (; next < running.size() && running[next]->end == at; ++next) {
      for (const NodeAllocation& a : running[next]->allocation->nodes) {
        if (a.node >= later.size() || !later[a.node]) continue;
        fit::Room& room = *later[a.node];
        room.free_units |= a.cores;
        room.free_cpus += a.cpus;
        room.free_memory_mib += a.memory_mib;
        room.jobs -= std::min(room.jobs, 1U);
      }
    }
    std::vector<fit::Room> usable;
    for (const NodeId id : candidates(job, partition)) {
      if (later[id] && reserved_from_[id] == kNever) usable.push_back(*later[id]);
    }
    mark_required(job, usable);
    const auto placed = fit::place(needs, usable, unit_);
    if (!placed) continue;
    Forecast forecast{std::max(at, now_), {}};
    for (const NodeAllocation& a : *placed) {
      forecast.nodes.set(a.node);
      reserved_from_[a.node] = forecast.start;
    }
    return forecast;
  }
  return std::nullopt;
}

}  // namespace sluice::sched
