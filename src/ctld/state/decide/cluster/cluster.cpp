// The controller's start, its configuration, and partitions.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"
#include "common/syntax/node_helpers.hpp"
#include "common/config/partition_update.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/core/describe_equal.hpp"
#include "ctld/state/rules/dynamic_nodes.hpp"
#include "ctld/state/core/triggers.hpp"
#include "ctld/state/rules/wanted.hpp"

namespace sluice::state {
namespace {

// bytes of a value of scontrol update PartitionName=
constexpr size_t kMostValue = size_t{64} << 10;

// What was read, with the nodes that no file names unless the files have them now.
std::shared_ptr<const ClusterConfig> with_dynamic_nodes(
    const ClusterState& state, const std::shared_ptr<const ClusterConfig>& read) {
  std::unordered_set<std::string> names;
  for (const NodeConfig& node : read->nodes) names.insert(node.name);
  std::vector<NodeConfig> dynamic;
  for (const NodeConfig& node : state.config->nodes) {
    if (node.dynamic == DynamicNode::kNo || names.contains(node.name)) continue;
    NodeConfig& kept = dynamic.emplace_back(node);
    kept.changeable_features.clear();  // as the helpers are now
    adopt_helpers(*read, kept);
    follow_core_order(*read, kept);
  }
  if (dynamic.empty()) return read;
  auto whole = std::make_shared<ClusterConfig>(*read);
  add_nodes(*whole, dynamic);
  return whole;
}

bool partitions_as_configured(const ClusterState& state) {
  const auto& wanted = state.config->partitions;
  if (wanted.size() != state.partitions->size()) return false;
  for (size_t at = 0; at < wanted.size(); ++at) {
    if (!(*(*state.partitions)[at].config == wanted[at])) return false;
  }
  return true;
}

const PartitionConfig* partition_named(const std::vector<PartitionConfig>& partitions,
                                       std::string_view name) {
  const auto place = std::ranges::find(partitions, name, &PartitionConfig::name);
  return place == partitions.end() ? nullptr : &*place;
}

// A partition as slurm.conf has it now, but for what scontrol has made of it (`present`) since
// `read` was read.
PartitionConfig merged(const PartitionConfig& fresh, const PartitionConfig& read,
                       const PartitionConfig& present) {
  PartitionConfig out = fresh;
  PartitionConfig::describe([&](uint32_t, const char*, auto member) {
    if (!(present.*member == read.*member)) out.*member = present.*member;
  });
  // which nodes the words stand for may be another matter now
  const PartitionConfig& whose = present.nodes_text == read.nodes_text ? fresh : present;
  out.nodes = whose.nodes;
  out.node_sets = whose.node_sets;
  return out;
}

// ReconfigFlags: partitions as scontrol left them (KeepPartInfo), or their states alone. `before`:
// the state as it was.
void keep_partitions(Draft& draft, const ClusterState& before, const ClusterConfig& config) {
  const bool all = has_option(config.reconfig_flags, "KeepPartInfo");
  if (!all && !has_option(config.reconfig_flags, "KeepPartState")) return;
  for (const Partition& partition : *before.partitions) {
    const PartitionConfig& present = *partition.config;
    const PartitionConfig* fresh = partition_named(config.partitions, present.name);
    const PartitionConfig* read = partition_named(before.config->partitions, present.name);
    // it went from slurm.conf, or is made by scontrol
    if (fresh == nullptr && (read != nullptr || !all)) continue;
    PartitionConfig kept = fresh == nullptr ? present : *fresh;
    if (!all) kept.state = present.state;
    else if (fresh != nullptr && read != nullptr) kept = merged(*fresh, *read, present);
    std::erase_if(kept.nodes, [&](const std::string& name) {
      return find_node(draft.state(), name) == nullptr;
    });
    if (fresh != nullptr && kept == *fresh) continue;
    draft.emit(
        PartitionChanged{.config = std::make_shared<const PartitionConfig>(std::move(kept))});
  }
}

// scontrol reconfigure: nodes are as their lines say again, whatever scontrol has made of them
// since. Comments stay.
void restore_lines(Draft& draft) {
  const auto config = draft.state().config;
  for (const NodeConfig& line : config->nodes) {
    const Node* node = find_node(draft.state(), line.name);
    if (node == nullptr || line.dynamic != DynamicNode::kNo) continue;
    NodeUpdated event = present_values(*node);
    const NodeUpdated before = event;
    event.weight = line.weight;
    if (!node->features_reported) {
      event.active_features = {};
      event.features_chosen = false;
    } else if (node->config != nullptr) {
      event.active_features = join(active_with_line(config->helpers, *node, line), ",");
    }
    if (node->config == nullptr || !(*node->config == line))
      event.config = std::make_shared<const NodeConfig>(line);
    if (event.config != nullptr || !described_equal(before, event)) draft.emit(std::move(event));
  }
}

constexpr std::string_view kOtherCredentialKey =
    "credential.key is not the one with which this cluster's launches were signed until now: put that one back from "
    "the backup, or start once with --new-credential-key, and the nodes take this one over";

// --first-job-id cannot give ids again.
Status check_start_of_ids(const ClusterState& state, JobId first) {
  if (first == kNoJob || state.config->max_job_id == 0) return {};
  if (first > state.config->max_job_id) {
    return failure(ErrorCode::kInvalidJobId, fmt::format("--first-job-id={} is beyond MaxJobId={}",
                                                         first, state.config->max_job_id));
  }
  if (first >= state.next_job_id) return {};
  return failure(ErrorCode::kInvalidJobId,
                 fmt::format("--first-job-id={}: ids up to {} were given already", first,
                             state.next_job_id - 1));
}

// Stands for the key that nodes know, where this state never had it.
constexpr std::string_view kKeyOfNodes = "another";

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const StartEpoch& command, Time now) {
  if (!state.cluster_id.empty() && state.cluster_id != command.cluster_id) {
    return failure(ErrorCode::kWrongCluster);
  }
  if (Status ok = check_start_of_ids(state, command.first_job_id); !ok)
    return tl::unexpected(ok.error());
  const bool other_key = !state.credential_key.empty() && !command.credential_key.empty() &&
                         command.credential_key != state.credential_key;
  if (other_key && !command.new_key)
    return failure(ErrorCode::kInvalidCredential, std::string(kOtherCredentialKey));
  Draft draft(state);
  if (command.clean) draft.emit(StateForgotten{.time = now, .keeps_accounting = true});
  // What nodes know is another key, though the state knows this one (an older backup): as if there
  // had been another until now, which marks it as changed on purpose.
  const bool known_key = command.new_key && !command.credential_key.empty() && !other_key &&
                         !draft.state().credential_key_changed;
  if (known_key)
    draft.emit(EpochStarted{.cluster_id = command.cluster_id,
                            .epoch = command.epoch,
                            .time = now,
                            .credential_key = std::string(kKeyOfNodes)});
  draft.emit(EpochStarted{.cluster_id = command.cluster_id,
                          .epoch = command.epoch,
                          .time = now,
                          .next_job_id = command.first_job_id,
                          .credential_key = command.credential_key});
  for (Trigger& trigger : triggers_hit(draft.state(), kTriggerPrimaryResumed, now))
    draft.emit(TriggerSet{std::move(trigger)});
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const ReplaceConfig& command, Time now) {
  const auto config = with_dynamic_nodes(state, command.config);
  const bool same = state.next_node_id != 0 && *config == *state.config;
  Draft draft(state);
  if (command.ordered) {
    for (Trigger& trigger : triggers_hit(state, kTriggerReconfigured, now))
      draft.emit(TriggerSet{std::move(trigger)});
  }
  if (same && (command.keep_partitions || partitions_as_configured(state))) {
    if (command.ordered) restore_lines(draft);
    Effects ends = keep_down(draft, now);
    Decision decision = draft.take();
    decision.effects = std::move(ends);
    // nodes may have files of their own, and those may be others now
    if (command.ordered) decision.effects.emplace_back(reconfigure_all(state));
    return decision;
  }
  // jobs on nodes that go are lost
  std::unordered_set<std::string> stay;
  for (const NodeConfig& node : config->nodes) stay.insert(node.name);
  std::vector<NodeId> gone;
  state.nodes.for_each([&](const Node& node) {
    if (!node.removed && !stay.contains(node.name)) gone.push_back(node.id);
  });
  for (const NodeId id : gone) lose_node(draft, id, now);
  draft.emit(ConfigReplaced{.config = config, .time = now});
  if (command.ordered) {
    keep_partitions(draft, state, *config);
    restore_lines(draft);
  }
  Effects ends = keep_down(draft, now);
  ReconfigureNodes farewell;
  for (const NodeId id : gone) {
    const Node& node = state.nodes.at(id);
    if (expects_agent(node) && node.hardware != nullptr && (node.flags & kNodeNoRespond) == 0)
      farewell.nodes.set(id);
  }
  Decision decision = draft.take();
  decision.effects = std::move(ends);
  // they register in vain, which their logs tell, and go on trying for the case that they come back
  if (farewell.nodes.any()) decision.effects.emplace_back(std::move(farewell));
  return decision;
}

Result<Decision> decide_on(const ClusterState& state, const UpdatePartition& command, Time) {
  if (!is_admin(state, command.who.uid))
    return failure(ErrorCode::kAccessDenied, "Invalid user id");
  const Partition* known = find_partition(state, command.name);
  Draft draft(state);
  if (command.action == protocol::PartitionAction::kDelete) {
    if (known == nullptr) return failure(ErrorCode::kInvalidPartition);
    bool in_use = false;
    const auto look = [&](uint32_t id) {
      const Job& job = state.jobs.at(id);
      for (const std::string& name : partitions_of(state, job)) {
        in_use = in_use || name == command.name;
      }
      in_use = in_use || job.partition == command.name;
      return !in_use;
    };
    state.active.for_each(look);
    if (!in_use) state.pending.for_each(look);
    if (in_use) return failure(ErrorCode::kPartitionInUse);
    draft.emit(PartitionDeleted{.name = command.name});
    return draft.take();
  }
  const bool create = command.action == protocol::PartitionAction::kCreate;
  if (command.name.empty()) return failure(ErrorCode::kInvalidPartition);
  if (create != (known == nullptr)) return failure(ErrorCode::kInvalidPartition);
  auto config = std::make_shared<PartitionConfig>(
      command.values.empty() || known == nullptr ? command.config : *known->config);
  config->name = command.name;
  for (const auto& [key, value] : command.values) {
    // each node may be named many times over, but not for ever
    const bool too_many =
        iequals(key, "Nodes") && count_hosts(value).value_or(0) > kMaxHostsInRange;
    if (too_many || value.size() > kMostValue) return failure(std::string(kTooLong));
  }
  if (!command.values.empty()) {
    if (Status ok = tables::update_partition(*state.config, command.values, *config); !ok)
      return tl::unexpected(ok.error());
  }
  const bool other_qos = known == nullptr || known->config->qos != config->qos;
  if (other_qos && lacks_qos(state, *config)) return failure(ErrorCode::kInvalidQos);
  for (const std::string& name : config->nodes) {
    if (find_node(state, name) == nullptr) return failure(ErrorCode::kInvalidNodeName);
  }
  draft.emit(PartitionChanged{.config = std::move(config)});
  return draft.take();
}

}  // namespace sluice::state
