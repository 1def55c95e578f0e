// resume(): after a restart, everything that is under way is ordered again; the nodes know what
// they have done already.
#include "ctld/state/react.hpp"
#include "ctld/state/rules/orders.hpp"

namespace sluice::state {

Effects resume(const ClusterState& state) {
  Effects effects;
  state.nodes.for_each([&](const Node& node) {
    if (node.removed) return;
    if ((node.flags & kNodeRebootIssued) != 0) effects.emplace_back(reboot_order(node.id, node));
    // whether the program has run is not known; it is run again
    if ((node.flags & (kNodePoweringDown | kNodePoweringUp)) != 0)
      effects.emplace_back(power_order(node.id, node));
  });
  state.active.for_each([&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    if (is_completing(job)) {
      order_end(job, effects);
      return;
    }
    order_start(job, nullptr, effects);
    // from now on its client is waited for
    if (job.spec->attended) effects.emplace_back(JobChanged{id, {}});
    order_stop_or_go(job, effects);
    for (const auto& step : job.steps) {
      if (step->end != kNoTime) order_step_end(job, *step, false, effects);
    }
  });
  effects.emplace_back(WakeScheduler{});
  effects.emplace_back(RunTick{});
  return effects;
}

}  // namespace sluice::state
