// Reboots of nodes, as far as several verbs have to do with them.
#pragma once

#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

// Nodes that were to be rebooted and have no jobs left are told to; those that have not come back
// within ResumeTimeout are DOWN.
void issue_reboots(Draft& draft, Time now);
// The node as it is once its agent is told to reboot.
[[nodiscard]] NodeStateChanged reboot_issued(const Node& node, uint32_t uid, Time now);
// The node has not come back, or not as it should: it is DOWN, and lost to the jobs that wait for
// it.
void give_up_reboot(Draft& draft, NodeId node, const std::string& reason, Time now);
// No reboot is under way or wanted any more.
void forget_reboot(NodeStateChanged& event);
// The node has come back: its state afterwards.
void end_reboot(NodeStateChanged& event, Time now);
// scontrol cancel_reboot. kInvalidState: none was asked for, or it has been issued.
[[nodiscard]] Status cancel_reboot(const Node& node, NodeStateChanged& event);

// May the job's start reboot its nodes: asked for by an administrator, and there is a program for
// it?
[[nodiscard]] bool reboots_nodes(const ClusterState& state, const JobSpec& spec);
// Does the job wait for this node's reboot (--reboot), or for features there?
[[nodiscard]] bool waits_for_boot(const Job& job, NodeId node);
// The node is there for those that do.
void boot_jobs(Draft& draft, NodeId node);

}  // namespace sluice::state
