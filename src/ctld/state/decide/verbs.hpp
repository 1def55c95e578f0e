// The overloads behind decide(): one for each command, a file each (or a few that belong together).
#pragma once

#include "ctld/state/decide.hpp"
#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

struct SubmissionCourse;

Result<Decision> decide_on(const ClusterState& state, const SubmitJob& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const UpdateJob& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const SignalJob& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const CancelJobs& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const SignalJobs& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const ChangeJob& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const TopJob& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const NotifyJob& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const EndAllocation& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const ClientGone& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const CreateStep& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const CreateHetStep& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const UpdateNode& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const UpdatePartition& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const CreateNodes& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const DeleteNodes& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const RebootNodes& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const UpdateStep& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const SetTrigger& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const ClearTriggers& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const ReplaceCrontab& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const ChangeReservation& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const ResetUsage& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const EndSteps& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const JobsCleaned& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const PrologDone& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const PrologsDone& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const RegisterNode& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const StartEpoch& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const ReplaceConfig& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const NodesTimedOut& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const NodesNotResponding& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const NodesResponding& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const StartJobs& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const LaunchFailed& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const UsersGroups& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const FollowAccounting& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const AccountingNoticed& command, Time now);
Result<Decision> decide_on(const ClusterState& state, const Tick& command, Time now);

// SubmitJob for jobs that come together: what had to be found out for one of them is in `course`,
// and is not looked for again.
Result<Decision> decide_submission(const ClusterState& state, const SubmitJob& command, Time now,
                                   SubmissionCourse& course);
// Marks the job's line as #DISABLED: it was cancelled (scancel --cron).
void disable_cron_line(Draft& draft, const Job& job);
// Brings nodes into the states of slurm.conf's DownNodes lines, where they are not in them; the
// orders end what runs there.
[[nodiscard]] Effects keep_down(Draft& draft, Time now);

}  // namespace sluice::state
