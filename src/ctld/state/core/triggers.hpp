// What events do to triggers (strigger): apply() notes what has happened and when the program is
// due, Tick lets it run.
#pragma once

#include <string>

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::state {

// `before` is the node as it is before the event.
void note_node_change(ClusterState& state, const Node& before, const NodeStateChanged& event);
// Nodes that a job has left are drained now, if they are to be.
void note_drained(ClusterState& state, const Job& job, const Bitmap& positions, Time time);
// Nodes are in use again: when they are idle once more, that is news.
void note_busy(ClusterState& state, const Job& job);
void note_job_over(ClusterState& state, const Job& job, Time time);

// The trigger with this event on it, due at once (its offset later); for events that no other event
// of the journal stands for.
[[nodiscard]] std::vector<Trigger> triggers_hit(const ClusterState& state, TriggerEvents event,
                                                Time time);

// Which nodes each trigger watches: a list that is written out once, and not for each node that
// changes.
void note_trigger_nodes(ClusterState& state, const Trigger& trigger);
void forget_trigger_nodes(ClusterState& state, uint32_t id);
void rebuild_trigger_nodes(ClusterState& state);

// Whether the trigger is to run now, and what its program is told then.
struct Firing {
  Trigger trigger;
  std::string resource;
};
[[nodiscard]] std::vector<Firing> triggers_due(const ClusterState& state, Time now);

// Those that have nothing to tell any more: no record of their job is left. Another job may get its
// id.
[[nodiscard]] std::vector<uint32_t> triggers_without_job(const ClusterState& state);

}  // namespace sluice::state
