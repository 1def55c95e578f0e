// Reports of the nodes about steps and jobs: ended, cleaned, prolog done, launch failed. Reports
// come at least once and in any order; what is stale or known already changes nothing.
#include <algorithm>
#include <csignal>

#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {
namespace {

// NodeIds of a host list; names that are not configured (any more) are left out.
Bitmap known_nodes(const ClusterState& state, std::string_view host_list) {
  if (const Node* one = find_node(state, host_list)) {
    Bitmap nodes;
    nodes.set(one->id);
    return nodes;
  }
  const auto all = resolve_nodes(state, host_list);
  return all ? *all : Bitmap();
}

// What a node is drained for. A report that is older than the end of the node's last drain is a
// repetition.
void blame(Draft& draft, const Bitmap& nodes, std::string_view reason, Time happened, Time now) {
  nodes.for_each([&](size_t at) {
    const auto id = static_cast<NodeId>(at);
    if (happened != kNoTime && happened <= draft.node(id).undrained) return;
    drain_node(draft, id, reason, draft.state().config->slurm_user_id, now);
  });
}

Bitmap step_positions(const Step& step, const Bitmap& nodes) {
  Bitmap positions;
  for (size_t at = 0; at < step.layout->nodes.size(); ++at) {
    if (nodes.test(step.layout->nodes[at].node)) positions.set(at);
  }
  return positions;
}

// The job when it still holds nodes in the run that the report is about.
const Job* live_job(const ClusterState& state, JobId id, uint32_t restart) {
  const Job* job = state.jobs.find(id);
  if (job == nullptr || !state.active.contains(id) || job->restart_count != restart) return nullptr;
  return job;
}

Ending queued_again_held() {
  return Ending{.state = JobState::kFailed,
                .reason = JobReason::kJobLaunchFailure,
                .flags = kJobRequeued | kJobRequeueHold | kJobLaunchFailed};
}

// The node could not start the job: it is queued again and held, unless it may run only once; then
// it failed for `reason`.
Ending failed_launch(const ClusterState& state, const Job& job, JobReason reason) {
  if (!may_requeue(*state.config, job)) {
    return Ending{
        .state = JobState::kFailed, .reason = reason, .exit_status = protocol::kLaunchFailedStatus};
  }
  return queued_again_held();
}

// The script did not begin.
Ending unlaunched(const ClusterState& state, const Job& job, const protocol::StepEnded& report) {
  Ending ending = failed_launch(state, job, JobReason::kJobLaunchFailure);
  if (report.users_error) {  // another try, or another node, would not help
    ending.flags = 0;
    ending.exit_status = report.exit_status;
  }
  if (ending.flags == 0 || report.failure == protocol::kUsedJobId)
    ending.description = report.failure;
  return ending;
}

// Its tasks ran, and then the step daemon died under them: as when the node is lost.
bool daemon_died(const protocol::StepEnded& report) {
  return !report.failure.empty() && report.exit_status == SIGKILL;
}

void batch_step_over(Draft& draft, const protocol::StepEnded& report, Time now) {
  const Job& job = draft.job(report.key.id.job);
  if (!is_running(job)) return;
  Ending ending = ending_of_exit(*draft.state().config, job, report.exit_status);
  if (report.out_of_memory) {
    ending = ending_of_exit(*draft.state().config, job, protocol::kOutOfMemoryStatus);
  }
  if (!report.failure.empty()) ending = unlaunched(draft.state(), job, report);
  if (daemon_died(report)) {
    ending = Ending{.state = JobState::kNodeFail,
                    .reason = JobReason::kNodeDown,
                    .exit_status = report.exit_status};
    ending.failed_node = report.nodes;
    ending.description = report.failure;
    if (may_requeue(*draft.state().config, job)) ending.flags = kJobRequeued;
  }
  complete_job(draft, job.id, ending, now);
}

// The job that an srun has for its step alone ends with that srun, wherever it died without ending
// it.
void srun_over(Draft& draft, JobId id, Time now) {
  const Job& job = draft.job(whole_job(draft, id));
  if (!is_running(job) || job.spec->batch) return;
  complete_job(draft, job.id,
               {.state = JobState::kCancelled, .by = draft.state().config->slurm_user_id}, now);
}

// A report may have waited: for its agent, or for this controller.
Time time_of_end(const Job& job, const Step& step, const protocol::StepEnded& report, Time now) {
  if (report.happened == kNoTime) return now;
  const Time first = std::max({job.start, step.start, job.suspended_at});
  return std::min(std::max(report.happened, first), now);
}

void step_report(Draft& draft, const protocol::StepEnded& report, Time now) {
  const Bitmap nodes = known_nodes(draft.state(), report.nodes);
  if (report.drain_node) {
    blame(draft, nodes, report.failure.empty() ? "Kill task failed" : report.failure,
          report.happened, now);
  }
  const StepId id = report.key.id;
  const Job* job = live_job(draft.state(), id.job, report.key.restart);
  if (job == nullptr) return;
  const Step* step = find_step(*job, id.step);
  if (step != nullptr) {
    const int32_t status =
        report.failure.empty() || report.exit_status != 0 ? report.exit_status : 1 << 8;
    StepPartsEnd end{step_positions(*step, nodes), status, report.out_of_memory, {}};
    if (report.usage != protocol::StepUsage{}) end.usage = report.usage;
    const bool ends_job = report.srun_ended && step->spec != nullptr && step->spec->own_job;
    // one node's word may be about its own connection alone
    const bool spares_nodes = ends_job && step->spec->no_kill;
    const Time ended = time_of_end(*job, *step, report, now);
    end_step_parts(draft, id, end, ended);
    const bool over = find_step(draft.job(id.job), id.step) == nullptr;
    if (over && id.step == kBatchStep) batch_step_over(draft, report, ended);
    if (ends_job && (over || !spares_nodes)) srun_over(draft, id.job, now);
  }
  // what the node says about being clean counts once the job is over
  const Job& after = draft.job(id.job);
  if (report.node_clean && is_completing(after)) {
    release_nodes(draft, id.job, allocation_positions(after, nodes), now);
  }
}

void failed_prolog(Draft& draft, const PrologDone& report, Time now) {
  const JobId whole = whole_job(draft, report.job);
  const ClusterConfig& config = *draft.state().config;
  if (report.nodes.empty()) {  // no node is to blame for PrologSlurmctld: queued again, not held
    Ending ending{
        .state = JobState::kCancelled, .reason = JobReason::kProlog, .by = config.slurm_user_id};
    if (may_requeue(config, draft.job(whole))) ending.flags = kJobRequeued;
    return complete_job(draft, whole, ending, now);
  }
  // a batch job is queued again, held like one that could not be launched unless the site says no
  const Job& failed = draft.job(whole);
  const bool forced = failed.spec->batch && has_option(config.prolog_flags, "ForceRequeueOnFail");
  Ending ending =
      forced ? queued_again_held() : failed_launch(draft.state(), failed, JobReason::kProlog);
  if (has_option(config.scheduler_parameters, "nohold_on_prolog_fail"))
    ending.flags &= kJobRequeued;
  complete_job(draft, whole, ending, now);
}

void prolog_report(Draft& draft, const PrologDone& report, Time now) {
  const Bitmap nodes = known_nodes(draft.state(), report.nodes);
  if (report.status != 0) {
    // whatever became of the job meanwhile: agents kill no prolog but one that takes too long
    blame(draft, nodes, "Prolog error", report.happened, now);
  }
  const Job* job = live_job(draft.state(), report.job, report.restart);
  if (job == nullptr || !is_running(*job)) return;
  if (report.status != 0) return failed_prolog(draft, report, now);
  Bitmap positions = allocation_positions(*job, nodes) & job->preparing;
  const bool controller =
      report.nodes.empty() && job->preparing.test(job->allocation->nodes.size());
  if (positions.none() && !controller) return;
  draft.emit(
      JobPrepared{.job = report.job, .positions = std::move(positions), .controller = controller});
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const EndSteps& command, Time now) {
  Draft draft(state);
  for (const protocol::StepEnded& report : command.ended) step_report(draft, report, now);
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const JobsCleaned& command, Time now) {
  Draft draft(state);
  for (const protocol::JobCleaned& report : command.cleaned) {
    const Bitmap nodes = known_nodes(draft.state(), report.nodes);
    if (report.kill_failed || report.epilog_status != 0) {
      blame(draft, nodes, report.kill_failed ? "Kill task failed" : "Epilog error", report.happened,
            now);
    }
    const Job* job = live_job(draft.state(), report.job, report.restart);
    if (job == nullptr || !is_completing(*job)) continue;
    release_nodes(draft, report.job, allocation_positions(*job, nodes), now);
  }
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const PrologDone& command, Time now) {
  Draft draft(state);
  prolog_report(draft, command, now);
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const PrologsDone& command, Time now) {
  Draft draft(state);
  for (const PrologDone& report : command.reports) prolog_report(draft, report, now);
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const LaunchFailed& command, Time now) {
  Draft draft(state);
  protocol::StepEnded report;
  report.key = command.key;
  report.nodes = command.nodes;
  report.failure = command.reason.empty() ? "launch failed" : command.reason;
  report.drain_node = command.drain_node;
  step_report(draft, report, now);
  return draft.take();
}

}  // namespace sluice::state
