// scontrol update NodeName=…
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "common/base/contains.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/names/job_states.hpp"
#include "common/syntax/submit_values.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/decide/node/power.hpp"
#include "ctld/state/decide/node/reboot.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {
namespace {

constexpr uint32_t kBad = kNodeDrain | kNodeFailing;
constexpr uint32_t kResumable = kBad | kNodeInvalidReg | kNodeRebootRequested | kNodeRebootIssued;

// Applies the wish to a node's state; kInvalidState: not from where the node is.
Status grant(NodeAction wish, const Node& node, NodeStateChanged& event) {
  const auto forget_reason = [&] {
    clear_reason(event);
    event.resume_after = kNoTime;
  };
  const bool misfits = (node.flags & kNodeInvalidReg) != 0;  // ends with a valid registration only
  switch (wish) {
    case NodeAction::kDown:
      event.base = NodeBaseState::kDown;
      // else the end of its reboot would make it available again
      if ((event.flags & kNodeRebootIssued) != 0) forget_reboot(event);
      return {};
    case NodeAction::kDrain: event.flags = (event.flags & ~kNodeFailing) | kNodeDrain; return {};
    case NodeAction::kFail:
      event.flags = (event.flags & ~(misfits ? 0 : kNodeDrain)) | kNodeFailing;
      return {};
    case NodeAction::kNoRespond: event.flags |= kNodeNoRespond; return {};
    case NodeAction::kFuture:
      if (!node.jobs.empty()) return failure(ErrorCode::kInvalidState);
      event.base = NodeBaseState::kFuture;
      event.flags &= ~kNodeDynamicFuture;  // any host's again
      return {};
    case NodeAction::kCancelReboot: return cancel_reboot(node, event);
    case NodeAction::kUndrain:
      if (misfits) return failure(ErrorCode::kInvalidState);
      event.flags &= ~kBad;
      if (node.base != NodeBaseState::kDown) forget_reason();
      return {};
    case NodeAction::kResume:
    case NodeAction::kIdle: {
      const bool idle_already =
          node.base == NodeBaseState::kIdle && (node.flags & (kBad | kNodeInvalidReg)) == 0;
      if (wish == NodeAction::kIdle && idle_already) return {};
      const bool away = node.base == NodeBaseState::kDown || node.base == NodeBaseState::kFuture;
      const bool in_use = !away && (node.flags & kResumable) == 0;
      if (wish == NodeAction::kResume ? in_use : misfits) return failure(ErrorCode::kInvalidState);
      event.flags &= ~(misfits ? kNodeFailing : kBad);
      forget_reboot(event);
      // a node that was never heard of has to register first, but for one that boots when it is
      // needed
      if (away) {
        event.base = node.hardware == nullptr && !is_asleep(node) ? NodeBaseState::kUnknown
                                                                  : NodeBaseState::kIdle;
      }
      if (!misfits) forget_reason();
      return {};
    }
    default: return failure(ErrorCode::kInvalidState);
  }
}

// Of a node that is fine there is nothing to explain.
bool takes_reason(const NodeStateChanged& event) {
  constexpr NodeFlags kToldWhy = kBad | kNodeRebootRequested | kNodeRebootIssued | kNodePowerDown;
  return event.base == NodeBaseState::kDown || (event.flags & kToldWhy) != 0;
}

// The node may be alive: what runs there is ended, because its jobs end or are requeued elsewhere.
void order_ends(const ClusterState& state, NodeId node, Effects& effects) {
  for (const JobId id : state.nodes.at(node).jobs) {
    TerminateJob order{.job = id, .restart = state.jobs.at(id).restart_count, .at_once = true};
    order.nodes.set(node);
    order.message = "CANCELLED DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS";
    effects.emplace_back(std::move(order));
  }
}

Status update_state(Draft& draft, NodeId id, const UpdateNode& command, Time now,
                    Effects& effects) {
  const NodeUpdate& update = command.update;
  if (!update.state && !update.reason && !update.resume_after_seconds) return {};
  NodeStateChanged event = present_state(draft.node(id), now);
  bool down = false;  // its jobs are lost
  bool needs_reason = false;
  if (update.state) {
    const std::optional<NodeAction> wish = parse_node_action(*update.state);
    if (!wish) return failure(ErrorCode::kInvalidState);
    down = *wish == NodeAction::kDown || *wish == NodeAction::kPowerDownForce;
    needs_reason =
        *wish == NodeAction::kDown || *wish == NodeAction::kDrain || *wish == NodeAction::kFail;
    const Node& node = draft.node(id);
    Status ok = is_power_action(*wish)
                    ? change_power(draft.state(), {*wish, command.who.uid}, node, event)
                    : grant(*wish, node, event);
    if (!ok) return ok;
  }
  // an empty one takes none away
  if (update.reason && !update.reason->empty() && takes_reason(event)) {
    event.reason = *update.reason;
    event.reason_time = now;
    event.reason_uid = command.who.uid;
  }
  if (update.resume_after_seconds) {
    event.resume_after = now + std::chrono::seconds(*update.resume_after_seconds);
  }
  if (needs_reason && event.reason.empty()) {
    return failure(ErrorCode::kInvalidState,
                   "You must specify a reason when DOWNING or DRAINING a node. Request denied");
  }
  // it may run what is left of jobs that were lost with it: registering, it learns to end that
  if (draft.node(id).base == NodeBaseState::kDown && event.base == NodeBaseState::kIdle) {
    ReconfigureNodes order;
    order.nodes.set(id);
    effects.emplace_back(std::move(order));
  }
  const bool given_up =
      (draft.node(id).flags & kNodeRebootIssued) != 0 && (event.flags & kNodeRebootIssued) == 0;
  draft.emit(std::move(event));
  if (down) {
    order_ends(draft.state(), id, effects);
    lose_node(draft, id, now);
  } else if (given_up) {
    lose_node(draft, id, now, NodeLoss::kBootFailed);  // nobody would tell jobs that wait for it
  }
  return {};
}

// The features of an update, each once and in order: they are looked at for each of its nodes.
struct NewFeatures {
  std::optional<std::vector<std::string>> active, available;
};

std::vector<std::string> in_order(std::vector<std::string> names) {
  std::ranges::sort(names);
  // not ranges: clang 14 cannot read libstdc++ 12 there
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

NewFeatures features_of(const NodeUpdate& update) {
  NewFeatures out;
  if (update.active_features) out.active = in_order(split_list(*update.active_features));
  if (update.available_features) out.available = in_order(split_list(*update.available_features));
  return out;
}

// Features can be active only where they are available.
Status check_features(const Node& node, const NewFeatures& features) {
  if (!features.active && !features.available) return {};
  const auto within = [](const std::vector<std::string>& active,
                         const std::vector<std::string>& available) {
    return std::ranges::includes(available, active) ? Status{}
                                                    : failure(ErrorCode::kFeaturesNotSubset);
  };
  if (!features.available) return within(*features.active, in_order(node.config->features));
  return within(features.active ? *features.active : in_order(active_features(node)),
                *features.available);
}

// Texts are kept with each of the nodes.
Status check_texts(const NodeUpdate& update) {
  constexpr size_t kMostText = size_t{16} << 10, kMostList = size_t{256} << 10;
  bool good = update.nodes.size() <= kMostList;
  for (const auto* list : {&update.addresses, &update.hostnames})
    good = good && (!*list || (*list)->size() <= kMostList);
  for (const auto* text :
       {&update.state, &update.reason, &update.active_features, &update.available_features,
        &update.comment, &update.extra, &update.gres, &update.cpu_bind}) {
    good = good && (!*text || (*text)->size() <= kMostText);
  }
  return good ? Status{} : failure(std::string(kTooLong));
}

// What is said of several nodes in one list, as in slurm.conf: NodeName=n[1-2]
// NodeAddr=10.0.0.[1-2].
using ByNode = std::map<std::string, std::string>;
Result<ByNode> deal_to_nodes(const NodeUpdate& update, const std::optional<std::string>& list) {
  ByNode out;
  if (!list) return out;
  if (iequals(update.nodes, "all"))
    return failure(ErrorCode::kInvalidNodeName, "Addresses are given to nodes by name");
  const auto names = expand_hosts(update.nodes);
  const auto values = expand_hosts(*list);
  if (!names || !values || names->size() != values->size()) {
    return failure(ErrorCode::kInvalidNodeName);  // as many are wanted as nodes
  }
  for (size_t i = 0; i < names->size(); ++i) out[(*names)[i]] = (*values)[i];
  return out;
}

// Whether there are device files of a generic resource on the node: how many is no matter of words
// then.
bool has_files(const Node& node, std::string_view gres) {
  if (gres == "gpu") return true;
  return node.hardware != nullptr &&
         std::ranges::any_of(node.hardware->devices, [&](const GresDevices& devices) {
           return devices.name == gres && !devices.files.empty();
         });
}

uint64_t count_of_items(const std::vector<GresItem>& items, std::string_view gres) {
  uint64_t sum = 0;
  for (const GresItem& item : items) {
    if (item.name == gres) sum += item.count;
  }
  return sum;
}

std::string text_of_items(const std::vector<GresItem>& items, std::string_view name) {
  std::vector<std::string> out;
  for (const GresItem& item : items) {
    if (item.name == name)
      out.push_back(gres_text({{item.name, item.type, item.count, {}, {}}}, false));
  }
  return join(out, ",");
}

// All of one name in a Gres=, worked out once for all nodes.
struct WantedGres {
  std::string name;
  uint64_t count = 0;
  std::string text;
};
Result<std::vector<WantedGres>> wanted_gres(const std::string& text) {
  const auto items = gres_items(text);
  if (!items) return failure(ErrorCode::kInvalidGres);
  std::vector<WantedGres> out;
  std::set<std::string> names;
  for (const GresItem& item : *items) {
    std::string name = item.name.str();
    if (!names.insert(name).second) continue;
    const uint64_t count = count_of_items(*items, name);
    std::string of_name = text_of_items(*items, name);
    out.push_back({std::move(name), count, std::move(of_name)});
  }
  return out;
}

// Gres=, as the node has it then. Devices can be left out, all of a name; of the rest there are as
// many as before, and they are of the types that they were of, whatever is said.
Result<std::string> changed_gres(const Node& node, const std::vector<WantedGres>& wanted) {
  const auto present = gres_items(node.config->gres);
  if (!present) return failure(ErrorCode::kInvalidGres);
  std::vector<std::string> out;
  for (const WantedGres& one : wanted) {
    const bool devices = one.count != 0 && has_files(node, one.name);
    if (devices && one.count != count_of_items(*present, one.name))
      return failure(ErrorCode::kInvalidGres);
    out.push_back(devices ? text_of_items(*present, one.name) : one.text);
  }
  return join(out, ",");
}

struct Places {
  ByNode addresses, hostnames;
};

// `gres`: what changed_gres() gave, where the update has any.
void update_rest(Draft& draft, NodeId id, const NodeUpdate& update, const Places& places,
                 std::string gres) {
  const Node& node = draft.node(id);
  const auto address = places.addresses.find(node.name);
  const auto hostname = places.hostnames.find(node.name);
  const bool moves = address != places.addresses.end() || hostname != places.hostnames.end();
  if (!update.weight && !update.active_features && !update.available_features && !update.comment &&
      !update.extra && !update.gres && !update.cpu_bind && !moves) {
    return;
  }
  NodeUpdated event = present_values(node);
  if (update.weight) event.weight = *update.weight;
  if (update.active_features) {
    event.active_features = *update.active_features;
    event.features_chosen = true;
  } else if (update.available_features && !node.features_reported) {  // all of them
    event.active_features = {};
    event.features_chosen = false;
  }
  if (update.comment) event.comment = *update.comment;
  if (update.extra) event.extra = *update.extra;
  if (update.available_features || update.gres || update.cpu_bind || moves) {
    auto config = std::make_shared<NodeConfig>(*node.config);
    if (update.available_features) {
      config->features = split_list(*update.available_features);
      std::erase_if(config->changeable_features,
                    [&](const std::string& one) { return !contains(config->features, one); });
    }
    if (address != places.addresses.end()) config->address = address->second;
    if (hostname != places.hostnames.end()) config->hostname = hostname->second;
    if (update.gres) config->gres = std::move(gres);
    if (update.cpu_bind) config->cpu_bind = usual_binding(*update.cpu_bind).value_or("");
    event.config = std::move(config);
  }
  draft.emit(std::move(event));
}

const char* wish_of(ConfiguredNodeState state) {
  switch (state) {
    case ConfiguredNodeState::kDown: return "DOWN";
    case ConfiguredNodeState::kDrain: return "DRAIN";
    case ConfiguredNodeState::kFail:
    case ConfiguredNodeState::kFailing: return "FAIL";
    default: return nullptr;
  }
}

bool is_in_state(const Node& node, ConfiguredNodeState state) {
  if (state == ConfiguredNodeState::kDown) return node.base == NodeBaseState::kDown;
  return (node.flags & (state == ConfiguredNodeState::kDrain ? kNodeDrain : kNodeFailing)) != 0;
}

}  // namespace

Effects keep_down(Draft& draft, Time now) {
  Effects effects;
  const auto config = draft.state().config;
  for (const DownNodesConfig& down : config->down_nodes) {
    const char* wish = wish_of(down.state);
    if (wish == nullptr) continue;
    UpdateNode command{{config->slurm_user_id, 0}, {}};
    command.update.state = wish;
    command.update.reason = down.reason.empty() ? "Set in slurm.conf" : down.reason;
    for (const std::string& name : down.nodes) {
      const Node* node = find_node(draft.state(), name);
      if (node == nullptr || node->base == NodeBaseState::kFuture) continue;
      if (is_in_state(*node, down.state) && node->reason == *command.update.reason) continue;
      const Status ok = update_state(draft, node->id, command, now, effects);
      SLUICE_CHECK(ok.has_value());  // from any state, with a reason
    }
  }
  return effects;
}

Result<Decision> decide_on(const ClusterState& state, const UpdateNode& command, Time now) {
  if (!is_admin(state, command.who.uid))
    return failure(ErrorCode::kAccessDenied, "Invalid user id");
  if (Status ok = check_texts(command.update); !ok) return tl::unexpected(ok.error());
  const bool all = to_lower(command.update.nodes) == "all";
  Result<Bitmap> nodes =
      all ? Result<Bitmap>(Bitmap()) : resolve_nodes(state, command.update.nodes);
  if (nodes && all) {
    for (const auto& [name, id] : *state.node_names) nodes->set(id);
  }
  // an empty list is not all of them
  if (!nodes || nodes->none()) return failure(ErrorCode::kInvalidNodeName);
  if (command.update.cpu_bind && !usual_binding(*command.update.cpu_bind))
    return failure(ErrorCode::kInvalidUpdate);
  auto addresses = deal_to_nodes(command.update, command.update.addresses);
  auto hostnames = deal_to_nodes(command.update, command.update.hostnames);
  if (!addresses || !hostnames) return tl::unexpected((addresses ? hostnames : addresses).error());
  const Places places{std::move(*addresses), std::move(*hostnames)};
  const NewFeatures features = features_of(command.update);
  const auto wanted = wanted_gres(command.update.gres.value_or(""));
  Draft draft(state);
  Effects effects;
  Status failed;
  // nodes of a list whose state does not allow it: the others are changed all the same
  size_t unsuited = 0;
  nodes->for_each([&](size_t id) {
    if (!failed && failed.error().code != ErrorCode::kInvalidState) return;
    const Node& node = draft.node(static_cast<NodeId>(id));
    Status ok = check_features(node, features);
    Result<std::string> gres;
    if (ok && command.update.gres) {
      gres =
          wanted.and_then([&](const auto& all_wanted) { return changed_gres(node, all_wanted); });
      ok = gres.map([](const std::string&) {});
    }
    if (ok) ok = update_state(draft, static_cast<NodeId>(id), command, now, effects);
    if (ok)
      return update_rest(draft, static_cast<NodeId>(id), command.update, places, std::move(*gres));
    ++unsuited;
    if (failed || ok.error().code != ErrorCode::kInvalidState) failed = ok;
  });
  if (!failed && (failed.error().code != ErrorCode::kInvalidState || unsuited == nodes->count())) {
    return tl::unexpected(failed.error());
  }
  Decision decision = draft.take();
  if (!failed) decision.reply = DoneInPart{failed.error()};
  decision.effects = std::move(effects);
  return decision;
}

}  // namespace sluice::state
