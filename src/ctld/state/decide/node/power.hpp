// Power saving: nodes are put down when nobody needs them, and woken by administrators and for
// jobs. The programs of the site's that do it follow from the events (react). Node::reboot_issued
// is the time when the power of such a node began to change last.
#pragma once

#include "common/names/job_states.hpp"
#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

// Why a node is DOWN that slept when power saving was taken out of slurm.conf.
inline constexpr std::string_view kLeftAsleep =
    "Powered down, and power saving was taken out of slurm.conf: start it by hand";

// What is wanted of the power of a node.
struct PowerWish {
  NodeAction action = NodeAction::kPowerUp;
  uint32_t uid = 0;  // who wants it
};
[[nodiscard]] bool is_power_action(NodeAction action);
// scontrol update State=POWER_…: it is noted only, tick_power() does it. kInvalidState: there is no
// program for it.
[[nodiscard]] Status change_power(const ClusterState& state, const PowerWish& wish,
                                  const Node& node, NodeStateChanged& event);
// A job begins on a node that is asleep.
void wake_for_job(Draft& draft, NodeId node, Time now);
// Nodes that the job of such a partition (PowerDownOnIdle) leaves without a job go down, but for
// those that SuspendExc… names and those that are drained.
void put_down_left_idle(Draft& draft, const Job& job, const Bitmap& positions, Time now);
// A node registers; `booted`: since it was told to come up. One that goes down, or is to boot
// first, says nothing by that.
void settle_power(NodeStateChanged& event, bool booted);
// Nodes that are to go down and have no jobs are put down; so are those that have been idle for
// SuspendTime, as many in a minute as SuspendRate says. Those that are to come up are woken. After
// SuspendTimeout a node is powered down; one that has not come up within ResumeTimeout is DOWN.
// Jobs that are over do not wait for nodes that are asleep. Where power saving is no more
// configured, nodes that are asleep are DOWN with that reason until they register, as after a
// silence.
void tick_power(Draft& draft, Time now);

}  // namespace sluice::state
