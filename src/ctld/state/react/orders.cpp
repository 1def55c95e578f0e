// Orders to the nodes from a job's state.
#include "ctld/state/react/orders.hpp"

namespace sluice::state {
namespace {

constexpr uint32_t kContinue = 18, kStop = 19;  // SIGCONT and SIGSTOP

std::string why_ended(const Job& job) {
  switch (job.state) {
    case JobState::kTimeout: return "CANCELLED DUE TO TIME LIMIT";
    case JobState::kPreempted: return "CANCELLED DUE TO PREEMPTION";
    case JobState::kBootFail:
    case JobState::kNodeFail: return "CANCELLED DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS";
    case JobState::kCancelled:
      return (job.flags & kJobRequeued) != 0 ? "CANCELLED DUE TO JOB REQUEUE" : "CANCELLED";
    default: return {};  // it ended by itself
  }
}

// Without --wait-all-nodes the script begins as soon as its own node has booted, while others still do. Prologs of all
// nodes come first in any case.
bool begins_while_booting(const Job& job) {
  const Step* script = find_step(job, kBatchStep);
  if (script == nullptr || job.spec->wait_all_nodes) return false;
  const size_t nodes = job.allocation->nodes.size();
  const auto host = allocation_position(*job.allocation, script->layout->nodes.front().node);
  return host && !job.preparing.test(boot_position(job, *host)) && job.preparing.find_first() > nodes;
}

}  // namespace

void order_start(const Job& job, Effects& effects) {
  // a suspended job whose launch got lost is launched, too, and stopped then
  const bool active = job.state == JobState::kRunning || job.state == JobState::kSuspended;
  if (!active || job.allocation == nullptr) return;
  const size_t controller = job.allocation->nodes.size();
  if (is_booting(job)) {
    if (begins_while_booting(job)) effects.emplace_back(LaunchStep{{{job.id, kBatchStep}, job.restart_count}});
    return;
  }
  if (job.preparing.test(controller)) {
    effects.emplace_back(RunControllerProlog{job.id, job.restart_count});
    return;  // the nodes' turn comes after it
  }
  if (job.preparing.any()) {
    effects.emplace_back(LaunchProlog{job.id, job.restart_count});
    return;
  }
  if (find_step(job, kBatchStep) != nullptr) {
    effects.emplace_back(LaunchStep{{{job.id, kBatchStep}, job.restart_count}});
  }
}

void order_stop_or_go(const Job& job, Effects& effects) {
  if (job.suspended_at == kNoTime || is_terminal(job.state) || job.allocation == nullptr) return;
  SignalSteps order;
  order.request.key = {{job.id, UINT32_MAX}, job.restart_count};
  order.request.signal = job.state == JobState::kSuspended ? kStop : kContinue;
  order.request.all_steps = true;
  order.request.issued = job.suspended_at;
  order.nodes = held_nodes(job);
  effects.emplace_back(std::move(order));
}

void order_end(const Job& job, Effects& effects) {
  if ((job.flags & kJobCompleting) == 0) return;
  TerminateJob order{.job = job.id, .restart = job.restart_count, .nodes = held_nodes(job)};
  if (order.nodes.none()) return;
  order.timed_out = job.state == JobState::kTimeout;
  order.message = why_ended(job);
  effects.emplace_back(std::move(order));
}

Bitmap step_nodes_left(const Step& step) {
  Bitmap nodes;
  step.nodes_left.for_each([&](size_t at) { nodes.set(step.layout->nodes[at].node); });
  return nodes;
}

void order_step_end(const Job& job, const Step& step, bool at_once, Effects& effects) {
  effects.emplace_back(TerminateStep{{step.id, job.restart_count}, step_nodes_left(step), at_once});
}

}  // namespace sluice::state
