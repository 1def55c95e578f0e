// Orders to nodes that may have been lost on the way: where the state still wants them carried out.
#pragma once

#include <concepts>
#include <optional>
#include <tuple>
#include <variant>

#include "common/base/error_code.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/effects.hpp"

namespace sluice::state {

// What changes the life of a job, step or node, and is repeated until the node has it.
using NodeOrder = std::variant<LaunchStep, LaunchProlog, SignalSteps, TerminateStep, TerminateJob,
                               RebootNow, ReconfigureNodes, EndAgents>;
template <class Order>
concept IsNodeOrder = std::constructible_from<NodeOrder, Order>;

// What an order is about: kind, job, restart, step, and what tells several such orders apart.
using OrderSubject = std::tuple<size_t, JobId, uint32_t, StepNumber, uint64_t>;
// `number`: of a signal that is no stop or go, which is about nothing but itself.
[[nodiscard]] OrderSubject subject_of(const NodeOrder& order, uint64_t number);
// Gives an order to the nodes of another one about the same (subject_of), too.
void join_orders(NodeOrder& order, const NodeOrder& same);

// The nodes (NodeIds) that an order is given to.
[[nodiscard]] Bitmap nodes_of_order(const ClusterState& state, const NodeOrder& order);
// Those of them that it is still wanted of, `waited` after it was given:
//   a launch       those left of the step, while its job runs
//   a prolog       while the job waits for it there
//   an end         of a step: those left of it; of a job: those it still holds. A node that a job
//   has lost (at_once) is
//                  told as long as the job is known, unless it is DOWN and silent: it registers
//                  when it is back
//   a reboot       while this very one is under way
//   a configuration  except of those that get it with their registration: they never registered, or
//   are DOWN and silent the agent's end  for MessageTimeout, unless the node was made anew: where
//   nobody answers, there is none stop, go on    (suspend, resume) while the job is as the order
//   says other signals  while the job runs there, for MessageTimeout: who sent one does not expect
//   it much later
[[nodiscard]] Bitmap still_wanted(const ClusterState& state, const NodeOrder& order,
                                  Duration waited);

// The node takes this controller for none, whatever it is told: it knows another key, its clock is
// off, or it expects another SlurmUser. It has not looked at what it was sent, so that says nothing
// of jobs.
[[nodiscard]] bool refuses_controller(ErrorCode error);

// Whether the order may be sent again to a node that gave this error. Not a signal that may have
// arrived: a process would get it twice. All others change nothing when they are repeated.
[[nodiscard]] bool may_repeat(const NodeOrder& order, ErrorCode error);

// Whether the program of the site's is run by the controller
// (SlurmctldParameters=reboot_from_controller): once, as it does not know what it has done already.
// Features that a helper may change without a reboot are the agent's matter.
[[nodiscard]] bool reboots_from_controller(const ClusterState& state, const RebootNow& order);

// All agents are to read their configuration again, and to register.
[[nodiscard]] ReconfigureNodes reconfigure_all(const ClusterState& state);

// Does the job wait for its prolog on this node?
[[nodiscard]] bool wants_prolog_on(const Job& job, NodeId node);
// A step that was launched after its job had been suspended has to be stopped, too; nullopt: it is
// not suspended.
[[nodiscard]] std::optional<SignalSteps> stop_after_launch(const ClusterState& state,
                                                           const protocol::StepKey& key);

}  // namespace sluice::state
