// scontrol create and delete NodeName=…: nodes that no file names.
#include "ctld/state/decide/node/dynamic_nodes.hpp"

#include <algorithm>
#include <unordered_set>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "common/syntax/node_helpers.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/rules/dynamic_nodes.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::state {
namespace {

// By a job, or kept by a reservation.
bool is_in_use(const ClusterState& state, const Node& node) {
  return !node.jobs.empty() ||
         std::ranges::any_of(*state.reservations, [&](const Reservation& reservation) {
           return nodes_of(state, reservation).test(node.id);
         });
}

}  // namespace

Status check_new_nodes(const ClusterState& state, const std::vector<NodeConfig>& nodes) {
  std::unordered_set<std::string> names;
  for (const NodeConfig& node : nodes) {
    if (find_node(state, node.name) != nullptr || !names.insert(node.name).second) {
      return failure(ErrorCode::kInvalidNodeName, "Node " + node.name + " exists already");
    }
  }
  const size_t most = most_nodes(*state.config);
  if (state.node_names->size() + nodes.size() > most) {
    return failure(ErrorCode::kTooManyNodes,
                   "There can be no more nodes than MaxNodeCount=" + std::to_string(most));
  }
  return {};
}

NodesCreated new_nodes(const ClusterState& state, std::vector<NodeConfig> nodes, Time now) {
  for (NodeConfig& node : nodes) adopt_helpers(*state.config, node);
  return NodesCreated{.nodes = std::move(nodes), .time = now};
}

Result<Decision> decide_on(const ClusterState& state, const CreateNodes& command, Time now) {
  if (!is_admin(state, command.who.uid)) return failure(ErrorCode::kInvalidUser);
  if (Status ok = check_new_nodes(state, command.nodes); !ok)
    return tl::unexpected<Error>(ok.error());
  Draft draft(state);
  if (!command.nodes.empty()) draft.emit(new_nodes(state, command.nodes, now));
  return draft.take();
}

// What can go goes; the reply's first error names the rest, its second says why.
Result<Decision> decide_on(const ClusterState& state, const DeleteNodes& command, Time) {
  if (!is_admin(state, command.who.uid)) return failure(ErrorCode::kInvalidUser);
  if (count_hosts(command.nodes).value_or(0) > kMaxHostsInRange)
    return failure(ErrorCode::kInvalidNodeName);  // no cluster has so many
  Result<std::vector<std::string>> names = expand_hosts(command.nodes);
  if (!names || names->empty()) return failure(ErrorCode::kInvalidNodeName);
  if (names->size() == 1 && iequals(names->front(), "ALL")) {
    names->clear();
    for (const auto& [name, id] : *state.node_names) names->push_back(name);
    sort_hosts(*names);
  }
  NodesDeleted event;
  std::vector<std::string> left;
  ErrorCode why = ErrorCode::kOk;
  std::unordered_set<std::string> seen;
  for (const std::string& name : *names) {
    if (!seen.insert(name).second) continue;
    const Node* node = find_node(state, name);
    const bool busy = node != nullptr && is_in_use(state, *node);
    if (node != nullptr && node->config->dynamic != DynamicNode::kNo && !busy) {
      event.names.push_back(name);
      continue;
    }
    left.push_back(name);
    why = node == nullptr ? ErrorCode::kInvalidNodeName
          : busy          ? ErrorCode::kNodesBusy
                          : ErrorCode::kInvalidState;  // slurm.conf has it
  }
  protocol::CountReply reply{.count = static_cast<uint32_t>(event.names.size()), .errors = {}};
  if (!left.empty())
    reply.errors = {"failed to delete nodes " + fold_hosts(left), std::string(error_sentence(why))};
  Draft draft(state);
  if (!event.names.empty()) draft.emit(std::move(event));
  return draft.take(std::move(reply));
}

}  // namespace sluice::state
