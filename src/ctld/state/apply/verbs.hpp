// The overloads behind apply(): one for each event, grouped by what they change.
#pragma once

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::state {

void apply_event(ClusterState& state, const EpochStarted& event);
void apply_event(ClusterState& state, const StateForgotten& event);
void apply_event(ClusterState& state, const ConfigReplaced& event);
void apply_event(ClusterState& state, const JobSubmitted& event);
void apply_event(ClusterState& state, const JobUpdated& event);
void apply_event(ClusterState& state, const JobHeld& event);
void apply_event(ClusterState& state, const JobReleased& event);
void apply_event(ClusterState& state, const JobBecameEligible& event);
void apply_event(ClusterState& state, const JobDependencyChanged& event);
void apply_event(ClusterState& state, const ArrayTasksSplit& event);
void apply_event(ClusterState& state, const JobStarted& event);
void apply_event(ClusterState& state, const JobPrepared& event);
void apply_event(ClusterState& state, const JobCompleting& event);
void apply_event(ClusterState& state, const JobNodesReleased& event);
void apply_event(ClusterState& state, const JobEnded& event);
void apply_event(ClusterState& state, const JobRequeued& event);
void apply_event(ClusterState& state, const JobRequeueCancelled& event);
void apply_event(ClusterState& state, const JobSuspended& event);
void apply_event(ClusterState& state, const JobResumed& event);
void apply_event(ClusterState& state, const JobPreempted& event);
void apply_event(ClusterState& state, const JobsPurged& event);
void apply_event(ClusterState& state, const ArrayTasksFolded& event);
void apply_event(ClusterState& state, const JobShrunk& event);
void apply_event(ClusterState& state, const JobSignaled& event);
void apply_event(ClusterState& state, const JobTerminateResent& event);
void apply_event(ClusterState& state, const ArrayTasksCancelled& event);
void apply_event(ClusterState& state, const StepCreated& event);
void apply_event(ClusterState& state, const StepNodesEnded& event);
void apply_event(ClusterState& state, const StepEnded& event);
void apply_event(ClusterState& state, const StepEndOrdered& event);
void apply_event(ClusterState& state, const NodeRegistered& event);
void apply_event(ClusterState& state, const NodeStateChanged& event);
void apply_event(ClusterState& state, const NodeUpdated& event);
void apply_event(ClusterState& state, const PartitionChanged& event);
void apply_event(ClusterState& state, const PartitionDeleted& event);
void apply_event(ClusterState& state, const NodesCreated& event);
void apply_event(ClusterState& state, const NodesDeleted& event);
void apply_event(ClusterState& state, const JobLimitNear& event);
void apply_event(ClusterState& state, const StepUpdated& event);
void apply_event(ClusterState& state, const TriggerSet& event);
void apply_event(ClusterState& state, const TriggersCleared& event);
void apply_event(ClusterState& state, const TriggerFired& event);
void apply_event(ClusterState& state, const CrontabReplaced& event);
void apply_event(ClusterState& state, const UserGroupsFound& event);
void apply_event(ClusterState& state, const ReservationChanged& event);
void apply_event(ClusterState& state, const ReservationDeleted& event);
void apply_event(ClusterState& state, const ReservationTurned& event);
void apply_event(ClusterState& state, const AccountingChanged& event);
void apply_event(ClusterState& state, const UsageDecayed& event);
void apply_event(ClusterState& state, const UsageReset& event);

// Notes that `id` is taken: the next id to try is the one after it.
void note_job_id(ClusterState& state, JobId id);
// Gives array tasks records of their own, made from the one that holds the pending ones.
void split_tasks(ClusterState& state, JobId record,
                 const std::vector<ArrayTasksSplit::Task>& tasks);

}  // namespace sluice::state
