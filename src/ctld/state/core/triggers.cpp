#include "ctld/state/core/triggers.hpp"

#include <algorithm>
#include <optional>

#include "common/base/hostlist.hpp"
#include "common/names/trigger_names.hpp"

namespace sluice::state {
namespace {

Time with_offset(Time time, const Trigger& trigger) {
  return time + std::chrono::seconds(trigger.offset_seconds);
}

// Null: every node.
const Bitmap* watched_nodes(const ClusterState& state, const Trigger& trigger) {
  const auto at = state.trigger_nodes->find(trigger.id);
  return at == state.trigger_nodes->end() ? nullptr : &at->second;
}

// Of nodes that were removed, too: they may come back, as themselves.
Bitmap nodes_in_list(const NodeNames& names, const std::string& list) {
  Bitmap nodes;
  const auto hosts = expand_hosts(list);
  if (!hosts) return nodes;
  for (const std::string& host : *hosts) {
    if (const auto at = names.find(host); at != names.end()) nodes.set(at->second);
  }
  return nodes;
}

bool holds_node(const ClusterState& state, JobId id, NodeId node) {
  const Job* job = state.jobs.find(id);
  return job != nullptr && job->allocation != nullptr && held_nodes(*job).test(node);
}

// What a change of its state means to those who watch the node.
TriggerEvents events_of(const Node& before, const NodeStateChanged& after) {
  const auto came = [&](NodeFlags flag) {
    return (after.flags & flag) != 0 && (before.flags & flag) == 0;
  };
  const bool rebooting = (after.flags & kNodeRebootIssued) != 0;
  TriggerEvents events = 0;
  if (after.base == NodeBaseState::kDown && before.base != NodeBaseState::kDown && !rebooting)
    events |= kTriggerDown;
  if (before.base == NodeBaseState::kDown && after.base == NodeBaseState::kIdle)
    events |= kTriggerUp;
  if (came(kNodeFailing)) events |= kTriggerFail;
  if (came(kNodePoweringUp)) events |= kTriggerResume;
  if (came(kNodeDrain)) events |= before.jobs.empty() ? kTriggerDrained : kTriggerDraining;
  return events;
}

bool hit(const ClusterState& state, const Trigger& trigger, TriggerEvents events,
         const Node& node) {
  if ((trigger.events & events) == 0) return false;
  if (trigger.resource == TriggerResource::kJob) return holds_node(state, trigger.job, node.id);
  if (trigger.resource != TriggerResource::kNode) return false;
  const Bitmap* watched = watched_nodes(state, trigger);
  return watched == nullptr || watched->test(node.id);
}

void note_events(ClusterState& state, const Node& node, TriggerEvents events, Time time) {
  if (events == 0) return;
  for (size_t at = 0; at < state.triggers->size(); ++at) {
    if (!hit(state, (*state.triggers)[at], events, node)) continue;
    Trigger& now = state.triggers.edit()[at];
    if (now.due == kNoTime) now.due = with_offset(time, now);
    now.hit.set(node.id);
  }
}

bool is_idle(const Node& node) {
  return !node.removed && shown_base(node) == NodeBaseState::kIdle && node.jobs.empty() &&
         is_schedulable(node);
}

struct IdleNode {
  NodeId node = 0;
  Time since = kNoTime;
};

std::vector<IdleNode> all_idle_nodes(const ClusterState& state) {
  std::vector<IdleNode> idle;
  state.nodes.for_each([&](const Node& node) {
    if (is_idle(node)) idle.push_back({node.id, std::max(node.last_busy, state.epoch_start)});
  });
  return idle;
}

// Those that have been idle for as long as the trigger says. A permanent one keeps those it has
// told of.
Bitmap nodes_idle_for(const ClusterState& state, const std::vector<IdleNode>& nodes,
                      const Trigger& trigger, Time now) {
  Bitmap idle;
  const Bitmap* watched = watched_nodes(state, trigger);
  for (const IdleNode& one : nodes) {
    if (with_offset(one.since, trigger) <= now && (watched == nullptr || watched->test(one.node)))
      idle.set(one.node);
  }
  return idle;
}

std::string resource_of(const ClusterState& state, const Trigger& trigger) {
  if (trigger.resource == TriggerResource::kJob) return std::to_string(trigger.job);
  if (trigger.hit.any()) return node_list(state, trigger.hit);
  return std::string(trigger_event_text(trigger.events));
}

bool limit_is_near(const ClusterState& state, const Trigger& trigger, Time now) {
  if ((trigger.events & kTriggerTime) == 0) return false;
  const Job* job = state.jobs.find(trigger.job);
  return job != nullptr && job->state == JobState::kRunning && job->end != kNever &&
         with_offset(job->end, trigger) <= now;
}

}  // namespace

void note_node_change(ClusterState& state, const Node& before, const NodeStateChanged& event) {
  if (state.triggers->empty()) return;
  note_events(state, before, events_of(before, event), event.time);
}

void note_drained(ClusterState& state, const Job& job, const Bitmap& positions, Time time) {
  if (state.triggers->empty()) return;
  positions.for_each([&](size_t at) {
    const Node& node = state.nodes.at(job.allocation->nodes[at].node);
    if ((node.flags & kNodeDrain) != 0 && node.jobs.empty())
      note_events(state, node, kTriggerDrained, time);
  });
}

void note_busy(ClusterState& state, const Job& job) {
  const Bitmap nodes = state.triggers->empty() ? Bitmap() : held_nodes(job);
  for (size_t at = 0; at < state.triggers->size(); ++at) {
    const Trigger& trigger = (*state.triggers)[at];
    if ((trigger.events & kTriggerIdle) == 0 || !trigger.hit.intersects(nodes)) continue;
    state.triggers.edit()[at].hit.and_not(nodes);
  }
}

void note_job_over(ClusterState& state, const Job& job, Time time) {
  if (state.triggers->empty() || (job.flags & kJobRequeued) != 0) return;
  for (size_t at = 0; at < state.triggers->size(); ++at) {
    const Trigger& trigger = (*state.triggers)[at];
    // it will come no nearer to its limit: its end is as good
    if (trigger.job != job.id || trigger.due != kNoTime ||
        (trigger.events & (kTriggerFini | kTriggerTime)) == 0)
      continue;
    Trigger& changed = state.triggers.edit()[at];
    changed.due = with_offset(time, changed);
  }
}

void note_trigger_nodes(ClusterState& state, const Trigger& trigger) {
  if (trigger.nodes.empty() || state.trigger_nodes->contains(trigger.id)) return;
  Bitmap watched = nodes_in_list(*state.node_names, trigger.nodes);
  auto nodes = std::make_shared<TriggerNodes>(*state.trigger_nodes);
  nodes->emplace(trigger.id, std::move(watched));
  state.trigger_nodes = std::move(nodes);
}

void forget_trigger_nodes(ClusterState& state, uint32_t id) {
  if (!state.trigger_nodes->contains(id)) return;
  auto nodes = std::make_shared<TriggerNodes>(*state.trigger_nodes);
  nodes->erase(id);
  state.trigger_nodes = std::move(nodes);
}

void rebuild_trigger_nodes(ClusterState& state) {
  auto nodes = std::make_shared<TriggerNodes>();
  NodeNames names;
  for (const Trigger& trigger : *state.triggers) {
    if (trigger.nodes.empty()) continue;
    if (names.empty())
      state.nodes.for_each([&](const Node& node) { names.emplace(node.name, node.id); });
    nodes->emplace(trigger.id, nodes_in_list(names, trigger.nodes));
  }
  state.trigger_nodes = std::move(nodes);
}

std::vector<Trigger> triggers_hit(const ClusterState& state, TriggerEvents event, Time time) {
  std::vector<Trigger> out;
  for (const Trigger& trigger : *state.triggers) {
    if ((trigger.events & event) == 0 || trigger.due != kNoTime) continue;
    out.push_back(trigger);
    out.back().due = with_offset(time, trigger);
  }
  return out;
}

std::vector<Firing> triggers_due(const ClusterState& state, Time now) {
  std::vector<Firing> out;
  std::optional<std::vector<IdleNode>> idle_nodes;
  for (const Trigger& trigger : *state.triggers) {
    if ((trigger.events & kTriggerIdle) != 0) {
      if (!idle_nodes) idle_nodes = all_idle_nodes(state);
      const Bitmap idle = nodes_idle_for(state, *idle_nodes, trigger, now);
      Bitmap fresh = idle;
      fresh.and_not(trigger.hit);
      if (fresh.none()) continue;
      Firing firing{trigger, node_list(state, fresh)};
      firing.trigger.hit = idle;
      out.push_back(std::move(firing));
    } else if ((trigger.due != kNoTime && trigger.due <= now) ||
               limit_is_near(state, trigger, now)) {
      out.push_back({trigger, resource_of(state, trigger)});
    }
  }
  return out;
}

std::vector<uint32_t> triggers_without_job(const ClusterState& state) {
  std::vector<uint32_t> out;
  for (const Trigger& trigger : *state.triggers) {
    if (trigger.resource != TriggerResource::kJob || trigger.due != kNoTime) continue;
    if (!state.jobs.contains(trigger.job) && !state.folded.contains(trigger.job))
      out.push_back(trigger.id);
  }
  return out;
}

}  // namespace sluice::state
