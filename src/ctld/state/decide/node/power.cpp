// See power.hpp.
#include "ctld/state/decide/node/power.hpp"

#include <algorithm>
#include <map>

#include "common/base/contains.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/model/config_value.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/node/reboot.hpp"
#include "ctld/state/core/power_saving.hpp"

namespace sluice::state {
namespace {

constexpr Duration kRatePeriod = std::chrono::minutes(1);
constexpr NodeFlags kPower =
    kNodePowerDown | kNodePoweringDown | kNodePoweredDown | kNodePowerUp | kNodePoweringUp;

// The longest time that a partition of the node's gives; `general` where none gives one.
Duration time_of(const ClusterState& state, const Node& node,
                 std::optional<uint32_t> PartitionConfig::*member, Duration general) {
  Duration longest = general;
  bool given = false;
  for (const Partition& partition : *state.partitions) {
    const PartitionConfig& config = *partition.config;
    if (!partition.nodes.test(node.id) || !(config.*member).has_value()) continue;
    const uint32_t seconds = (config.*member).value_or(0);
    const Duration one = seconds == UINT32_MAX ? kNoLimit : Duration(std::chrono::seconds(seconds));
    longest = given ? std::max(longest, one) : one;
    given = true;
  }
  return longest;
}

Duration suspend_time_of(const ClusterState& state, const Node& node) {
  const uint32_t own = node.config->suspend_time_s.value_or(0);
  if (!node.config->suspend_time_s.has_value()) {
    return time_of(state, node, &PartitionConfig::suspend_time_s, state.config->suspend_time);
  }
  return own == UINT32_MAX ? kNoLimit : Duration(std::chrono::seconds(own));
}

Time idle_since(const Node& node) {
  const Time since = std::max(node.last_busy, node.undrained);
  return node.hardware == nullptr ? since : std::max(since, node.hardware->agent_start);
}

bool is_idle_and_awake(const Node& node) { return is_schedulable(node) && node.jobs.empty(); }

// How many more nodes may be changed now: `rate` a minute, 0 for no bound. Those that have come up
// since do not count.
size_t left_of_rate(const ClusterState& state, const char* key, uint32_t usual, NodeFlags changed,
                    Time now) {
  const uint32_t rate = to_number<uint32_t>(config_value(*state.config, key)).value_or(usual);
  if (rate == 0) return SIZE_MAX;
  size_t recent = 0;
  state.nodes.for_each([&](const Node& node) {
    if ((node.flags & changed) != 0 && node.reboot_issued != kNoTime &&
        node.reboot_issued + kRatePeriod > now)
      ++recent;
  });
  return recent < rate ? rate - recent : 0;
}

// SuspendExcNodes: "n[1-2],n[10-20]:4", all of the first and four idle ones of the second.
Bitmap excepted_nodes(const ClusterState& state) {
  Bitmap excepted;
  for (const std::string& set : split_hosts(config_value(*state.config, "SuspendExcNodes"))) {
    const size_t colon = set.find(':');
    const auto nodes = resolve_nodes(state, set.substr(0, colon));
    if (!nodes) continue;
    if (colon == std::string::npos) {
      excepted |= *nodes;
      continue;
    }
    size_t left = to_number<uint32_t>(set.substr(colon + 1)).value_or(0);
    nodes->for_each([&](size_t id) {
      if (left == 0 || !is_idle_and_awake(state.nodes.at(static_cast<NodeId>(id)))) return;
      excepted.set(id);
      --left;
    });
  }
  const std::vector<std::string> partitions =
      split_list(config_value(*state.config, "SuspendExcParts"));
  for (const Partition& partition : *state.partitions) {
    if (contains(partitions, partition.config->name)) excepted |= partition.nodes;
  }
  return excepted;
}

// SuspendExcStates.
bool is_in_excepted_state(const Node& node, const std::vector<std::string>& states) {
  return std::ranges::any_of(states, [&](const std::string& text) {
    const auto name = parse_node_state(text);
    return name && name->matches(shown_base(node), shown_flags(node));
  });
}

// Nodes that nobody has used for SuspendTime.
std::vector<NodeId> unused_nodes(const ClusterState& state, Time now) {
  std::vector<NodeId> unused;
  state.nodes.for_each([&](const Node& node) {
    constexpr NodeFlags kElse = kPower | kNodeRebootRequested | kNodeRebootIssued;
    if (node.removed || node.base != NodeBaseState::kIdle || !node.jobs.empty() ||
        (node.flags & kElse) != 0)
      return;
    const Duration limit = suspend_time_of(state, node);
    if (limit < kNoLimit && idle_since(node) + limit <= now) unused.push_back(node.id);
  });
  if (unused.empty()) return unused;
  const Bitmap excepted = excepted_nodes(state);
  const std::vector<std::string> states =
      split_list(config_value(*state.config, "SuspendExcStates"));
  std::erase_if(unused, [&](NodeId id) {
    return excepted.test(id) || is_in_excepted_state(state.nodes.at(id), states);
  });
  return unused;
}

// No reboot is under way any more, and the power changes now.
void begin_change(NodeStateChanged& event, NodeFlags change, Time now) {
  // it is DOWN for that only
  if ((event.flags & kNodeRebootIssued) != 0) event.base = NodeBaseState::kIdle;
  event.flags &= ~(kPower | kNodeNoRespond);
  forget_reboot(event);
  event.flags |= change;
  event.reboot_issued = now;
}

void put_down(Draft& draft, NodeId id, Time now) {
  NodeStateChanged event = present_state(draft.node(id), now);
  // who asks for it by hand ends the node's drain by that, as in Slurm
  if ((event.flags & kNodePowerDown) != 0 && (event.flags & kNodeInvalidReg) == 0)
    event.flags &= ~kNodeDrain;
  const NodeFlags later = event.flags & kNodePowerUp;  // when it is down
  begin_change(event, kNodePoweringDown | later, now);
  if (event.base == NodeBaseState::kUnknown) event.base = NodeBaseState::kIdle;
  draft.emit(std::move(event));
}

void wake(Draft& draft, NodeId id, Time now) {
  NodeStateChanged event = present_state(draft.node(id), now);
  const NodeFlags later = event.flags & kNodePowerDown;  // when its job is over
  begin_change(event, kNodePoweringUp | kNodeNoRespond | later, now);
  if ((event.flags & (kNodeDrain | kNodeFailing)) == 0) clear_reason(event);
  draft.emit(std::move(event));
}

void end_powering_down(Draft& draft, NodeId id, Time now) {
  NodeStateChanged event = present_state(draft.node(id), now);
  event.flags = (event.flags & ~kNodePoweringDown) | kNodePoweredDown;
  draft.emit(std::move(event));
}

void give_up_waking(Draft& draft, NodeId id, Time now) {
  NodeStateChanged event = present_state(draft.node(id), now);
  begin_change(event, kNodePoweredDown | kNodeNoRespond, now);
  event.base = NodeBaseState::kDown;
  event.reason = "ResumeTimeout reached";
  event.reason_time = now;
  event.reason_uid = draft.state().config->slurm_user_id;
  draft.emit(std::move(event));
  lose_node(draft, id, now, NodeLoss::kBootFailed);
}

// The programs of before are gone from slurm.conf, and nobody else would wake it.
void give_up_asleep(Draft& draft, NodeId id, Time now) {
  NodeStateChanged event = present_state(draft.node(id), now);
  event.flags = (event.flags & ~kPower) | kNodeNoRespond;
  event.reboot_issued = kNoTime;
  event.base = NodeBaseState::kDown;
  if (event.reason.empty()) {
    event.reason = kLeftAsleep;
    event.reason_time = now;
    event.reason_uid = draft.state().config->slurm_user_id;
  }
  draft.emit(std::move(event));
  lose_node(draft, id, now, NodeLoss::kBootFailed);
}

// It is not to go down any more, when its jobs are over.
void keep_awake(Draft& draft, NodeId id, Time now) {
  NodeStateChanged event = present_state(draft.node(id), now);
  event.flags &= ~(kNodePowerDown | kNodePowerUp);
  draft.emit(std::move(event));
}

// Power saving was taken out of slurm.conf. Nodes of a cloud are not there until they register.
void end_power_saving(Draft& draft, Time now) {
  std::vector<NodeId> asleep, awake;
  draft.state().nodes.for_each([&](const Node& node) {
    if (node.removed) return;
    if ((node.flags & kNodePoweredDown) != 0) {
      if (node.config->state != ConfiguredNodeState::kCloud) asleep.push_back(node.id);
    } else if ((node.flags & (kNodePowerDown | kNodePowerUp)) != 0) {
      awake.push_back(node.id);
    }
  });
  for (const NodeId id : asleep) give_up_asleep(draft, id, now);
  for (const NodeId id : awake) keep_awake(draft, id, now);
}

struct Due {
  std::vector<NodeId> down, up, off, late;
  std::vector<NodeId> left;  // asleep, with jobs that may be over
};

Due due_nodes(const ClusterState& state, Time now) {
  const ClusterConfig& config = *state.config;
  Due due;
  state.nodes.for_each([&](const Node& node) {
    if (node.removed || ((node.flags & kPower) == 0)) return;
    const auto has = [&](NodeFlags some) { return (node.flags & some) != 0; };
    // what happens while no controller runs cannot be noticed before the next one does
    const Time since = std::max(node.reboot_issued, state.epoch_start);
    if (has(kNodePowerDown) && !has(kNodePoweringDown) && node.jobs.empty())
      due.down.push_back(node.id);
    else if (has(kNodePowerUp) && has(kNodePoweredDown)) due.up.push_back(node.id);
    else if (has(kNodePoweringDown)) {
      const Duration limit =
          time_of(state, node, &PartitionConfig::suspend_timeout_s, config.suspend_timeout);
      if (since + limit <= now) due.off.push_back(node.id);
    } else if (has(kNodePoweringUp)) {
      const Duration limit =
          time_of(state, node, &PartitionConfig::resume_timeout_s, config.resume_timeout);
      if (limit < kNoLimit && since + limit <= now) due.late.push_back(node.id);
    }
    if (is_asleep(node) && node.completing_jobs > 0) due.left.push_back(node.id);
  });
  return due;
}

// There is nothing to clean on a node that is asleep.
void release_ended(Draft& draft, NodeId id, Time now) {
  const std::vector<JobId> jobs = draft.node(id).jobs;
  for (const JobId job_id : jobs) {
    const Job& job = draft.job(job_id);
    if (!is_completing(job)) continue;
    Bitmap node;
    node.set(id);
    release_nodes(draft, job_id, allocation_positions(job, node), now);
  }
}

}  // namespace

bool is_power_action(NodeAction action) {
  return action == NodeAction::kPowerUp || action == NodeAction::kPowerDown ||
         action == NodeAction::kPowerDownAsap || action == NodeAction::kPowerDownForce;
}

Status change_power(const ClusterState& state, const PowerWish& wish, const Node& node,
                    NodeStateChanged& event) {
  if (!saves_power(*state.config) || node.base == NodeBaseState::kFuture)
    return failure(ErrorCode::kInvalidState);
  if (wish.action == NodeAction::kPowerUp) {
    // one that goes down, or is to, does so first
    constexpr NodeFlags kGoesDown = kNodePowerDown | kNodePoweringDown | kNodePoweredDown;
    const bool comes_up = (event.flags & kNodePoweringUp) != 0;
    if (!comes_up && (event.flags & kGoesDown) != 0) event.flags |= kNodePowerUp;
    return {};
  }
  // nor is it to come up again
  if ((event.flags & kNodePoweredDown) == 0) event.flags &= ~kNodePowerUp;
  if ((event.flags & kNodePoweringDown) != 0) return {};
  event.flags |= kNodePowerDown;
  // a job that waits for it to wake has it first
  if (node.jobs.empty() || wish.action == NodeAction::kPowerDownForce)
    event.flags &= ~(kNodePoweredDown | kNodePowerUp);
  if (wish.action != NodeAction::kPowerDownAsap) return {};
  event.flags |= kNodeDrain;  // until it goes down
  if (!event.reason.empty()) return {};
  event.reason = "POWER_DOWN_ASAP";
  event.reason_time = event.time;
  event.reason_uid = wish.uid;
  return {};
}

void wake_for_job(Draft& draft, NodeId id, Time now) {
  const Node& node = draft.node(id);
  // it does come
  if ((node.flags & kNodePoweredDown) == 0 || (node.flags & kNodePowerUp) != 0) return;
  NodeStateChanged event = present_state(node, now);
  event.flags |= kNodePowerUp;
  draft.emit(std::move(event));
}

void put_down_left_idle(Draft& draft, const Job& job, const Bitmap& positions, Time now) {
  const ClusterState& state = draft.state();
  if (!saves_power(*state.config)) return;
  const Partition* partition = find_partition(state, job.partition.view());
  if (partition == nullptr || !partition->config->power_down_on_idle) return;
  const Bitmap excepted = excepted_nodes(state);
  const std::vector<std::string> states =
      split_list(config_value(*state.config, "SuspendExcStates"));
  const std::shared_ptr<const Allocation> allocation = job.allocation;
  positions.for_each([&](size_t at) {
    const Node& node = draft.node(allocation->nodes[at].node);
    constexpr NodeFlags kElse = kPower | kNodeDrain | kNodeRebootRequested | kNodeRebootIssued;
    const bool idle = !node.removed && node.base == NodeBaseState::kIdle && node.jobs.empty() &&
                      (node.flags & kElse) == 0;
    if (!idle || excepted.test(node.id) || is_in_excepted_state(node, states)) return;
    NodeStateChanged event = present_state(node, now);
    event.flags |= kNodePowerDown;
    draft.emit(std::move(event));
  });
}

void settle_power(NodeStateChanged& event, bool booted) {
  const bool comes_up = (event.flags & kNodePoweringUp) != 0;
  if ((event.flags & kNodePoweringDown) != 0 || (comes_up && !booted)) return;
  event.flags &= ~kNodeNoRespond;
  if (!comes_up && (event.flags & kNodePoweredDown) == 0) return;
  event.flags &= ~(kNodePoweredDown | kNodePowerUp | kNodePoweringUp);
  event.reboot_issued = kNoTime;
  if (event.base != NodeBaseState::kDown && (event.flags & (kNodeDrain | kNodeFailing)) == 0)
    clear_reason(event);
}

void tick_power(Draft& draft, Time now) {
  const ClusterState& state = draft.state();
  Due due = due_nodes(state, now);
  for (const NodeId id : due.left) release_ended(draft, id, now);
  for (const NodeId id : due.off) end_powering_down(draft, id, now);
  for (const NodeId id : due.late) give_up_waking(draft, id, now);
  if (!saves_power(*state.config)) return end_power_saving(draft, now);
  for (const NodeId id : due.down) put_down(draft, id, now);
  std::vector<NodeId> unused = unused_nodes(state, now);
  if (!unused.empty()) {
    constexpr NodeFlags kDownwards = kNodePoweringDown | kNodePoweredDown;
    unused.resize(std::min(unused.size(), left_of_rate(state, "SuspendRate", 60, kDownwards, now)));
    for (const NodeId id : unused) put_down(draft, id, now);
  }
  if (due.up.empty()) return;
  due.up.resize(
      std::min(due.up.size(), left_of_rate(state, "ResumeRate", 300, kNodePoweringUp, now)));
  for (const NodeId id : due.up) wake(draft, id, now);
}

}  // namespace sluice::state
