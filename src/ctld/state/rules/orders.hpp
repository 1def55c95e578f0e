// Orders to the nodes that follow from a job's state: given after events, and again after a
// restart.
#pragma once

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/effects.hpp"

namespace sluice::state {

// Whether nothing that the job waits for keeps the step from being launched.
[[nodiscard]] bool step_may_begin(const Job& job, const Step& step);
// On the nodes where the prolog has not ended; only when prologs_may_run().
[[nodiscard]] LaunchProlog prologs_of(const Job& job);
// What a job that has its nodes is waiting for: prologs, or the launch of its steps. `before` is
// the job when orders were last given, for a launch must not be repeated without need; null: all of
// them may have been lost.
void order_start(const Job& job, const Job* before, Effects& effects);
// Stops the processes of a suspended job, lets those of a resumed one go on; nothing for one that
// never was suspended.
void order_stop_or_go(const Job& job, Effects& effects);
// The end of all that is left of a completing job, on the nodes it still holds.
void order_end(const Job& job, Effects& effects);
void order_step_end(const Job& job, const Step& step, bool at_once, Effects& effects);
// The nodes on which parts of the step have not ended.
[[nodiscard]] Bitmap step_nodes_left(const Step& step);

// The reboot that a node is, or was, told of.
template <class NodeOrChange>
[[nodiscard]] RebootNow reboot_order(NodeId node, const NodeOrChange& issued) {
  RebootNow order{.issued = issued.reboot_issued,
                  .reason = issued.reason.str(),
                  .features = issued.boot_features.str(),
                  .if_needed = issued.boot_if_needed};
  order.nodes.set(node);
  return order;
}

// The program that a node's change of power begins with.
template <class NodeOrChange>
[[nodiscard]] PowerNodes power_order(NodeId node, const NodeOrChange& changed) {
  PowerNodes order{.program = PowerProgram::kResumeFail, .nodes = {}};
  if ((changed.flags & kNodePoweringDown) != 0) order.program = PowerProgram::kSuspend;
  else if ((changed.flags & kNodePoweringUp) != 0) order.program = PowerProgram::kResume;
  order.nodes.set(node);
  return order;
}

}  // namespace sluice::state
