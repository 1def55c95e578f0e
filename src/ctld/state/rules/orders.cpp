// Orders to the nodes from a job's state.
#include "ctld/state/rules/orders.hpp"

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
    case JobState::kFailed: return "FAILED (non-zero exit code or other failure mode)";
    default: return {};  // it ended by itself
  }
}

// Without --wait-all-nodes the script begins as soon as its own node has booted, while others still
// do. Prologs of all nodes come first then. Without PrologFlags=DeferBatch it waits for that of its
// own node only, where all have booted.
bool script_may_begin(const Job& job, const Step& script) {
  const size_t nodes = job.allocation->nodes.size();
  const auto host = allocation_position(*job.allocation, script.layout->nodes.front().node);
  if (!host) return false;
  if (is_booting(job)) {
    return !job.spec->wait_all_nodes && !job.preparing.test(boot_position(job, *host)) &&
           job.preparing.find_first() > nodes;
  }
  return job.early_script && !job.preparing.test(nodes) && !job.preparing.test(*host);
}

// PrologSlurmctld runs when the nodes have booted, and their own prologs after it.
bool wants_controller_prolog(const Job& job) {
  return !is_booting(job) && job.preparing.test(job.allocation->nodes.size());
}
bool wants_prologs(const Job& job) { return job.preparing.any() && prologs_may_run(job); }

}  // namespace

// The extern step, and one that PrologFlags=NoHold let be made, wait for a node's prolog at that
// node.
bool step_may_begin(const Job& job, const Step& step) {
  if (job.preparing.none()) return true;
  return step.id.step == kBatchStep ? script_may_begin(job, step) : prologs_may_run(job);
}

LaunchProlog prologs_of(const Job& job) {
  LaunchProlog order{.job = job.id, .restart = job.restart_count};
  job.preparing.for_each([&](size_t at) { order.nodes.set(job.allocation->nodes[at].node); });
  return order;
}

void order_start(const Job& job, const Job* before, Effects& effects) {
  // a suspended job whose launch got lost is launched, too, and stopped then
  const bool active = job.state == JobState::kRunning || job.state == JobState::kSuspended;
  if (!active || job.allocation == nullptr) return;
  if (wants_controller_prolog(job) && (before == nullptr || !wants_controller_prolog(*before))) {
    effects.emplace_back(RunControllerProlog{job.id, job.restart_count});
  }
  if (wants_prologs(job) && (before == nullptr || !wants_prologs(*before)))
    effects.emplace_back(prologs_of(job));
  // the extern step is made after the script's, and should be there first
  for (auto at = job.steps.rbegin(); at != job.steps.rend(); ++at) {
    const Step& step = **at;
    if (step.end != kNoTime || !step_may_begin(job, step) ||
        (before != nullptr && step_may_begin(*before, step)))
      continue;
    effects.emplace_back(LaunchStep{{step.id, job.restart_count}});
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
  if (!is_completing(job)) return;
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
