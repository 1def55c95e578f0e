// See wanted.hpp.
#include "ctld/state/rules/wanted.hpp"

#include <type_traits>

#include "common/os/is_away.hpp"
#include "common/base/text.hpp"
#include "ctld/state/rules/orders.hpp"

namespace sluice::state {
namespace {

// The job in the run that an order is about, while it holds nodes; else null.
const Job* run_of(const ClusterState& state, JobId id, uint32_t restart) {
  const Job* job = state.jobs.find(id);
  return job != nullptr && job->restart_count == restart && job->allocation != nullptr ? job
                                                                                       : nullptr;
}

const Step* step_of(const ClusterState& state, const protocol::StepKey& key) {
  const Job* job = run_of(state, key.id.job, key.restart);
  return job != nullptr ? find_step(*job, key.id.step) : nullptr;
}

bool is_ending(const Job& job) { return is_completing(job) || is_terminal(job.state); }

bool is_silent(const Node& node) {
  return node.base == NodeBaseState::kDown && (node.flags & kNodeNoRespond) != 0;
}

template <class Keep>
Bitmap those(const Bitmap& nodes, Keep keep) {
  Bitmap kept;
  nodes.for_each([&](size_t id) {
    if (keep(static_cast<NodeId>(id))) kept.set(id);
  });
  return kept;
}

Bitmap wanted(const ClusterState& state, const LaunchStep& order, Duration) {
  const Job* job = run_of(state, order.key.id.job, order.key.restart);
  const Step* step = step_of(state, order.key);
  if (step == nullptr || is_ending(*job)) return {};
  const Bitmap left = step_nodes_left(*step);
  return order.nodes.none() ? left : left & order.nodes;
}

Bitmap wanted(const ClusterState& state, const LaunchProlog& order, Duration) {
  const Job* job = run_of(state, order.job, order.restart);
  if (job == nullptr || is_ending(*job)) return {};
  return those(order.nodes, [&](NodeId node) { return wants_prolog_on(*job, node); });
}

Bitmap wanted(const ClusterState& state, const SignalSteps& order, Duration waited) {
  const protocol::StepKey& key = order.request.key;
  const Job* job = run_of(state, key.id.job, key.restart);
  if (job == nullptr || is_ending(*job)) return {};
  if (order.request.issued != kNoTime) {
    return order.request.issued == job->suspended_at ? order.nodes & held_nodes(*job) : Bitmap();
  }
  if (waited >= state.config->message_timeout) return {};
  if (order.request.all_steps || key.id.step == UINT32_MAX) return order.nodes & held_nodes(*job);
  const Step* step = find_step(*job, key.id.step);
  return step != nullptr ? order.nodes & step_nodes_left(*step) : Bitmap();
}

Bitmap wanted(const ClusterState& state, const TerminateStep& order, Duration) {
  const Step* step = step_of(state, order.key);
  return step != nullptr && step->end != kNoTime ? order.nodes & step_nodes_left(*step) : Bitmap();
}

Bitmap wanted(const ClusterState& state, const TerminateJob& order, Duration) {
  const Job* known = state.jobs.find(order.job);
  if (known == nullptr) return {};
  const Job* job = run_of(state, order.job, order.restart);
  const Bitmap held = job != nullptr ? held_nodes(*job) : Bitmap();
  const bool completing = job != nullptr && is_completing(*job);
  return those(order.nodes, [&](NodeId id) {
    if (held.test(id)) return completing;
    const Node* node = state.nodes.find(id);
    return order.at_once && node != nullptr && expects_agent(*node) && !is_silent(*node);
  });
}

Bitmap wanted(const ClusterState& state, const RebootNow& order, Duration) {
  return those(order.nodes, [&](NodeId id) {
    const Node* node = state.nodes.find(id);
    if (node == nullptr || node->removed || (node->flags & kNodeRebootIssued) == 0) return false;
    return node->reboot_issued == order.issued;
  });
}

Bitmap wanted(const ClusterState& state, const ReconfigureNodes& order, Duration) {
  return those(order.nodes, [&](NodeId id) {
    const Node* node = state.nodes.find(id);
    return node != nullptr && expects_agent(*node) && node->hardware != nullptr &&
           !is_silent(*node);
  });
}

Bitmap wanted(const ClusterState& state, const EndAgents& order, Duration waited) {
  if (waited >= state.config->message_timeout) return {};
  return those(order.nodes, [&](NodeId id) {
    const Node* node = state.nodes.find(id);
    return node != nullptr && node->removed;
  });
}

template <class Order>
void join(Order& order, const Order& same) {
  order.nodes |= same.nodes;
}
void join(LaunchStep& order, const LaunchStep& same) {
  if (order.nodes.none() || same.nodes.none()) order.nodes.clear();  // for all that are left
  else order.nodes |= same.nodes;
}

OrderSubject subject(size_t kind, const LaunchStep& order, uint64_t) {
  return {kind, order.key.id.job, order.key.restart, order.key.id.step, 0};
}
OrderSubject subject(size_t kind, const LaunchProlog& order, uint64_t) {
  return {kind, order.job, order.restart, 0, 0};
}
OrderSubject subject(size_t kind, const SignalSteps& order, uint64_t number) {
  const protocol::SignalStepRequest& request = order.request;
  const auto issued = static_cast<uint64_t>(request.issued.time_since_epoch().count());
  return {kind, request.key.id.job, request.key.restart, request.key.id.step,
          issued == 0 ? number : issued};
}
OrderSubject subject(size_t kind, const TerminateStep& order, uint64_t) {
  return {kind, order.key.id.job, order.key.restart, order.key.id.step, order.at_once ? 1 : 0};
}
OrderSubject subject(size_t kind, const TerminateJob& order, uint64_t) {
  return {kind, order.job, order.restart, 0, order.at_once ? 1 : 0};
}
// Features differ from node to node.
OrderSubject subject(size_t kind, const RebootNow& order, uint64_t) {
  const auto first = order.nodes.any() ? static_cast<uint32_t>(order.nodes.find_first()) : 0;
  return {kind, kNoJob, first, 0, static_cast<uint64_t>(order.issued.time_since_epoch().count())};
}
OrderSubject subject(size_t kind, const ReconfigureNodes&, uint64_t) {
  return {kind, kNoJob, 0, 0, 0};
}
OrderSubject subject(size_t kind, const EndAgents&, uint64_t number) {
  return {kind, kNoJob, 0, 0, number};
}

}  // namespace

OrderSubject subject_of(const NodeOrder& order, uint64_t number) {
  return std::visit([&](const auto& one) { return subject(order.index(), one, number); }, order);
}

void join_orders(NodeOrder& order, const NodeOrder& same) {
  std::visit([&](auto& one) { join(one, std::get<std::remove_cvref_t<decltype(one)>>(same)); },
             order);
}

Bitmap nodes_of_order(const ClusterState& state, const NodeOrder& order) {
  if (std::holds_alternative<LaunchStep>(order)) return still_wanted(state, order, {});
  return std::visit([](const auto& one) { return one.nodes; }, order);
}

Bitmap still_wanted(const ClusterState& state, const NodeOrder& order, Duration waited) {
  return std::visit([&](const auto& one) { return wanted(state, one, waited); }, order);
}

bool refuses_controller(ErrorCode error) {
  return error == ErrorCode::kAuthentication || error == ErrorCode::kAccessDenied;
}

bool may_repeat(const NodeOrder& order, ErrorCode error) {
  if (refuses_controller(error)) return true;
  if (!is_away(error)) return false;
  const auto* signal = std::get_if<SignalSteps>(&order);
  const bool may_have_come = error == ErrorCode::kTimedOut || error == ErrorCode::kConnectionLost;
  return signal == nullptr || !may_have_come || signal->request.issued != kNoTime;
}

bool reboots_from_controller(const ClusterState& state, const RebootNow& order) {
  return !order.if_needed &&
         has_option(state.config->slurmctld_parameters, "reboot_from_controller");
}

ReconfigureNodes reconfigure_all(const ClusterState& state) {
  ReconfigureNodes order;
  state.nodes.for_each([&](const Node& node) {
    if (expects_agent(node)) order.nodes.set(node.id);
  });
  return order;
}

bool wants_prolog_on(const Job& job, NodeId node) {
  const auto at = allocation_position(*job.allocation, node);
  return at && job.preparing.test(*at) && prologs_may_run(job);
}

std::optional<SignalSteps> stop_after_launch(const ClusterState& state,
                                             const protocol::StepKey& key) {
  const Job* job = run_of(state, key.id.job, key.restart);
  if (job == nullptr || job->state != JobState::kSuspended) return std::nullopt;
  Effects orders;
  order_stop_or_go(*job, orders);
  return orders.empty() ? std::nullopt
                        : std::optional(std::get<SignalSteps>(std::move(orders.front())));
}

}  // namespace sluice::state
