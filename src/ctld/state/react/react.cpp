// react(): from events to effects.
#include "ctld/state/react.hpp"

#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "common/base/contains.hpp"
#include "common/model/job_age.hpp"
#include "common/protocol/node_failure.hpp"
#include "ctld/state/react/mail.hpp"
#include "ctld/state/rules/orders.hpp"
#include "ctld/state/rules/wanted.hpp"

namespace sluice::state {
namespace {

void tell_waiters(const ClusterState& state, Effects& effects) {
  if (!state.waiting.empty()) effects.emplace_back(RunTick{});
}

void end_of_run(const ClusterState& state, std::shared_ptr<Job> record, JobFlags flags,
                Effects& effects) {
  mail_end(state, record, (flags & kJobRequeued) != 0, effects);
  if (!state.config->epilog_slurmctld.empty() && record->allocation != nullptr) {
    effects.emplace_back(RunControllerEpilog{record});
  }
  effects.emplace_back(JobRecordEnded{std::move(record)});
}

void react_to(const ClusterState& state, const JobSubmitted& event, Effects& effects) {
  const Job* job = state.jobs.find(event.job.id);
  if (job == nullptr) return;
  if (!comes_later(*job)) effects.emplace_back(WakeScheduler{.submitted = true});
  if (job->reason == JobReason::kDependencyNeverSatisfied) mail_invalid_dependency(*job, effects);
}
void react_to(const ClusterState& state, const JobUpdated& event, Effects& effects) {
  effects.emplace_back(JobChanged{event.job, {}});
  effects.emplace_back(WakeScheduler{});
  tell_waiters(state, effects);
}
void react_to(const ClusterState&, const JobHeld& event, Effects& effects) {
  effects.emplace_back(JobChanged{event.job, {}});
}
void react_to(const ClusterState& state, const JobReleased& event, Effects& effects) {
  effects.emplace_back(JobChanged{event.job, {}});
  effects.emplace_back(WakeScheduler{});
  tell_waiters(state, effects);
}
void react_to(const ClusterState&, const JobBecameEligible&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState& state, const JobDependencyChanged& event, Effects& effects) {
  effects.emplace_back(JobChanged{event.job, {}});
  const Job* job = state.jobs.find(event.job);
  if (job != nullptr && event.reason == JobReason::kDependencyNeverSatisfied) {
    mail_invalid_dependency(*job, effects);
  }
}
void react_to(const ClusterState& state, const JobStarted& event, Effects& effects) {
  for (const JobStarted::Start& start : event.starts) {
    const Job* job = state.jobs.find(start.job);
    if (job == nullptr) continue;
    order_start(*job, nullptr, effects);
    effects.emplace_back(JobChanged{start.job, {}});
    mail_start(state, *job, effects);
  }
  tell_waiters(state, effects);  // after:…
}
void react_to(const ClusterState& state, const JobPrepared& event, Effects& effects) {
  const Job* job = state.jobs.find(event.job);
  if (job == nullptr) return;
  if (job->allocation != nullptr) {
    Job before = *job;
    before.preparing |= event.positions;
    if (event.controller) before.preparing.set(job->allocation->nodes.size());
    order_start(*job, &before, effects);
  }
  if (!is_ready(state, *job)) return;
  effects.emplace_back(JobChanged{event.job, {}});
  // who waits, waits for all
  if (is_het_follower(*job)) effects.emplace_back(JobChanged{job->het->leader, {}});
}
void react_to(const ClusterState& state, const JobCompleting& event, Effects& effects) {
  const Job* job = state.jobs.find(event.job);
  if (job == nullptr) return;
  order_end(*job, effects);
  // that of an agent which could not begin a step says so itself
  const bool lost = event.state == JobState::kNodeFail && !event.failed_node.empty();
  effects.emplace_back(JobChanged{
      event.job, lost ? protocol::node_failure(event.failed_node.view()) : std::string()});
  effects.emplace_back(WakeScheduler{});
  if (state.config->preempt_gang) effects.emplace_back(RunTick{});  // the next one has its turn
  auto record = std::make_shared<Job>(*job);
  if (job->state == JobState::kPending) {  // the frame has requeued it already
    record->state = event.state;
    record->reason = event.reason;
    record->exit_status = event.exit_status;
    record->end = event.time;
    record->restart_count -= 1;
    record->start = event.start;
    record->allocation = event.allocation;
  }
  end_of_run(state, std::move(record), event.flags, effects);
}
void react_to(const ClusterState&, const JobNodesReleased&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState& state, const JobEnded& event, Effects& effects) {
  effects.emplace_back(JobChanged{event.job, {}});
  tell_waiters(state, effects);
  const Job* job = state.jobs.find(event.job);
  if (job != nullptr && job->allocation == nullptr) {
    end_of_run(state, std::make_shared<Job>(*job), 0, effects);
  }
}
void react_to(const ClusterState& state, const JobRequeued& event, Effects& effects) {
  effects.emplace_back(JobChanged{event.job, {}});
  tell_waiters(state, effects);
}
void react_to(const ClusterState&, const JobRequeueCancelled& event, Effects& effects) {
  effects.emplace_back(JobChanged{event.job, {}});
}
void react_to(const ClusterState& state, const JobSuspended& event, Effects& effects) {
  if (const Job* job = state.jobs.find(event.job)) order_stop_or_go(*job, effects);
  effects.emplace_back(JobChanged{event.job, {}});
  if (event.time_slice) return;  // nothing becomes free
  effects.emplace_back(WakeScheduler{});
  if (state.config->preempt_gang) effects.emplace_back(RunTick{});
}
void react_to(const ClusterState& state, const JobResumed& event, Effects& effects) {
  if (const Job* job = state.jobs.find(event.job)) order_stop_or_go(*job, effects);
  effects.emplace_back(JobChanged{event.job, {}});
}
void react_to(const ClusterState& state, const JobShrunk& event, Effects& effects) {
  Bitmap nodes;  // of those that are lost the end is ordered with their loss, if there is anybody
  event.nodes.for_each([&](size_t id) {
    const Node& node = state.nodes.at(static_cast<NodeId>(id));
    if (node.base != NodeBaseState::kDown) nodes.set(id);
    else effects.emplace_back(JobChanged{event.job, protocol::node_failure(node.name)});
  });
  if (const Job* job = nodes.any() ? state.jobs.find(event.job) : nullptr) {
    effects.emplace_back(TerminateJob{.job = event.job,
                                      .restart = job->restart_count,
                                      .nodes = std::move(nodes),
                                      .at_once = true,
                                      .message = {}});
  }
  effects.emplace_back(JobChanged{event.job, {}});
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState& state, const ArrayTasksCancelled&, Effects& effects) {
  tell_waiters(state, effects);
}
void react_to(const ClusterState& state, const JobSignaled& event, Effects& effects) {
  const Job* job = state.jobs.find(event.job);
  if (job == nullptr || job->allocation == nullptr) return;
  if (!event.message.empty()) effects.emplace_back(JobChanged{event.job, event.message.str()});
  SignalSteps order;
  order.request.key = {{event.job, event.step}, job->restart_count};
  order.request.signal = event.signal;
  order.request.message = event.message.str();
  order.nodes = held_nodes(*job);
  if (event.step == UINT32_MAX) {
    const bool batch_only = (event.flags & protocol::kSignalBatchOnly) != 0 ||
                            (!event.message.empty() && job->spec->batch);
    order.request.all_steps = !batch_only;
    order.request.not_batch = !batch_only && (event.flags & protocol::kSignalFull) == 0;
    order.request.batch_shell_only = batch_only;
    if (batch_only) order.request.key.id.step = kBatchStep;
  } else if (const Step* step = find_step(*job, event.step); step != nullptr) {
    order.nodes = step_nodes_left(*step);
  }
  effects.emplace_back(std::move(order));
}
void react_to(const ClusterState& state, const JobTerminateResent& event, Effects& effects) {
  if (const Job* job = state.jobs.find(event.job)) order_end(*job, effects);
}
void react_to(const ClusterState& state, const StepCreated& event, Effects& effects) {
  const Job* job = state.jobs.find(event.step->id.job);
  if (job == nullptr || find_step(*job, event.step->id.step) == nullptr) return;
  if (event.step->id.step == kExternStep) return;  // with the start of its job
  effects.emplace_back(LaunchStep{{event.step->id, job->restart_count}});
}
void react_to(const ClusterState& state, const StepEndOrdered& event, Effects& effects) {
  const Job* job = state.jobs.find(event.id.job);
  const Step* step = job == nullptr ? nullptr : find_step(*job, event.id.step);
  if (step != nullptr) order_step_end(*job, *step, event.at_once, effects);
}
void react_to(const ClusterState&, const StepEnded& event, Effects& effects) {
  effects.emplace_back(StepRoomFreed{event.id.job});
}
void react_to(const ClusterState&, const StepNodesEnded& event, Effects& effects) {
  effects.emplace_back(StepRoomFreed{event.id.job});
}
void react_to(const ClusterState& state, const ConfigReplaced&, Effects& effects) {
  effects.emplace_back(reconfigure_all(state));
  effects.emplace_back(WakeScheduler{});
  tell_waiters(state, effects);
}
void react_to(const ClusterState&, const NodeStateChanged& event, Effects& effects) {
  constexpr NodeFlags kPowerChanged = kNodePoweringDown | kNodePoweringUp | kNodePoweredDown;
  if (event.reboot_issued == event.time && (event.flags & kNodeRebootIssued) != 0) {
    effects.emplace_back(reboot_order(event.node, event));
  } else if (event.reboot_issued == event.time && (event.flags & kPowerChanged) != 0) {
    effects.emplace_back(power_order(event.node, event));
  }
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState&, const NodeUpdated&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState&, const NodesCreated&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState& state, const NodesDeleted& event, Effects& effects) {
  EndAgents order;
  state.nodes.for_each([&](const Node& node) {
    const bool answers =
        node.hardware != nullptr && (node.flags & (kNodeNoRespond | kNodePoweredDown)) == 0;
    if (node.removed && answers && contains(event.names, node.name)) order.nodes.set(node.id);
  });
  if (order.nodes.any()) effects.emplace_back(std::move(order));
}
void react_to(const ClusterState&, const ReservationChanged&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState&, const ReservationDeleted&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState&, const ReservationTurned& event, Effects& effects) {
  effects.emplace_back(RunReservationProgram{event.name, event.begins});
}
void react_to(const ClusterState&, const PartitionChanged&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState& state, const JobLimitNear& event, Effects& effects) {
  if (const Job* job = state.jobs.find(event.job)) mail_limit(*job, event.percent, effects);
}
void react_to(const ClusterState&, const TriggerFired& event, Effects& effects) {
  effects.emplace_back(RunTrigger{event.trigger, event.resource});
}
// nobody needs to be told
void react_to(const ClusterState&, const StepUpdated&, Effects&) {}
void react_to(const ClusterState&, const TriggerSet&, Effects&) {}
void react_to(const ClusterState&, const TriggersCleared&, Effects&) {}
void react_to(const ClusterState&, const CrontabReplaced&, Effects&) {}
void react_to(const ClusterState&, const UserGroupsFound&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState&, const AccountingChanged&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState&, const UsageDecayed&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState&, const UsageReset&, Effects& effects) {
  effects.emplace_back(WakeScheduler{});
}
void react_to(const ClusterState&, const EpochStarted&, Effects&) {}
void react_to(const ClusterState&, const StateForgotten&, Effects&) {}
void react_to(const ClusterState&, const ArrayTasksSplit&, Effects&) {}
void react_to(const ClusterState&, const JobPreempted& event, Effects& effects) {
  effects.emplace_back(JobChanged{event.job, {}});
}
void react_to(const ClusterState&, const JobsPurged&, Effects&) {}
void react_to(const ClusterState&, const ArrayTasksFolded&, Effects&) {}
void react_to(const ClusterState&, const NodeRegistered&, Effects&) {}
void react_to(const ClusterState&, const PartitionDeleted&, Effects&) {}

}  // namespace

Effects react(const ClusterState& state, const Event& event) {
  Effects effects;
  std::visit([&](const auto& e) { react_to(state, e, effects); }, event);
  return effects;
}

namespace {

// Which start an order is about, or which array a mail of its end: events of one frame all see the
// job as it is after the last of them.
using StartOrder = std::tuple<size_t, JobId, StepNumber, uint32_t>;
std::optional<StartOrder> start_order(const Effect& effect) {
  if (const auto* own = std::get_if<RunControllerProlog>(&effect))
    return StartOrder{effect.index(), own->job, 0, own->restart};
  if (const auto* prolog = std::get_if<LaunchProlog>(&effect)) {
    return StartOrder{effect.index(), prolog->job, 0, prolog->restart};
  }
  if (const auto* mail = std::get_if<SendMail>(&effect)) {
    if (!mail->whole_array || mail->kind == MailKind::kBegin) return std::nullopt;
    return StartOrder{effect.index(), mail->job->array->array_job, 0, 0};
  }
  const auto* launch = std::get_if<LaunchStep>(&effect);
  if (launch == nullptr) return std::nullopt;
  return StartOrder{effect.index(), launch->key.id.job, launch->key.id.step, launch->key.restart};
}

}  // namespace

Effects react(const ClusterState& state, const Events& frame) {
  if (frame.size() == 1) return react(state, frame.front());
  Effects effects;
  std::set<StartOrder> given;
  for (const Event& event : frame) {
    for (Effect& effect : react(state, event)) {
      const auto order = start_order(effect);
      if (!order || given.insert(*order).second) effects.push_back(std::move(effect));
    }
  }
  return effects;
}

}  // namespace sluice::state
