#include "ctld/state/decide/job/preempt.hpp"

#include <csignal>

#include "common/base/text.hpp"
#include "ctld/state/rules/access.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/limits/accounts.hpp"
#include "ctld/state/limits/billing.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/preemption.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::state {
namespace {

// The job's own --signal at that moment, or what Slurm sends to its steps.
void warn(Draft& draft, JobId id, bool has_grace, Time now) {
  const Job& job = draft.job(id);
  const ClusterConfig& config = *draft.state().config;
  const bool asked_for = has_option(config.preempt_parameters, "send_user_signal");
  // as Slurm had it once
  const bool asked_before = has_option(config.slurmctld_parameters, "preempt_send_user_signal");
  if ((asked_for || asked_before) && job.spec->signal != 0 && !job.signal_sent) {
    return send_own_signal(draft, id, now);
  }
  if (!has_grace || job.state == JobState::kSuspended) return;
  for (const uint32_t signal : {SIGCONT, SIGTERM}) {
    draft.emit(
        JobSignaled{.job = id, .signal = signal, .flags = protocol::kSignalStepsOnly, .time = now});
  }
}

// By what it asks for, whichever nodes it gets: nobody is preempted for it then.
bool is_limited(const ClusterState& state, const Job& job, const Partition& partition, Time now) {
  const Enforced rules = enforced(*state.config);
  const AccountIn in = account_in(state, job, partition, rules);
  if (in.reason) return true;
  const TresAmounts asked = requested_amounts(state, *job.spec, *partition.config);
  const StartToCheck start{&job, in.account.get(), &asked, nullptr,
                           limit_in(job, *partition.config)};
  return why_limited(state, state.accounting.held, start, rules, now).has_value();
}

}  // namespace

void preempt(Draft& draft, const PlannedPreemption& plan, Time now) {
  const ClusterState& state = draft.state();
  const Job* waits = state.jobs.find(plan.preemptor);
  const Job* runs = state.jobs.find(plan.job);
  const Preemptor preemptor{waits, find_partition(state, plan.partition),
                            find_reservation(state, plan.reservation), plan.priority};
  if (runs == nullptr || runs->restart_count != plan.restart || preemptor.partition == nullptr)
    return;
  if (waits == nullptr || waits->state != JobState::kPending ||
      !may_preempt(state, preemptor, *runs, now))
    return;
  if (why_not_admitted(state, *preemptor.partition, *waits->spec)) return;
  if (!is_eligible(*waits, now) || is_limited(state, *waits, *preemptor.partition, now)) return;
  if (is_preempted_by_suspension(state, preemptor, *runs))
    return draft.emit(JobSuspended{.job = runs->id, .time = now, .for_others = true});
  const Duration grace = preempt_grace(state, preemptor, *runs);
  const JobId id = whole_job(draft, runs->id);
  warn(draft, id, grace > Duration(0), now);
  if (grace == Duration(0)) return end_preempted(draft, id, now);
  draft.emit(
      JobPreempted{.job = id, .preemptor = plan.preemptor, .grace_end = now + grace, .time = now});
}

void go_on(Draft& draft, const PlannedResume& plan, Time now) {
  const Job* job = draft.state().jobs.find(plan.job);
  if (job == nullptr || job->restart_count != plan.restart || !job->suspended_for_others ||
      job->state != JobState::kSuspended)
    return;
  for (size_t at = 0; at < job->allocation->nodes.size(); ++at) {
    const NodeAllocation& part = job->allocation->nodes[at];
    const Node& node = draft.node(part.node);
    const bool whole = job->allocation->whole_nodes;
    const bool by_turns =
        draft.state().config->preempt_gang && may_share_again(draft.state(), *job, part);
    const bool taken = node.exclusive || (whole && node.used_cores.any()) ||
                       (node.used_cores.intersects(part.cores) && !by_turns);
    if (!job->released.test(at) && taken) return;
  }
  resume_job(draft, plan.job, now);
}

void end_preempted(Draft& draft, JobId id, Time now) {
  const ClusterState& state = draft.state();
  const Job& job = draft.job(id);
  const Partition* partition = find_partition(state, job.partition.view());
  Ending ending{.state = JobState::kPreempted};
  // those that are spared or suspended otherwise are here as guests of a reservation
  const bool again = partition == nullptr ||
                     preempt_mode_in(state, *partition, qos_of(job)) != PreemptMode::kCancel;
  if (again && may_requeue(*state.config, job)) ending.flags = kJobRequeued;
  complete_job(draft, id, ending, now);
}

}  // namespace sluice::state
