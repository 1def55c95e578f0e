#include "ctld/sched/resources.hpp"

#include <algorithm>
#include <iterator>

#include "common/base/check.hpp"
#include "common/base/text.hpp"
#include "ctld/state/core/indexes.hpp"
#include "ctld/state/rules/node_groups.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/gang.hpp"
#include "ctld/state/rules/reservations.hpp"
#include "ctld/state/rules/room.hpp"

namespace sluice::sched {

using state::ClusterState;
using state::Partition;
using timeline::Claim;
using timeline::Free;
using timeline::kNoTick;

namespace {

Duration resolution_of(const ClusterConfig& config) {
  const auto text = option_value(config.scheduler_parameters, "bf_resolution");
  const uint32_t seconds = to_number<uint32_t>(text.value_or("")).value_or(1);
  return std::chrono::seconds(std::clamp<uint32_t>(seconds, 1, 3600));
}

Time next_tick(Time when, Duration resolution) {
  const Duration behind = when.time_since_epoch() % resolution;
  return behind == Duration(0) ? when : when + (resolution - behind);
}

Claim claim_of(const Request& request, const NodeAllocation& part) {
  return {&part.cores,       part.memory_mib,           &part.gres,
          request.needs.uid, request.needs.whole_nodes, request.needs.one_user};
}

}  // namespace

Time expected_end(const ClusterState& state, const Job& job, Time now) {
  Time end = job.end;
  if (end == kNoTime || end >= kNever) end = state::planned_end(job.start, kInfiniteMinutes);
  if (job.time_sliced && job.end < kNever) end += now - job.suspended_at;
  const Job* leader = is_het_follower(job) ? state.jobs.find(job.het->leader) : nullptr;
  // they go together
  if (leader != nullptr && leader->grace_end != kNoTime) end = std::min(end, leader->grace_end);
  return std::max(end, now);
}

Bitmap nodes_of(const Job& job) {
  Bitmap nodes;
  for (size_t at = 0; job.allocation && at < job.allocation->nodes.size(); ++at) {
    if (!job.released.test(at)) nodes.set(job.allocation->nodes[at].node);
  }
  return nodes;
}

Claim NodeSpan::claim() const {
  if (cores_only) return {&part->cores, 0, nullptr, uid, whole, one_user};
  return {&part->cores, part->memory_mib, &part->gres, uid, whole, one_user, parked, group};
}

Resources::Resources(const ClusterState& state, Time now)
    : state_(state),
      resolution_(resolution_of(*state.config)),
      now_(next_tick(now, resolution_)),
      rules_(fit::rules_of(*state.config)),
      topology_(Topology::of(state)),
      groups_(topology_ == nullptr ? std::vector<Bitmap>() : *state.leaf_groups),
      idle_(state.next_node_id),
      threads_(state.next_node_id),
      timeline_(state.next_node_id),
      spans_(state.next_node_id) {
  state.nodes.for_each([&](const Node& node) {
    if (!state::may_serve(state, node)) return;
    idle_[node.id] = fit::room_empty(node, rules_.unit);
    threads_[node.id] = cpus_of_core(*node.config);
    // it comes up with the features that it has
    if (state::is_asleep(node)) idle_[node.id].changeable = nullptr;
    timeline_.reset(node.id, base_of(node.id));
  });
  state.active.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    if (job.allocation) hold(job);
  });
  for (GangTurns::Place at = 0; at < turns_.size(); ++at) stretch(at);
}

void Resources::stretch(GangTurns::Place place) {
  if (!turns_.has_grown(place)) return;
  const Tick slice = tick_from(now_ + state_.config->scheduler_time_slice);
  Bitmap nodes;
  for (const GangTurns::Place job : turns_.group(place)) {
    for (const NodeAllocation* part : turns_.parts(job)) nodes.set(part->node);
  }
  nodes.for_each([&](size_t node) {
    bool changed = false;
    for (NodeSpan& span : spans_[node]) {
      const auto job = span.from > 0 || span.whole ? std::nullopt : turns_.owner(span.part);
      const Tick to = job ? turns_.length(*job, slice) : 0;
      changed = changed || span.to < to;
      span.to = std::max(span.to, to);
    }
    if (changed) rebuild(static_cast<NodeId>(node));
  });
}

Free Resources::base_of(NodeId node) const {
  const fit::Room& room = idle_[node];
  Free free;
  free.cores = room.free_cores;
  free.core_count = static_cast<uint32_t>(free.cores.count());
  free.memory_mib = room.free_memory_mib;
  return free;
}

void Resources::hold(const Job& job) {
  const Partition* partition = state::find_partition(state_, job.partition.view());
  NodeSpan span;
  // what is overdue is held for now
  span.to = std::max<Tick>(1, tick_from(expected_end(state_, job, now_)));
  span.job = job.id;
  span.partition = partition;
  span.uid = job.spec->uid;
  const Reservation* reservation =
      job.reservation.empty() ? nullptr : state::find_reservation(state_, job.reservation.view());
  span.group = reservation == nullptr ? 0 : reservation->id;
  span.sharers = partition == nullptr ? 1 : state::sharers_of(*partition->config, *job.spec);
  span.whole = job.allocation->whole_nodes;
  span.one_user = state::is_one_user(partition, *job.spec);
  span.runs = true;
  span.parked = !state::holds_processors(job);
  span.counts = state::counts_as_sharer(job);
  std::vector<const NodeAllocation*> parts;
  for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
    const NodeAllocation& part = job.allocation->nodes[at];
    if (job.released.test(at) || part.node >= idle_.size() || idle(part.node) == nullptr) continue;
    span.part = &part;
    parts.push_back(&part);
    spans_[part.node].push_back(span);
    timeline_.add(part.node, span.from, span.to, span.claim());
  }
  if (state::wants_groups_alone(state_, partition == nullptr ? nullptr : partition->config.get(),
                                *job.spec))
    keep_others_off(span, nodes_of(job));
  if (state_.config->preempt_gang && state::takes_turns(state_, job))
    turns_.add(std::move(parts), span.to);
}

// The other nodes of its groups are nobody's meanwhile.
void Resources::keep_others_off(const NodeSpan& of, const Bitmap& nodes) {
  static const NodeAllocation nothing{};
  NodeSpan span = of;
  span.part = &nothing;
  span.whole = true;
  Bitmap others = state::with_groups(groups_, nodes);
  others.and_not(nodes).for_each([&](size_t at) {
    const auto id = static_cast<NodeId>(at);
    if (at >= idle_.size() || idle(id) == nullptr) return;
    spans_[id].push_back(span);
    timeline_.add(id, span.from, span.to, span.claim());
    if (trial_) trial_->nodes.push_back(id);
  });
}

Bitmap Resources::touched_by(const Job& job) const {
  const Partition* partition = state::find_partition(state_, job.partition.view());
  Bitmap nodes = nodes_of(job);
  const PartitionConfig* config = partition == nullptr ? nullptr : partition->config.get();
  if (!state::wants_groups_alone(state_, config, *job.spec)) return nodes;
  return state::with_groups(groups_, nodes);
}

Bitmap Resources::idle_groups(Tick from, Tick to) const {
  Bitmap out;
  for (const Bitmap& group : groups_) {
    bool is_idle = true;
    group.for_each([&](size_t at) {
      const auto id = static_cast<NodeId>(at);
      if (!is_idle) return;
      if (at < idle_.size() && idle(id) != nullptr) {
        timeline_.node(id).window(from, to, scratch_);
        is_idle = scratch_.jobs == 0;
      } else if (const Node* node = state_.nodes.find(id)) {
        is_idle = node->jobs.empty();  // of one that serves nobody it is not known until when
      }
    });
    if (is_idle) out |= group;
  }
  return out;
}

Tick Resources::tick_from(Time when) const {
  if (when <= now_) return 0;
  const auto ticks = (when - now_ + resolution_ - Duration(1)) / resolution_;
  return static_cast<Tick>(std::min<int64_t>(ticks, timeline::kHorizon));
}

Tick Resources::tick_until(Time when) const {
  if (when <= now_) return 0;
  return static_cast<Tick>(std::min<int64_t>((when - now_) / resolution_, timeline::kHorizon));
}

Time Resources::end_of(Minutes limit) const { return state::planned_end(now_, limit); }

Tick Resources::duration_of(Minutes limit) const {
  return std::max<Tick>(1, tick_from(end_of(limit)));
}

void Resources::room_with(NodeId node, const Free& free, fit::Room& room) const {
  room = idle_[node];
  fit::set_free_cores(room, free.cores, rules_.unit);
  room.free_memory_mib = free.memory_mib;
  room.jobs = free.jobs;
  room.user = free.user;
  room.one_user = free.one_user;
  room.used_gres = free.used_gres;
  if (free.jobs > 0) room.changeable = nullptr;
}

void Resources::window(const Window& what, const Partition& partition, fit::Room& room,
                       fit::PartitionUse* held) const {
  timeline_.node(what.node, what.view).window(what.from, what.to, scratch_);
  room_with(what.node, scratch_, room);
  if (held == nullptr || !state::bounds_cpus(*partition.config)) return;
  *held = held_in(what.node, what.from, what.to, partition);
  room.held = held;
}

fit::PartitionUse Resources::held_in(NodeId node, Tick from, Tick to, const Partition& partition,
                                     const Gone* gone) const {
  const auto of_partition = [&](const NodeSpan& span) {
    if (gone != nullptr && span.runs && gone->contains(span.job)) return false;
    return span.partition == &partition && !span.parked && span.from < to && from < span.to;
  };
  const auto use_at = [&](Tick at) {
    fit::PartitionUse use;
    for (const NodeSpan& span : spans_[node]) {
      if (of_partition(span) && span.from <= at && at < span.to)
        use.add(*span.part, *idle_[node].config);
    }
    return use;
  };
  fit::PartitionUse most = use_at(from);
  for (const NodeSpan& span : spans_[node]) {
    if (!of_partition(span) || span.from <= from) continue;
    const fit::PartitionUse use = use_at(span.from);
    most.cpus = std::max(most.cpus, use.cpus);
    if (most.cores.size() < use.cores.size()) most.cores.resize(use.cores.size());
    for (size_t i = 0; i < use.cores.size(); ++i)
      most.cores[i] = std::max(most.cores[i], use.cores[i]);
  }
  return most;
}

Bitmap Resources::shareable_cores(NodeId node, Tick to, const Partition& partition,
                                  uint32_t sharers) const {
  std::vector<uint32_t> held(idle_[node].config->cores());
  for (const NodeSpan& span : spans_[node]) {
    if (span.from >= to || !span.counts) continue;
    const bool shares = span.partition == &partition && span.sharers > 1 && !span.whole;
    span.part->cores.for_each([&](size_t core) {
      if (core < held.size()) held[core] += shares ? 1 : sharers;
    });
  }
  Bitmap cores = idle_[node].free_cores;
  for (size_t core = 0; core < held.size(); ++core) {
    if (held[core] >= sharers) cores.reset(core);
  }
  return cores;
}

const std::vector<NodeId>& Resources::order_of(const Partition& partition) {
  const auto [at, fresh] = orders_.try_emplace(&partition);
  if (!fresh) return at->second;
  std::vector<NodeId>& ids = at->second;
  partition.nodes.for_each([&](size_t id) {
    if (idle(static_cast<NodeId>(id)) != nullptr) ids.push_back(static_cast<NodeId>(id));
  });
  // those that are asleep come last, whatever they weigh
  const auto weight = [&](NodeId id) {
    const Node& node = state_.nodes.at(id);
    return std::pair(state::is_asleep(node), node.weight);
  };
  if (!std::ranges::is_sorted(ids, {}, weight)) std::ranges::stable_sort(ids, {}, weight);
  return ids;
}

void Resources::tell_claims(NodeId node) const {
  timeline_.reset(node, base_of(node));
  for (const NodeSpan& span : spans_[node]) timeline_.add(node, span.from, span.to, span.claim());
}

void Resources::claim(const Job& job, const Request& request,
                      const std::vector<NodeAllocation>& allocation, Tick from, Tick to) {
  claim(job, request, std::make_shared<const std::vector<NodeAllocation>>(allocation), from, to);
}

void Resources::claim(const Job& job, const Request& request, SharedNodes nodes, Tick from,
                      Tick to) {
  claim(job, request, {job.id, request.partition, from, to, std::move(nodes)});
}

void Resources::claim(const Job& job, const Request& request, Claimed claim) {
  const bool changes_any = request.needs.may_change;
  for (const NodeAllocation& part : *claim.nodes) {
    NodeSpan span{.from = claim.from,
                  .to = claim.to,
                  .job = job.id,
                  .part = &part,
                  .partition = request.partition,
                  .uid = request.needs.uid,
                  .group = request.reservation == nullptr ? 0 : request.reservation->id,
                  .sharers = request.sharers,
                  .whole = request.needs.whole_nodes,
                  .one_user = request.needs.one_user};
    spans_[part.node].push_back(span);
    timeline_.add(part.node, span.from, span.to, span.claim());
    if (trial_) trial_->nodes.push_back(part.node);
    // while a node changes nothing else begins there
    const bool changes = changes_any && !serves_unchanged(request, idle_[part.node].features());
    if (!changes || claim.from > 0) continue;
    span.to = 1;
    span.whole = true;
    spans_[part.node].push_back(span);
    timeline_.add(part.node, 0, 1, span.claim());
    if (trial_) trial_->nodes.push_back(part.node);
  }
  if (request.groups_alone) {
    Bitmap nodes;
    for (const NodeAllocation& part : *claim.nodes) nodes.set(part.node);
    keep_others_off({.from = claim.from,
                     .to = claim.to,
                     .job = job.id,
                     .partition = request.partition,
                     .uid = request.needs.uid},
                    nodes);
  }
  const bool by_turns = state_.config->preempt_gang && claim.from == 0 && request.sharers > 1 &&
                        !request.needs.whole_nodes && !trial_ &&
                        state::has_turns(*request.partition->config);
  std::vector<const NodeAllocation*> parts;
  if (by_turns) {
    for (const NodeAllocation& part : *claim.nodes) parts.push_back(&part);
    stretch(turns_.add(std::move(parts), claim.to));
  }
  claims_.push_back(std::move(claim));
}

bool Resources::is_free(const Request& request, const std::vector<NodeAllocation>& nodes, Tick from,
                        Tick to) const {
  std::shared_ptr<const NodeClosings> closings;
  const timeline::Timeline::View* view = nullptr;
  if (!state_.reservations->empty()) {
    const Closings all = closings_for(request);
    closings = all.by_node;
    view = all.view;
  }
  return std::ranges::all_of(nodes, [&](const NodeAllocation& part) {
    if (part.node >= idle_.size() || idle(part.node) == nullptr) return false;
    const auto closed =
        closings == nullptr ? NodeClosings::const_iterator() : closings->find(part.node);
    const bool open = closings == nullptr || closed == closings->end() ||
                      std::ranges::none_of(closed->second, [&](const timeline::Closing& one) {
                        return one.from < to && from < one.to;
                      });
    return open && timeline_.node(part.node, view).is_free(from, to, claim_of(request, part));
  });
}

void Resources::rebuild(NodeId node) { tell_claims(node); }

std::vector<Claimed> Resources::withdraw(JobId job) {
  SLUICE_CHECK(!trial_);
  const auto its = [job](const auto& one) { return one.job == job; };
  std::vector<Claimed> withdrawn;
  std::ranges::copy_if(claims_, std::back_inserter(withdrawn), its);
  std::erase_if(claims_, its);
  for (const Claimed& claim : withdrawn) {
    Bitmap nodes;
    for (const NodeAllocation& part : *claim.nodes) nodes.set(part.node);
    state::with_groups(groups_, nodes).for_each([&](size_t at) {
      const auto id = static_cast<NodeId>(at);
      if (at >= idle_.size() || idle(id) == nullptr) return;
      std::erase_if(spans_[id], [&](const NodeSpan& s) { return its(s) && !s.runs; });
      rebuild(id);
    });
  }
  if (!withdrawn.empty()) timeline_.more_is_free();
  return withdrawn;
}

void Resources::end_trial(bool keep) {
  auto [claimed, claims, before] = std::move(*trial_);
  trial_.reset();
  if (keep || (claimed.empty() && before.empty())) return;
  claims_.resize(claims);
  for (const NodeId node : claimed) {
    if (!before.contains(node)) spans_[node].pop_back();
  }
  for (auto& [node, spans] : before) spans_[node] = std::move(spans);
  for (const NodeId node : claimed) rebuild(node);
  for (const auto& [node, spans] : before) {
    if (idle(node) != nullptr) rebuild(node);
  }
  timeline_.more_is_free();
}

void Resources::end_early(const Gone& ends) {
  Bitmap touched;
  for (const auto& [id, end] : ends) touched |= touched_by(state_.jobs.at(id));
  touched.for_each([&](size_t at) {
    const auto node = static_cast<NodeId>(at);
    if (trial_ && !trial_->before.contains(node)) {
      // claims of the trial stand last
      std::vector<NodeSpan> spans = spans_[node];
      spans.resize(spans.size() - static_cast<size_t>(std::ranges::count(trial_->nodes, node)));
      trial_->before.emplace(node, std::move(spans));
    }
    for (NodeSpan& span : spans_[node]) {
      const auto found = span.runs ? ends.find(span.job) : ends.end();
      if (found == ends.end()) continue;
      if (found->second.parks) span.parked = true;
      else span.to = std::max<Tick>(1, std::min(span.to, tick_from(found->second.end)));
    }
    if (idle(node) != nullptr) rebuild(node);
  });
  timeline_.more_is_free();
}

// Whether each of its cores may be shared with those that hold it now.
bool Resources::may_share_again(const Job& job, Tick to) const {
  const Partition* partition = state::find_partition(state_, job.partition.view());
  if (partition == nullptr || job.allocation->whole_nodes) return false;
  const uint32_t sharers = state::sharers_of(*partition->config, *job.spec);
  if (sharers < 2) return false;
  for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
    const NodeAllocation& part = job.allocation->nodes[at];
    if (job.released.test(at)) continue;
    if (part.node >= idle_.size() || idle(part.node) == nullptr) return false;
    // it is one of them itself
    Bitmap cores = part.cores;
    if (cores.and_not(shareable_cores(part.node, to, *partition, sharers + 1)).any()) return false;
  }
  return true;
}

Tick Resources::plan_resume(const Job& job) {
  const Partition* partition = state::find_partition(state_, job.partition.view());
  const bool endless = job.end == kNoTime || job.end >= kNever;
  const bool stands = job.state == JobState::kSuspended;
  const Time since = stands ? job.suspended_at : now_;
  const Time until =
      endless ? state::planned_end(now_, kInfiniteMinutes) : now_ + (job.end - since);
  const Tick duration = std::max<Tick>(1, tick_from(until));
  const bool shares = stands && state_.config->preempt_gang && may_share_again(job, duration);
  NodeSpan span{.job = job.id,
                .partition = partition,
                .uid = job.spec->uid,
                .whole = job.allocation->whole_nodes,
                .one_user = state::is_one_user(partition, *job.spec),
                .cores_only = true};
  std::vector<const NodeAllocation*> parts;
  for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
    const NodeAllocation& part = job.allocation->nodes[at];
    if (!job.released.test(at) && part.node < idle_.size() && idle(part.node) != nullptr)
      parts.push_back(&part);
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (const NodeAllocation* part : parts) {
      span.part = part;
      const Tick next = timeline_.node(part->node).next_free(span.from, duration, span.claim());
      if (next == kNoTick) return shares ? 0 : kNoTick;
      moved = moved || next > span.from;
      span.from = next;
    }
  }
  if (shares && span.from > 0) return 0;  // by turns with those that hold them
  span.to = span.from + duration;
  for (const NodeAllocation* part : parts) {
    span.part = part;
    spans_[part->node].push_back(span);
    timeline_.add(part->node, span.from, span.to, span.claim());
  }
  return span.from;
}

timeline::NodeTimeline Resources::without(NodeId node, const Gone& gone) const {
  timeline::NodeTimeline left(base_of(node));
  for (NodeSpan span : spans_[node]) {
    const auto found = span.runs ? gone.find(span.job) : gone.end();
    if (found != gone.end() && !found->second.parks) continue;
    span.parked = span.parked || found != gone.end();
    left.add(span.from, span.to, span.claim());
  }
  return left;
}

Tick Resources::free_until(const Request& request, const std::vector<NodeAllocation>& nodes) const {
  Tick until = kNoTick;
  const Closings closings = closings_for(request);
  for (const NodeAllocation& part : nodes) {
    until = std::min(until,
                     timeline_.node(part.node, closings.view).free_until(claim_of(request, part)));
    const auto closed = closings.by_node->find(part.node);
    if (closed != closings.by_node->end() && !closed->second.empty())
      until = std::min(until, closed->second.front().from);
  }
  return until;
}

const NodeSpan* Resources::first_planned(NodeId node) const {
  const NodeSpan* first = nullptr;
  for (const NodeSpan& span : spans_[node]) {
    if (span.runs || span.from == 0) continue;
    if (first == nullptr || span.from < first->from) first = &span;
  }
  return first;
}

}  // namespace sluice::sched
