#include "ctld/state/triggers.hpp"

#include <algorithm>

#include "common/base/hostlist.hpp"
#include "common/tables/trigger_names.hpp"

namespace sluice::state {
namespace {

Time with_offset(Time time, const Trigger& trigger) { return time + std::chrono::seconds(trigger.offset_seconds); }

bool watches_node(const Trigger& trigger, const std::string& name) {
  if (trigger.nodes.empty()) return true;
  const auto names = expand_hosts(trigger.nodes);
  return names && std::ranges::find(*names, name) != names->end();
}

bool holds_node(const ClusterState& state, JobId id, NodeId node) {
  const Job* job = state.jobs.find(id);
  return job != nullptr && job->allocation != nullptr && held_nodes(*job).test(node);
}

// What a change of its state means to those who watch the node.
TriggerEvents events_of(const Node& before, const NodeStateChanged& after) {
  const auto came = [&](NodeFlags flag) { return (after.flags & flag) != 0 && (before.flags & flag) == 0; };
  const bool rebooting = (after.flags & kNodeRebootIssued) != 0;
  TriggerEvents events = 0;
  if (after.base == NodeBaseState::kDown && before.base != NodeBaseState::kDown && !rebooting) events |= kTriggerDown;
  if (before.base == NodeBaseState::kDown && after.base == NodeBaseState::kIdle) events |= kTriggerUp;
  if (came(kNodeFailing)) events |= kTriggerFail;
  if (came(kNodePoweringUp)) events |= kTriggerResume;
  if (came(kNodeDrain)) events |= before.jobs.empty() ? kTriggerDrained : kTriggerDraining;
  return events;
}

bool hit(const ClusterState& state, const Trigger& trigger, TriggerEvents events, const Node& node) {
  if ((trigger.events & events) == 0) return false;
  if (trigger.resource == TriggerResource::kJob) return holds_node(state, trigger.job, node.id);
  return trigger.resource == TriggerResource::kNode && watches_node(trigger, node.name);
}

void note_events(ClusterState& state, const Node& node, TriggerEvents events, Time time) {
  if (events == 0) return;
  std::shared_ptr<Triggers> changed;
  for (size_t at = 0; at < state.triggers->size(); ++at) {
    const Trigger& trigger = (*state.triggers)[at];
    if (!hit(state, trigger, events, node)) continue;
    if (changed == nullptr) changed = std::make_shared<Triggers>(*state.triggers);
    Trigger& now = (*changed)[at];
    if (now.due == kNoTime) now.due = with_offset(time, now);
    now.hit.set(node.id);
  }
  if (changed != nullptr) state.triggers = std::move(changed);
}

bool is_idle(const Node& node) {
  return !node.removed && shown_base(node) == NodeBaseState::kIdle && node.jobs.empty() && is_schedulable(node);
}

// Nodes that have been idle for as long as the trigger says. A permanent one keeps those it has told of.
Bitmap idle_nodes(const ClusterState& state, const Trigger& trigger, Time now) {
  Bitmap idle;
  state.nodes.for_each([&](const Node& node) {
    if (!is_idle(node) || !watches_node(trigger, node.name)) return;
    const Time since = std::max(node.last_busy, state.epoch_start);
    if (with_offset(since, trigger) <= now) idle.set(node.id);
  });
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
  return job != nullptr && job->state == JobState::kRunning && job->end != kNever && with_offset(job->end, trigger) <= now;
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
    if ((node.flags & kNodeDrain) != 0 && node.jobs.empty()) note_events(state, node, kTriggerDrained, time);
  });
}

void note_busy(ClusterState& state, const Job& job) {
  const Bitmap nodes = state.triggers->empty() ? Bitmap() : held_nodes(job);
  std::shared_ptr<Triggers> changed;
  for (size_t at = 0; at < state.triggers->size(); ++at) {
    const Trigger& trigger = (*state.triggers)[at];
    if ((trigger.events & kTriggerIdle) == 0 || !trigger.hit.intersects(nodes)) continue;
    if (changed == nullptr) changed = std::make_shared<Triggers>(*state.triggers);
    (*changed)[at].hit.and_not(nodes);
  }
  if (changed != nullptr) state.triggers = std::move(changed);
}

void note_job_over(ClusterState& state, const Job& job, Time time) {
  if (state.triggers->empty() || (job.flags & kJobRequeued) != 0) return;
  std::shared_ptr<Triggers> changed;
  for (size_t at = 0; at < state.triggers->size(); ++at) {
    const Trigger& trigger = (*state.triggers)[at];
    if (trigger.job != job.id || trigger.due != kNoTime || (trigger.events & kTriggerFini) == 0) continue;
    if (changed == nullptr) changed = std::make_shared<Triggers>(*state.triggers);
    (*changed)[at].due = with_offset(time, trigger);
  }
  if (changed != nullptr) state.triggers = std::move(changed);
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
  for (const Trigger& trigger : *state.triggers) {
    if ((trigger.events & kTriggerIdle) != 0) {
      const Bitmap idle = idle_nodes(state, trigger, now);
      Bitmap fresh = idle;
      fresh.and_not(trigger.hit);
      if (fresh.none()) continue;
      Firing firing{trigger, node_list(state, fresh)};
      firing.trigger.hit = idle;
      out.push_back(std::move(firing));
    } else if ((trigger.due != kNoTime && trigger.due <= now) || limit_is_near(state, trigger, now)) {
      out.push_back({trigger, resource_of(state, trigger)});
    }
  }
  return out;
}

std::vector<uint32_t> triggers_without_job(const ClusterState& state) {
  std::vector<uint32_t> out;
  for (const Trigger& trigger : *state.triggers) {
    if (trigger.resource != TriggerResource::kJob || trigger.due != kNoTime) continue;
    if (!state.jobs.contains(trigger.job) && !state.folded.contains(trigger.job)) out.push_back(trigger.id);
  }
  return out;
}

}  // namespace sluice::state
