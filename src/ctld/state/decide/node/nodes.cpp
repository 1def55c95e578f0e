// Nodes come and go: registration, silence, scontrol update NodeName.
#include <algorithm>
#include <csignal>
#include <map>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/os/ending_text.hpp"
#include "common/syntax/node_helpers.hpp"
#include "ctld/state/decide/node/dynamic_nodes.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/node/node_features.hpp"
#include "ctld/state/decide/node/power.hpp"
#include "ctld/state/decide/node/reboot.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/core/describe_equal.hpp"
#include "ctld/state/rules/orders.hpp"
#include "ctld/state/rules/wanted.hpp"

namespace sluice::state {
namespace {

constexpr std::string_view kNotResponding = "Not responding";

void set_down(Draft& draft, NodeId id, std::string_view reason, uint32_t uid, Time now,
              const std::vector<protocol::StepKey>& ended = {}) {
  NodeStateChanged event = present_state(draft.node(id), now);
  event.base = NodeBaseState::kDown;
  if (event.reason.empty() || (event.flags & kNodeDrain) == 0) {
    event.reason = reason;
    event.reason_time = now;
    event.reason_uid = uid;
  }
  draft.emit(std::move(event));
  lose_node(draft, id, now, NodeLoss::kFailed, ended);
}

// What is wrong with what a node found, in Slurm's words; empty: nothing.
std::string misfit(const ClusterConfig& config, const NodeConfig& wanted,
                   const NodeHardware& found) {
  if (has_option(config.slurmd_parameters, "config_overrides")) return {};
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (found.real_memory_mib != 0 && found.real_memory_mib < wanted.real_memory_mib) {
    add("Low RealMemory (reported:" + std::to_string(found.real_memory_mib) +
        " < 100.00% of configured:" + std::to_string(wanted.real_memory_mib) + ")");
  }
  const uint64_t cores = uint64_t{found.sockets} * found.cores_per_socket;
  if (cores != 0 &&
      cores * found.threads_per_core < uint64_t{wanted.cores()} * wanted.threads_per_core) {
    add("Low socket*core*thread count");
  }
  if (found.cpus != 0 && found.cpus < wanted.cpus) add("Low CPUs");
  if (found.tmp_disk_mib < wanted.tmp_disk_mib) add("Low TmpDisk");
  return out;
}

// Too few of a generic resource: also where the configured counts stand for the real ones.
std::string missing_gres(const NodeConfig& wanted, const NodeHardware& found) {
  std::string out;
  std::map<std::string, uint64_t> totals;  // by name, then by name and type
  for (const GresItem& item : gres_items(wanted.gres).value_or(std::vector<GresItem>())) {
    totals[item.name.str()] += item.count;
    if (!item.type.empty()) totals[item.name.str() + ":" + item.type.str()] += item.count;
  }
  for (const auto& [name, count] : totals) {
    const size_t colon = name.find(':');
    const std::string_view type =
        colon == std::string::npos ? std::string_view() : std::string_view(name).substr(colon + 1);
    const uint64_t there = count_devices(found.devices, name.substr(0, colon), type);
    if (there >= count || out.starts_with("gres/" + name.substr(0, colon))) continue;
    out +=
        (out.empty() ? "" : ", ") + ("gres/" + name + " count reported lower than configured (" +
                                     std::to_string(there) + " < " + std::to_string(count) + ")");
  }
  return out;
}

// What is signed at one of them would not hold at the other: whatever is ordered there would fail,
// and the next job come.
std::string wrong_clock(const protocol::RegisterNodeRequest& request) {
  const Duration ahead = request.clock_ahead.value_or(Duration(0));
  const bool wrong =
      ahead > protocol::kMostClockDifference || ahead < -protocol::kMostClockDifference;
  return wrong ? "Clock " + protocol::clock_difference_text(ahead) : std::string();
}

// All that is wrong with a node.
std::string wrong_there(const ClusterConfig& config, const NodeConfig& wanted,
                        const protocol::RegisterNodeRequest& request) {
  std::string wrong = misfit(config, wanted, request.hardware);
  for (const std::string& more : {missing_gres(wanted, request.hardware), wrong_clock(request)}) {
    if (!more.empty()) wrong += (wrong.empty() ? "" : ", ") + more;
  }
  return wrong;
}

bool may_return(const ClusterConfig& config, const Node& node) {
  if (config.return_to_service == 2) return true;
  return config.return_to_service == 1 &&
         (node.reason == kNotResponding || node.reason == kLeftAsleep);
}

// The node's state after it has registered.
void settle_state(Draft& draft, NodeId id, const std::string& wrong, bool rebooted, Time now) {
  const ClusterConfig& config = *draft.state().config;
  const Node& node = draft.node(id);
  NodeStateChanged event = present_state(node, now);
  settle_power(event, rebooted);
  const bool reboots = (event.flags & kNodeRebootIssued) != 0;
  if (!wrong.empty()) {
    event.flags |= kNodeInvalidReg | kNodeDrain;
    if (node.reason.empty() || (node.flags & kNodeInvalidReg) != 0) {
      if (node.reason != wrong) event.reason_time = now;
      event.reason = wrong;
      event.reason_uid = config.slurm_user_id;
    }
  } else if ((event.flags & kNodeInvalidReg) != 0) {
    // put right; an admin's drain came with a reason
    event.flags &= ~(kNodeInvalidReg | kNodeDrain);
    clear_reason(event);
  }
  if (node.base == NodeBaseState::kUnknown) event.base = NodeBaseState::kIdle;
  if (reboots && rebooted) {
    end_reboot(event, now);
  } else if (!reboots && node.base == NodeBaseState::kDown && may_return(config, node)) {
    event.base = NodeBaseState::kIdle;
    if ((event.flags & kNodeDrain) == 0) clear_reason(event);
  }
  const NodeStateChanged before = present_state(node, now);
  if (!described_equal(before, event)) draft.emit(std::move(event));
}

bool has_key(const std::vector<protocol::StepKey>& keys, const protocol::StepKey& key) {
  return std::ranges::find(keys, key) != keys.end();
}

// A node that registers without the cluster's id has lost its spool folder, and with that what it
// knew of scripts that it had begun. One that is not there was lost if it could have been started
// for BatchStartTimeout: to order it again could run it twice. A younger one's order may be on its
// way still; one that waited for this node until now, as the job was `before` this registration,
// was not ordered at all.
bool is_missing(const ClusterState& before, const Job& job, NodeId node,
                const protocol::RegisterNodeRequest& request, Time now) {
  if (!request.cluster_id.empty() || !is_running(job)) return false;
  const Step* script = find_step(job, kBatchStep);
  if (script == nullptr || script->layout->nodes.front().node != node) return false;
  const Job* earlier = before.jobs.find(job.id);
  if (earlier == nullptr || !step_may_begin(*earlier, *script)) return false;
  const protocol::StepKey key{script->id, job.restart_count};
  return script->nodes_left.test(0) && !has_key(request.running, key) &&
         !has_key(request.ended, key) && request.hardware.boot_time <= script->start &&
         now - script->start >= before.config->batch_start_timeout;
}

std::vector<JobId> end_missing(const ClusterState& before, Draft& draft, NodeId node,
                               const protocol::RegisterNodeRequest& request, Time now) {
  const ClusterConfig& config = *draft.state().config;
  std::vector<JobId> missing;
  const std::vector<JobId> jobs = draft.node(node).jobs;
  for (const JobId id : jobs) {
    const Job& job = draft.job(id);
    if (!is_missing(before, job, node, request, now)) continue;
    missing.push_back(id);
    Ending ending{
        .state = JobState::kNodeFail, .reason = JobReason::kNodeDown, .exit_status = SIGTERM};
    ending.failed_node = draft.node(node).name;
    if (may_requeue(config, job)) ending.flags = kJobRequeued;
    complete_job(draft, whole_job(draft, id), ending, now);
  }
  return missing;
}

// Compares what the node runs with what the state says it should. What was not due `before` this
// registration is ordered with its events.
RegisteredReply reconcile(const ClusterState& before, const ClusterState& state, const Node& node,
                          const protocol::RegisterNodeRequest& request, Effects& effects) {
  RegisteredReply reply;
  const auto holds = [&](JobId id) {
    return std::find(node.jobs.begin(), node.jobs.end(), id) != node.jobs.end();
  };
  for (const protocol::StepKey& key : request.running) {
    const Job* job = state.jobs.find(key.id.job);
    const bool ours = job != nullptr && holds(key.id.job) && job->restart_count == key.restart &&
                      find_step(*job, key.id.step) != nullptr;
    if (!ours && !is_outside_jobs(key.id.job)) reply.forget.push_back(key);
  }
  const auto runs_outside = [&](JobId id) {
    return is_outside_jobs(id) &&
           std::ranges::any_of(request.running, [&](const auto& key) { return key.id.job == id; });
  };
  for (const JobId id : request.jobs) {
    if (!holds(id) && !runs_outside(id)) reply.clean.push_back(id);
  }
  for (const JobId id : node.jobs) {
    const Job& job = state.jobs.at(id);
    if (is_completing(job)) {
      TerminateJob order{.job = id, .restart = job.restart_count};
      order.nodes.set(node.id);
      order.timed_out = job.state == JobState::kTimeout;
      effects.emplace_back(std::move(order));
      continue;
    }
    const Job& earlier = before.jobs.at(id);
    if (wants_prolog_on(earlier, node.id)) {
      // the order or its report may have been lost with the agent
      LaunchProlog order{.job = id, .restart = job.restart_count};
      order.nodes.set(node.id);
      effects.emplace_back(std::move(order));
    }
    for (const auto& step : job.steps) {
      const protocol::StepKey key{step->id, job.restart_count};
      if (!step_nodes_left(*step).test(node.id)) continue;
      const bool there = has_key(request.running, key) || has_key(request.ended, key);
      if (!there && step_may_begin(earlier, *step)) {
        // here only: as many nodes may register as the step has
        LaunchStep order{.key = key};
        order.nodes.set(node.id);
        effects.emplace_back(std::move(order));
      }
      if (step->end == kNoTime) continue;
      TerminateStep order{.key = key};  // also of one that is launched only now
      order.nodes.set(node.id);
      effects.emplace_back(std::move(order));
    }
    order_stop_or_go(job, effects);
  }
  return reply;
}

// The highest number that a journal gave which was lost or is newer than this one: the node
// remembers that run, and would take the next job of this id for it. Agents of earlier versions say
// only what they have records of.
protocol::JobNumber strange_job(const ClusterState& state,
                                const protocol::RegisterNodeRequest& request) {
  if (request.last_job.job != kNoJob) {
    const bool given =
        request.last_job < protocol::JobNumber{state.job_id_round, state.next_job_id};
    return given || request.last_job.job > state.config->max_job_id ? protocol::JobNumber{}
                                                                    : request.last_job;
  }
  JobId highest = kNoJob;
  const auto look_at = [&](JobId id) {
    const bool known =
        state.jobs.contains(id) || state.folded.contains(id) || state.arrays.contains(id);
    if (!known && id >= state.next_job_id && id <= state.config->max_job_id)
      highest = std::max(highest, id);
  };
  for (const protocol::StepKey& key : request.running) look_at(key.id.job);
  for (const protocol::StepKey& key : request.ended) look_at(key.id.job);
  for (const JobId id : request.jobs) look_at(id);
  return {highest == kNoJob ? 0 : state.job_id_round, highest};
}

// Jobs that were numbered since this controller's start, before the node could say that ids up to
// `strange` were given: to start them could be a second job under their id. They are held, and
// their reason says it.
void hold_numbered_too_early(Draft& draft, const protocol::JobNumber& strange,
                             std::string_view node, Time now) {
  std::vector<JobId> early;
  const ClusterState& state = draft.state();
  state.pending.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    const protocol::JobNumber number{round_of_job(state, id), id};
    if (job.submit >= state.epoch_start && number <= strange && job.hold == HoldKind::kNone)
      early.push_back(id);
  });
  for (const JobId id : early) {
    draft.emit(
        JobHeld{.job = id,
                .hold = HoldKind::kUser,
                .reason = JobReason::kJobHeldUser,
                .description = fmt::format("JobId used before: {} knows job {}", node, strange.job),
                .time = now,
                .eligible = delay_of_held(draft.job(id), now)});
  }
}

// The node was told another key than the one that launches are signed with now: whoever has put in
// another credential.key is to say that it was meant, before anything that runs there is looked at.
Status check_key(const ClusterState& state, const protocol::RegisterNodeRequest& request) {
  const bool other = !request.credential_key.empty() && !state.credential_key.empty() &&
                     request.credential_key != state.credential_key &&
                     !state.credential_key_changed;
  if (!other || request.cluster_id.empty()) return {};
  return failure(
      ErrorCode::kInvalidCredential,
      "the node knows this cluster by another credential.key: put that one back into StateSaveLocation, or start "
      "the controller once with --new-credential-key");
}

// Orders go to the port that an agent names. One that was started with the name of another node, or
// with a copy of slurm.conf, would get that node's. An agent that was there before the line's Port
// changed stays.
Status check_port(const Node& node, const protocol::RegisterNodeRequest& request) {
  constexpr NodeFlags kLearnt = kNodeCloud | kNodeDynamicNorm | kNodeDynamicFuture;
  const NodeConfig& line = *node.config;
  const uint32_t port = request.hardware.port;
  const bool learnt = (node.flags & kLearnt) != 0 || line.dynamic != DynamicNode::kNo ||
                      line.state == ConfiguredNodeState::kCloud;
  const bool known = node.hardware != nullptr && node.hardware->port == port;
  if (learnt || known || port == 0 || line.port == 0 || port == line.port) return {};
  return failure(
      ErrorCode::kInvalidNodeName,
      fmt::format(
          "node {} is to listen on port {} (slurm.conf of the controller), and this agent on {}: its slurm.conf is "
          "another one, or the node has an agent already",
          node.name, line.port, port));
}

bool is_rebooted(const Node& node, const protocol::RegisterNodeRequest& request) {
  // that of a boot before is what an agent with -b had hidden
  const bool another_boot = node.hardware != nullptr && !node.hardware->boot_id.empty() &&
                            node.hardware->boot_id != request.hardware.boot_id &&
                            request.hardware.boot_time >= node.hardware->boot_time;
  const bool first_boot = node.hardware == nullptr && (node.flags & kNodePoweringUp) != 0;
  return another_boot || first_boot ||
         (node.reboot_issued != kNoTime && request.hardware.boot_time > node.reboot_issued);
}

// How a node comes back that registers.
struct Return {
  bool rebooted = false;
  bool changed = false;                         // given other features, without a reboot
  const std::vector<protocol::StepKey>& ended;  // it kept their reports over the reboot
};

// What its return means to the jobs there; true: it lacks features that a job waits for, and is
// DOWN.
bool note_return(Draft& draft, NodeId id, const Return& how, Time now) {
  const ClusterConfig& config = *draft.state().config;
  const bool expected = (draft.node(id).flags & kNodeRebootIssued) != 0;
  if (expected && (how.rebooted || how.changed)) {
    if (const auto missed = features_missed(draft.node(id))) {
      give_up_reboot(draft, id, "boot failed: not active: " + *missed, now);
      return true;
    }
  }
  if (draft.node(id).jobs.empty()) return false;
  const bool slept = is_asleep(draft.node(id));
  const bool awakes = slept && (how.rebooted || (draft.node(id).flags & kNodePoweredDown) != 0);
  if (how.rebooted) {
    // its processes are gone
    if (!expected && !slept && config.return_to_service != 2) {
      set_down(draft, id, "Node unexpectedly rebooted", config.slurm_user_id, now, how.ended);
    } else {
      lose_node(draft, id, now, expected || slept ? NodeLoss::kRebooted : NodeLoss::kFailed,
                how.ended);
    }
  }
  if (awakes || (expected && (how.rebooted || how.changed))) boot_jobs(draft, id);
  return false;
}

// RebootProgram failed there: true, and the node is DOWN, if it is to reboot still.
bool note_failed_reboot(Draft& draft, NodeId id, const protocol::RegisterNodeRequest& request,
                        Time now) {
  const Node& node = draft.node(id);
  const bool waited_for = (node.flags & kNodeRebootIssued) != 0 && node.reboot_issued != kNoTime &&
                          node.reboot_issued == request.reboot_failed;
  if (!waited_for) return false;
  give_up_reboot(draft, id, "RebootProgram " + ending_text(request.reboot_status), now);
  return true;
}

// slurmd -Z: the node comes into being by its registration.
Status create_registering(Draft& draft, const protocol::RegisterNodeRequest& request, Time now) {
  const auto& line = request.node_line;
  if (line == nullptr || line->name != request.name || line->dynamic != DynamicNode::kRegistered) {
    return failure(ErrorCode::kInvalidNodeName);
  }
  const std::vector<NodeConfig> nodes{*line};
  if (Status ok = check_new_nodes(draft.state(), nodes); !ok) return ok;
  draft.emit(new_nodes(draft.state(), nodes, now));
  return {};
}

// The node that the cluster had under this name and has no more. An agent that never belonged to
// this cluster is not told of it, nor is one that asks for a node to be.
const Node* removed_node(const ClusterState& state, const protocol::RegisterNodeRequest& request) {
  if (request.cluster_id.empty() || request.node_line != nullptr || request.only_claims)
    return nullptr;
  const Node* found = nullptr;
  state.nodes.for_each([&](const Node& node) {
    if (node.removed && node.name == request.name) found = &node;
  });
  return found;
}

// slurmd -F: the host becomes the FUTURE node, or is it already.
Status claim_future(Draft& draft, const protocol::RegisterNodeRequest& request, Time now) {
  const Node& node = *find_node(draft.state(), request.name);
  if (node.base == NodeBaseState::kFuture) {
    NodeStateChanged event = present_state(node, now);
    event.base = NodeBaseState::kUnknown;
    event.flags |= kNodeDynamicFuture;
    const NodeId id = node.id;
    draft.emit(std::move(event));
    draft.emit(NodeRegistered{
        .node = id, .hardware = std::make_shared<NodeHardware>(request.hardware), .time = now});
    return {};
  }
  const bool own = (node.flags & kNodeDynamicFuture) != 0 && node.hardware != nullptr &&
                   node.hardware->host_name == request.hardware.host_name;
  return own ? Status() : failure(ErrorCode::kInvalidState, "node " + node.name + " is taken");
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const RegisterNode& command, Time now) {
  const protocol::RegisterNodeRequest& request = command.node;
  if (!request.cluster_id.empty() && request.cluster_id != state.cluster_id) {
    return failure(ErrorCode::kWrongCluster);
  }
  if (Status ok = check_key(state, request); !ok) return tl::unexpected<Error>(ok.error());
  Draft draft(state);
  if (find_node(state, request.name) == nullptr) {
    if (const Node* removed = removed_node(state, request)) {
      // its jobs lost it: they may run elsewhere
      Effects none;
      RegisteredReply reply = reconcile(state, state, *removed, request, none);
      reply.removed = true;
      return draft.take(std::move(reply));
    }
    if (Status ok = create_registering(draft, request, now); !ok)
      return tl::unexpected<Error>(ok.error());
  }
  if (request.claims_future) {
    if (Status ok = claim_future(draft, request, now); !ok)
      return tl::unexpected<Error>(ok.error());
    if (request.only_claims) return draft.take(RegisteredReply{});
  }
  const Node* node = find_node(draft.state(), request.name);
  if (Status ok = check_port(*node, request); !ok) return tl::unexpected<Error>(ok.error());
  const NodeId id = node->id;
  // one that does not know of its helpers yet registers again when it has read of them in the
  // answer
  const bool knows_helpers =
      request.active_features || managed_features(state.config->helpers, request.name).empty();
  const bool waits_for_features = !knows_helpers && !node->boot_features.empty();
  const bool rebooted = !waits_for_features && is_rebooted(*node, request);
  const bool changed =
      node->reboot_issued != kNoTime && request.features_changed == node->reboot_issued;
  NodeHardware hardware = request.hardware;
  // that it has rebooted is still to be noticed
  if (waits_for_features && node->hardware != nullptr) hardware.boot_id = node->hardware->boot_id;
  const protocol::JobNumber strange = strange_job(draft.state(), request);
  if (strange.job != kNoJob) hold_numbered_too_early(draft, strange, request.name, now);
  if (strange.job != kNoJob || node->hardware == nullptr ||
      !described_equal(*node->hardware, hardware)) {
    draft.emit(NodeRegistered{.node = id,
                              .hardware = std::make_shared<NodeHardware>(std::move(hardware)),
                              .time = now,
                              .strange_job = strange.job,
                              .strange_round = strange.round});
  }
  if (knows_helpers) report_features(draft, id, request.active_features);
  const bool failed =
      note_failed_reboot(draft, id, request, now) ||
      note_return(draft, id, {.rebooted = rebooted, .changed = changed, .ended = request.ended},
                  now);
  const std::string wrong = wrong_there(*state.config, *draft.node(id).config, request);
  if (!failed) settle_state(draft, id, wrong, rebooted || changed, now);
  const std::vector<JobId> missing = end_missing(state, draft, id, request, now);
  Effects effects;
  // the order may have been lost with the agent that got it
  const bool waits =
      (draft.node(id).flags & kNodeRebootIssued) != 0 && !draft.node(id).boot_features.empty();
  if (waits) {
    RebootNow order = reboot_order(id, draft.node(id));
    if (!reboots_from_controller(state, order)) effects.emplace_back(std::move(order));
  }
  RegisteredReply reply = reconcile(state, draft.state(), draft.node(id), request, effects);
  reply.missing = missing;
  reply.strange_job = strange.job;
  Decision decision = draft.take(std::move(reply));
  decision.effects = std::move(effects);
  return decision;
}

Result<Decision> decide_on(const ClusterState& state, const NodesTimedOut& command, Time now) {
  Draft draft(state);
  for (const NodeId id : command.nodes) {
    const Node* node = draft.state().nodes.find(id);
    if (node == nullptr || !expects_agent(*node) || node->base == NodeBaseState::kDown ||
        (node->flags & kNodeRebootIssued) != 0) {
      continue;
    }
    if ((node->flags & kNodeNoRespond) == 0) {
      NodeStateChanged event = present_state(*node, now);
      event.flags |= kNodeNoRespond;
      draft.emit(std::move(event));
    }
    set_down(draft, id, kNotResponding, state.config->slurm_user_id, now);
  }
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const NodesNotResponding& command, Time now) {
  Draft draft(state);
  for (const NodeId id : command.nodes) {
    const Node* node = draft.state().nodes.find(id);
    if (node == nullptr || !expects_agent(*node) || (node->flags & kNodeNoRespond) != 0) continue;
    NodeStateChanged event = present_state(*node, now);
    event.flags |= kNodeNoRespond;
    draft.emit(std::move(event));
  }
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const NodesResponding& command, Time now) {
  Draft draft(state);
  for (const NodeId id : command.nodes) {
    const Node* node = draft.state().nodes.find(id);
    if (node == nullptr || !expects_agent(*node) || (node->flags & kNodeNoRespond) == 0) continue;
    NodeStateChanged event = present_state(*node, now);
    event.flags &= ~kNodeNoRespond;
    draft.emit(std::move(event));
  }
  return draft.take();
}

}  // namespace sluice::state
