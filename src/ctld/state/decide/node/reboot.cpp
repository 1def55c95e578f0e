// scontrol reboot and cancel_reboot; the reboots that are due, late, or over.
#include "ctld/state/decide/node/reboot.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {
namespace {

constexpr std::string_view kRequested = "reboot requested";

// "a fan is loud : reboot issued"
void add_to_reason(NodeStateChanged& event, std::string_view what, uint32_t uid, Time now) {
  const std::string before = event.reason.str();
  event.reason = before.empty() ? std::string(what) : before + " : " + std::string(what);
  if (!before.empty()) return;
  event.reason_time = now;
  event.reason_uid = uid;
}

void request_reboot(Draft& draft, NodeId id, const RebootNodes& command, Time now) {
  const Node& node = draft.node(id);
  constexpr NodeFlags kAsked = kNodeRebootRequested | kNodeRebootIssued;
  // what is powered down boots anyway
  if (!expects_agent(node) || (node.flags & kAsked) != 0) return;
  const protocol::RebootNodesRequest& request = command.request;
  NodeStateChanged event = present_state(node, now);
  event.flags |= kNodeRebootRequested;
  event.after_reboot = request.after;
  if (request.asap) {
    // who was drained before stays so afterwards
    if ((node.flags & kNodeDrain) == 0 && request.after == AfterReboot::kAsBefore)
      event.after_reboot = AfterReboot::kResume;
    event.flags |= kNodeDrain;
  }
  if (!request.reason.empty() || event.reason.empty()) {
    const std::string_view own = request.asap ? std::string_view("Reboot ASAP") : kRequested;
    event.reason = request.reason.empty() ? std::string(own) : request.reason;
    event.reason_time = now;
    event.reason_uid = command.who.uid;
  }
  draft.emit(std::move(event));
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const RebootNodes& command, Time now) {
  if (!is_admin(state, command.who.uid))
    return failure(ErrorCode::kAccessDenied, "Permission denied");
  if (state.config->reboot_program.empty()) return failure(ErrorCode::kDisabled);
  Bitmap nodes;
  if (iequals(command.request.nodes, "all")) {
    for (const auto& [name, id] : *state.node_names) nodes.set(id);
  } else {
    auto named = resolve_nodes(state, command.request.nodes);
    if (!named) return failure(ErrorCode::kInvalidNodeName);
    nodes = std::move(*named);
  }
  Draft draft(state);
  nodes.for_each([&](size_t at) {
    const auto id = static_cast<NodeId>(at);
    request_reboot(draft, id, command, now);
    const bool waits = (draft.node(id).flags & kNodeRebootRequested) != 0;
    if (command.request.force && waits) lose_node(draft, id, now);  // then it is due
  });
  issue_reboots(draft, now);
  return draft.take();
}

Status cancel_reboot(const Node& node, NodeStateChanged& event) {
  if ((node.flags & kNodeRebootRequested) == 0) return failure(ErrorCode::kInvalidState);
  event.flags &= ~kNodeRebootRequested;
  if (node.after_reboot != AfterReboot::kAsBefore) event.flags &= ~kNodeDrain;
  if ((event.flags & kNodeDrain) == 0) clear_reason(event);
  event.after_reboot = AfterReboot::kAsBefore;
  return {};
}

NodeStateChanged reboot_issued(const Node& node, uint32_t uid, Time now) {
  NodeStateChanged event = present_state(node, now);
  event.flags &= ~kNodeRebootRequested;
  event.flags |= kNodeRebootIssued;
  event.reboot_issued = now;
  add_to_reason(event, "reboot issued", uid, now);
  return event;
}

void issue_reboots(Draft& draft, Time now) {
  std::vector<NodeId> due, late;
  const ClusterConfig& config = *draft.state().config;
  draft.state().nodes.for_each([&](const Node& node) {
    if (node.removed) return;
    const bool issued = (node.flags & kNodeRebootIssued) != 0;
    if (!issued && (node.flags & kNodeRebootRequested) != 0 && node.jobs.empty())
      due.push_back(node.id);
    const Duration limit =
        node.boot_features.empty() ? config.resume_timeout : config.helpers.boot_time;
    // what comes back while no controller runs cannot say so before the next one does
    const Time since = std::max(node.reboot_issued, draft.state().epoch_start);
    if (issued && since + limit <= now) late.push_back(node.id);
  });
  for (const NodeId id : due) {
    NodeStateChanged event = reboot_issued(draft.node(id), config.slurm_user_id, now);
    event.base = NodeBaseState::kDown;
    draft.emit(std::move(event));
  }
  for (const NodeId id : late) give_up_reboot(draft, id, "reboot timed out", now);
}

void give_up_reboot(Draft& draft, NodeId id, const std::string& reason, Time now) {
  NodeStateChanged event = present_state(draft.node(id), now);
  forget_reboot(event);
  event.base = NodeBaseState::kDown;
  event.reason = reason;
  event.reason_time = now;
  event.reason_uid = draft.state().config->slurm_user_id;
  draft.emit(std::move(event));
  lose_node(draft, id, now, NodeLoss::kBootFailed);
}

void forget_reboot(NodeStateChanged& event) {
  event.flags &= ~(kNodeRebootIssued | kNodeRebootRequested);
  event.after_reboot = AfterReboot::kAsBefore;
  constexpr NodeFlags kPowerChanged = kNodePoweringDown | kNodePoweredDown | kNodePoweringUp;
  // else it is the time of that
  if ((event.flags & kPowerChanged) == 0) event.reboot_issued = kNoTime;
  event.boot_features = {};
  event.boot_if_needed = false;
}

void end_reboot(NodeStateChanged& event, Time now) {
  event.base = NodeBaseState::kIdle;
  if (event.after_reboot == AfterReboot::kResume) event.flags &= ~(kNodeDrain | kNodeFailing);
  if (event.after_reboot == AfterReboot::kDown) {
    event.base = NodeBaseState::kDown;
    add_to_reason(event, "reboot complete", event.reason_uid, now);
  } else if ((event.flags & (kNodeDrain | kNodeFailing)) == 0) {
    clear_reason(event);
  }
  forget_reboot(event);
}

void boot_jobs(Draft& draft, NodeId id) {
  const std::vector<JobId> jobs = draft.node(id).jobs;
  for (const JobId job_id : jobs) {
    const Job& job = draft.job(job_id);
    const auto position = allocation_position(*job.allocation, id);
    if (!position || !job.preparing.test(boot_position(job, *position))) continue;
    Bitmap booted;
    booted.set(boot_position(job, *position));
    draft.emit(JobPrepared{.job = job_id, .positions = std::move(booted), .controller = false});
  }
}

bool reboots_nodes(const ClusterState& state, const JobSpec& spec) {
  return spec.reboot && !state.config->reboot_program.empty() && is_admin(state, spec.uid);
}

bool waits_for_boot(const Job& job, NodeId node) {
  if (job.allocation == nullptr || job.preparing.none()) return false;
  const auto position = allocation_position(*job.allocation, node);
  return position && job.preparing.test(boot_position(job, *position));
}

}  // namespace sluice::state
