// The controller itself, nodes and partitions.
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "common/base/text.hpp"
#include "common/syntax/node_helpers.hpp"
#include "ctld/state/apply/verbs.hpp"
#include "ctld/state/rules/dynamic_nodes.hpp"
#include "ctld/state/core/charging.hpp"
#include "ctld/state/core/indexes.hpp"
#include "ctld/state/core/triggers.hpp"

namespace sluice::state {
namespace {

void set_configured_state(Node& node, ConfiguredNodeState configured, const std::string& reason,
                          Time time) {
  switch (configured) {
    case ConfiguredNodeState::kDown: node.base = NodeBaseState::kDown; break;
    case ConfiguredNodeState::kDrain: node.flags |= kNodeDrain; break;
    case ConfiguredNodeState::kFail:
    case ConfiguredNodeState::kFailing: node.flags |= kNodeFailing; break;
    case ConfiguredNodeState::kFuture: node.base = NodeBaseState::kFuture; break;
    case ConfiguredNodeState::kCloud:
      node.base = NodeBaseState::kIdle;
      node.flags |= kNodeCloud | kNodePoweredDown;
      break;
    default: return;
  }
  if (reason.empty()) return;
  node.reason = reason;
  node.reason_time = time;
}

void adopt_line(Node& node, const NodeConfig& line) {
  node.weight = line.weight;
  node.config = std::make_shared<NodeConfig>(line);
  node.flags &= ~kNodeDynamicNorm;
  if (line.dynamic != DynamicNode::kNo) node.flags |= kNodeDynamicNorm;
  refresh_gres(node);
}

void configure_node(ClusterState& state, const NodeConfig& config, const Node* known, Time time) {
  if (known == nullptr) {
    Node node;
    node.id = state.next_node_id++;
    node.name = config.name;
    adopt_line(node, config);
    set_configured_state(node, config.state, config.reason, time);
    const NodeId id = node.id;
    state.nodes.insert(id, std::move(node));
    return;
  }
  if (!known->removed && known->config != nullptr && *known->config == config) return;
  Node& node = state.nodes.edit(known->id);
  if (node.removed) {  // it is back: a new node under the old number
    Node fresh;
    fresh.id = node.id;
    fresh.name = config.name;
    node = std::move(fresh);
    set_configured_state(node, config.state, config.reason, time);
  }
  if (node.features_reported && node.config != nullptr) {
    node.active_features = join(active_with_line(state.config->helpers, node, config), ",");
  }
  adopt_line(node, config);
}

// Partitions as they are now, which scontrol may have changed, each with another configuration.
void change_partitions(ClusterState& state, const std::function<void(PartitionConfig&)>& change) {
  auto partitions = std::make_shared<Partitions>();
  for (const Partition& partition : *state.partitions) {
    auto config = std::make_shared<PartitionConfig>(*partition.config);
    change(*config);
    partitions->push_back(make_partition(state, std::move(config)));
  }
  state.partitions = std::move(partitions);
}

NodeNames all_names(const ClusterState& state) {  // of removed nodes, too
  NodeNames names;
  state.nodes.for_each([&](const Node& node) { names.emplace(node.name, node.id); });
  return names;
}

void remove_node(ClusterState& state, NodeId id) {
  Node& node = state.nodes.edit(id);
  SLUICE_CHECK(node.jobs.empty());
  node.removed = true;
  node.base = NodeBaseState::kDown;
}

// A node that went down by power saving is idle since it came up again.
void note_power(Node& node, const NodeStateChanged& event) {
  constexpr NodeFlags kPower =
      kNodePowerDown | kNodePoweringDown | kNodePoweredDown | kNodePoweringUp;
  const bool awakes =
      is_asleep(node) && (event.flags & kPower) == 0 && node.reboot_issued != kNoTime;
  if ((event.flags & kNodePoweredDown) != 0 && (node.flags & kNodePoweringDown) != 0)
    node.last_busy = kNoTime;
  else if (awakes) node.last_busy = event.time;
}

}  // namespace

void apply_event(ClusterState& state, const StateForgotten& event) {
  ClusterState fresh;
  if (event.keeps_accounting) {
    charge_all(state, event.time, 1.0);
    fresh.accounting = state.accounting;
    fresh.accounting.held = {};  // by no job any more
  }
  fresh.cluster_id = state.cluster_id;
  fresh.next_job_id = state.next_job_id;  // nodes and accounts know jobs by the ids that were given
  fresh.job_id_round = state.job_id_round;
  fresh.credential_key = state.credential_key;
  fresh.credential_key_changed = state.credential_key_changed;
  state = std::move(fresh);
}

void apply_event(ClusterState& state, const EpochStarted& event) {
  state.cluster_id = event.cluster_id;
  state.epoch = event.epoch;
  state.epoch_start = event.time;
  if (event.next_job_id != kNoJob) state.next_job_id = event.next_job_id;
  if (event.credential_key.empty()) return;
  if (!state.credential_key.empty() && event.credential_key != state.credential_key)
    state.credential_key_changed = true;
  state.credential_key = event.credential_key;
}

void apply_event(ClusterState& state, const ConfigReplaced& event) {
  const bool first = state.next_node_id == 0;
  state.config = event.config;
  if (state.next_job_id < event.config->first_job_id) {
    state.next_job_id = event.config->first_job_id;
  }
  std::unordered_map<std::string, const NodeConfig*> wanted;
  for (const NodeConfig& node : event.config->nodes) wanted.emplace(node.name, &node);
  std::vector<NodeId> gone;
  const NodeNames known = all_names(state);
  state.nodes.for_each([&](const Node& node) {
    if (!node.removed && !wanted.contains(node.name)) gone.push_back(node.id);
  });
  for (const NodeId id : gone) remove_node(state, id);
  for (const NodeConfig& node : event.config->nodes) {
    const auto at = known.find(node.name);
    configure_node(state, node, at == known.end() ? nullptr : state.nodes.find(at->second),
                   event.time);
  }
  rebuild_node_names(state);
  for (const DownNodesConfig& down : event.config->down_nodes) {
    for (const std::string& name : down.nodes) {
      const Node* node = find_node(state, name);
      if (node == nullptr || (!first && node->base != NodeBaseState::kUnknown)) continue;
      set_configured_state(state.nodes.edit(node->id), down.state, down.reason, event.time);
    }
  }
  auto partitions = std::make_shared<Partitions>();
  for (const PartitionConfig& config : event.config->partitions) {
    partitions->push_back(make_partition(state, std::make_shared<PartitionConfig>(config)));
  }
  state.partitions = std::move(partitions);
  refresh_shares(state);
}

void apply_event(ClusterState& state, const NodeRegistered& event) {
  Node& node = state.nodes.edit(event.node);
  // idle since it is there
  if (node.hardware == nullptr && node.last_busy == kNoTime) node.last_busy = event.time;
  node.hardware = event.hardware;
  refresh_gres(node);
  if (event.strange_job == kNoJob) return;
  const uint32_t round = event.strange_round.value_or(state.job_id_round);
  if (round > state.job_id_round) {
    state.job_id_round = round;
    state.next_job_id = event.strange_job;
  }
  if (round == state.job_id_round && event.strange_job >= state.next_job_id)
    note_job_id(state, event.strange_job);
}

void apply_event(ClusterState& state, const NodeStateChanged& event) {
  note_node_change(state, state.nodes.at(event.node), event);
  Node& node = state.nodes.edit(event.node);
  if ((node.flags & kNodeDrain) != 0 && (event.flags & kNodeDrain) == 0)
    node.undrained = event.time;
  note_power(node, event);
  node.base = event.base;
  node.flags = event.flags;
  node.reason = event.reason;
  node.reason_time = event.reason_time;
  node.reason_uid = event.reason_uid;
  node.resume_after = event.resume_after;
  node.after_reboot = event.after_reboot;
  node.reboot_issued = event.reboot_issued;
  node.boot_features = event.boot_features;
  node.boot_if_needed = event.boot_if_needed;
}

void apply_event(ClusterState& state, const NodeUpdated& event) {
  Node& node = state.nodes.edit(event.node);
  node.weight = event.weight;
  node.active_features = event.active_features;
  node.features_reported = event.features_reported;
  node.features_chosen = event.features_chosen;
  node.comment = event.comment;
  node.extra = event.extra;
  if (event.config == nullptr) return;
  if (!node.removed) recount_features(state, *node.config, *event.config);
  node.config = event.config;
  refresh_gres(node);
}

void apply_event(ClusterState& state, const PartitionChanged& event) {
  auto partitions = std::make_shared<Partitions>(*state.partitions);
  Partition changed = make_partition(state, event.config);
  if (event.config->is_default) {  // there is one default at most
    for (Partition& partition : *partitions) {
      if (!partition.config->is_default) continue;
      auto other = std::make_shared<PartitionConfig>(*partition.config);
      other->is_default = false;
      partition.config = std::move(other);
    }
  }
  const auto at = std::find_if(partitions->begin(), partitions->end(), [&](const Partition& p) {
    return p.config->name == event.config->name;
  });
  if (at == partitions->end()) {
    partitions->push_back(std::move(changed));
  } else {
    *at = std::move(changed);
  }
  state.partitions = std::move(partitions);
}

void apply_event(ClusterState& state, const NodesCreated& event) {
  auto config = std::make_shared<ClusterConfig>(*state.config);
  add_nodes(*config, event.nodes);
  state.config = config;
  const NodeNames known = all_names(state);
  for (const NodeConfig& node : event.nodes) {
    const auto at = known.find(node.name);
    configure_node(state, node, at == known.end() ? nullptr : state.nodes.find(at->second),
                   event.time);
  }
  rebuild_node_names(state);
  change_partitions(state, [&](PartitionConfig& partition) {
    add_to_partition(*config, event.nodes, partition);
  });
}

void apply_event(ClusterState& state, const NodesDeleted& event) {
  const std::unordered_set<std::string> names(event.names.begin(), event.names.end());
  auto config = std::make_shared<ClusterConfig>(*state.config);
  forget_nodes(*config, names);
  state.config = config;
  for (const std::string& name : event.names) {
    if (const Node* node = find_node(state, name)) remove_node(state, node->id);
  }
  rebuild_node_names(state);
  change_partitions(state,
                    [&](PartitionConfig& partition) { forget_nodes(*config, names, partition); });
}

void apply_event(ClusterState& state, const PartitionDeleted& event) {
  auto partitions = std::make_shared<Partitions>(*state.partitions);
  std::erase_if(*partitions, [&](const Partition& p) { return p.config->name == event.name; });
  state.partitions = std::move(partitions);
}

}  // namespace sluice::state
