// The scheduler's plan becomes starts, each checked again.
#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "ctld/fit/needs.hpp"
#include "ctld/state/rules/access.hpp"
#include "ctld/state/rules/node_groups.hpp"
#include "ctld/state/limits/accounts.hpp"
#include "ctld/state/rules/batch_host.hpp"
#include "ctld/state/limits/billing.hpp"
#include "ctld/state/limits/soft_qos.hpp"
#include "ctld/state/decide/job/gang.hpp"
#include "ctld/state/decide/job/job_ids.hpp"
#include "ctld/state/decide/node/node_features.hpp"
#include "ctld/state/decide/node/power.hpp"
#include "ctld/state/decide/job/preempt.hpp"
#include "ctld/state/decide/node/reboot.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/decide/draft.hpp"
#include "ctld/state/rules/step/extern_step.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/licenses.hpp"
#include "ctld/state/rules/preemption.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::state {
namespace {

// A start that is possible, and what of its nodes has to change for it.
struct CheckedStart {
  JobStarted event;
  std::vector<FeatureChange> changes;
};

// The plan was made of an older state. A job that was updated since may ask for other nodes, CPUs,
// memory or devices than were chosen for it: the next pass chooses again.
bool asks_for_the_same(const PlannedStart& plan, const Job& job) {
  return plan.spec == nullptr || plan.spec == job.spec || fit::same_demand(*plan.spec, *job.spec);
}

// In the soft QOS it is in the limits of that one alone; nullopt: these do not let it start.
std::optional<std::shared_ptr<const JobAccount>> charged_softly(const ClusterState& state,
                                                                const StartToCheck& hard,
                                                                const Partition& partition,
                                                                JobReason limit, Time now) {
  const QosRecord* soft = find_soft_qos(state);
  if (soft == nullptr || !may_be_exceeded(limit)) return std::nullopt;
  if (!why_not_softly(state, *hard.job, partition, *soft).empty()) return std::nullopt;
  auto account = soft_account(*hard.job, *hard.account, *soft);
  StartToCheck start = hard;
  start.account = account.get();
  if (why_limited(state, state.accounting.held, start, enforced(*state.config), now))
    return std::nullopt;
  return account;
}

// Whom it is charged to there; nullopt: an account or a limit does not let it start.
std::optional<std::shared_ptr<const JobAccount>> charged_account(const ClusterState& state,
                                                                 const Job& job,
                                                                 const Partition& partition,
                                                                 const PlannedStart& plan,
                                                                 Minutes limit, Time now) {
  const Enforced rules = enforced(*state.config);
  const AccountIn in = account_in(state, job, partition, rules);
  if (in.reason) return std::nullopt;
  if (in.account == nullptr) return in.account;
  const TresAmounts tres = allocated_amounts(state, *job.spec, *partition.config, *plan.allocation);
  const TresAmounts of_node = largest_of_nodes(state.accounting, *plan.allocation);
  const StartToCheck start{&job, in.account.get(), &tres, &of_node, limit, plan.allocation.get()};
  const auto limited = why_limited(state, state.accounting.held, start, rules, now);
  if (!limited) return in.account;
  return plan.softly ? charged_softly(state, start, partition, *limited, now) : std::nullopt;
}

// Nothing when the start is no longer possible.
std::optional<CheckedStart> check_start(const ClusterState& state, const PlannedStart& plan,
                                        const LicensePool& licenses, BeginningJobs& beginning,
                                        Time now) {
  const Job* job = state.jobs.find(plan.job);
  const Partition* partition = find_partition(state, plan.partition);
  if (job == nullptr || partition == nullptr || plan.allocation == nullptr) return std::nullopt;
  if (!is_eligible(*job, now) || is_too_late(*job, now)) return std::nullopt;
  if (!asks_for_the_same(plan, *job)) return std::nullopt;
  const bool array = job->array != nullptr && job->array->task == kNoTask;
  if (array != (plan.task != kNoTask)) return std::nullopt;
  if (array && !job->array->pending.contains(plan.task)) return std::nullopt;
  if (job->array != nullptr && job->array->max_running != 0 &&
      state.arrays.at(job->array->array_job).running >= job->array->max_running) {
    return std::nullopt;
  }
  if (why_not_admitted(state, *partition, *job->spec)) return std::nullopt;
  if (!fits(state, *job, *partition, *plan.allocation)) return std::nullopt;
  if (!groups_are_open(state, *job, *partition, *plan.allocation)) return std::nullopt;
  auto changes = feature_changes(state, *job->spec, *plan.allocation);
  if (!changes) return std::nullopt;

  JobStarted event;
  event.record = plan.job;
  event.partition = partition->config->name;
  event.time_limit = limit_in(*job, *partition->config);
  if (plan.time_limit != 0 && plan.time_limit < event.time_limit) {
    if (job->spec->time_min == 0 || plan.time_limit < job->spec->time_min) return std::nullopt;
    event.time_limit = plan.time_limit;
  }
  const Time end = planned_end(now, event.time_limit);
  const LicenseUse use{find_reservation(state, plan.reservation), end};
  if (!licenses.lacking(*job->spec, use).empty()) return std::nullopt;
  const auto account = charged_account(state, *job, *partition, plan, event.time_limit, now);
  if (!account) return std::nullopt;
  if (*account != job->account) event.account = *account;
  if (runs_softly(account->get())) {
    const QosRecord* soft = state.accounting.qos.find((*account)->qos);
    event.soft_qos = soft->name;
  }
  if (!beginning.may_begin(*job, plan.reservation, *plan.allocation, end)) return std::nullopt;
  const PlannedUse of_nodes{use.own, now, end, leaves_within(*job->spec)};
  if (!leaves_reserved_counts(state, of_nodes, plan.allocation->nodes, now)) return std::nullopt;
  event.reservation = plan.reservation;
  event.time = now;
  event.end =
      event.time_limit == kInfiniteMinutes ? kNever : now + std::chrono::minutes(event.time_limit);
  const ClusterConfig& config = *state.config;
  event.prolog = !config.prolog.empty() && has_option(config.prolog_flags, "Alloc");
  event.early_script = event.prolog && !has_option(config.prolog_flags, "DeferBatch");
  event.controller_prolog = !config.prolog_slurmctld.empty();
  event.reboot = reboots_nodes(state, *job->spec);
  event.preempt_exempt =
      preempt_exempt_in(state, *partition, *account == nullptr ? qos_of(*job) : (*account)->qos);
  event.priority = plan.priority;
  JobId id = plan.job;
  if (array && job->array->pending.size() > 1) {
    const auto next = free_job_id(state, state.next_job_id);
    if (!next) return std::nullopt;
    id = *next;
  }
  JobStarted::Start start{.task = plan.task, .job = id, .allocation = plan.allocation};
  if (*account != nullptr)
    start.charge = charge_of(state, *job->spec, *partition->config, *plan.allocation, **account);
  for (const FeatureChange& change : *changes) start.booting.set(change.position);
  if (job->spec->batch && !is_het_follower(*job))
    start.batch = batch_part(state, *job->spec, *plan.allocation);
  for (size_t at = 0; at < plan.allocation->nodes.size(); ++at) {
    if (is_asleep(state.nodes.at(plan.allocation->nodes[at].node))) start.booting.set(at);
  }
  event.starts.push_back(std::move(start));
  return CheckedStart{std::move(event), std::move(*changes)};
}

// The job starts; its nodes are woken where they are asleep, and told to reboot where it asks for
// that or needs features that they do not have now.
void start(Draft& draft, const CheckedStart& checked, Time now) {
  const std::shared_ptr<const Allocation> allocation = checked.event.starts.front().allocation;
  const uint32_t uid = draft.state().config->slurm_user_id;
  draft.emit(checked.event);
  if (has_extern_step(*draft.state().config)) {
    draft.emit(
        StepCreated{make_extern_step(draft.state(), draft.job(checked.event.starts.front().job))});
  }
  auto change = checked.changes.begin();
  for (size_t at = 0; at < allocation->nodes.size(); ++at) {
    const Node& node = draft.node(allocation->nodes[at].node);
    if (is_asleep(node)) {  // and is rebooted by that; its features are as they are
      wake_for_job(draft, node.id, now);
      continue;
    }
    const bool changes = change != checked.changes.end() && change->position == at;
    if (!checked.event.reboot && !changes) continue;
    const bool wanted_anyway = checked.event.reboot || (node.flags & kNodeRebootRequested) != 0;
    NodeStateChanged order = reboot_issued(node, uid, now);
    if (changes) {
      order.boot_features = change->features;
      order.boot_if_needed = !change->reboot && !wanted_anyway;
      ++change;
    }
    draft.emit(std::move(order));
  }
}

LicenseUse use_of(const ClusterState& state, const JobStarted& event) {
  return {find_reservation(state, event.reservation.view()), event.end};
}

// The plans from `at` on that belong to one heterogeneous job; a single one for other jobs.
size_t group_size(const ClusterState& state, const std::vector<PlannedStart>& plans, size_t at) {
  const Job* job = state.jobs.find(plans[at].job);
  if (job == nullptr || job->het == nullptr) return 1;
  size_t end = at + 1;
  while (end < plans.size()) {
    const Job* next = state.jobs.find(plans[end].job);
    if (next == nullptr || next->het == nullptr || next->het->leader != job->het->leader) break;
    ++end;
  }
  return end - at;
}

// All components start, or none: true when they did.
bool start_together(Draft& draft, std::span<const PlannedStart> plans, LicensePool& licenses,
                    BeginningJobs& beginning, Time now) {
  const Job* first = draft.state().jobs.find(plans.front().job);
  if (first == nullptr || plans.size() != first->het->size) return false;
  Draft trial(draft.state());
  LicensePool left = licenses;
  std::vector<CheckedStart> starts;
  for (const PlannedStart& plan : plans) {
    auto checked = check_start(trial.state(), plan, left, beginning, now);
    if (!checked) return false;
    left.take(*trial.job(checked->event.record).spec, use_of(trial.state(), checked->event));
    start(trial, *checked, now);
    starts.push_back(std::move(*checked));
  }
  for (const CheckedStart& checked : starts) start(draft, checked, now);
  licenses = std::move(left);
  return true;
}

bool is_same(const std::shared_ptr<const JobAccount>& a,
             const std::shared_ptr<const JobAccount>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

// Starts of neighbouring tasks of one array become one event; extern steps come after all of them.
Events merge_starts(Events events) {
  Events merged, steps;
  for (Event& event : events) {
    if (std::holds_alternative<StepCreated>(event)) {
      steps.push_back(std::move(event));
      continue;
    }
    auto* other = std::get_if<JobStarted>(&event);
    if (other == nullptr) {  // a node that reboots or wakes for a job, a job that makes room
      merged.push_back(std::move(event));
      continue;
    }
    JobStarted& start = *other;
    auto* last = merged.empty() ? nullptr : std::get_if<JobStarted>(&merged.back());
    if (last != nullptr && last->record == start.record && last->partition == start.partition &&
        last->time_limit == start.time_limit && last->reservation == start.reservation &&
        is_same(last->account, start.account) && last->soft_qos == start.soft_qos) {
      last->starts.push_back(std::move(start.starts.front()));
    } else {
      merged.push_back(std::move(event));
    }
  }
  std::ranges::move(steps, std::back_inserter(merged));
  return merged;
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const StartJobs& command, Time now) {
  Draft draft(state);
  StartedReply reply;
  LicensePool licenses(state, now);
  BeginningJobs beginning(state, now);  // starts change no reservation
  for (size_t at = 0; at < command.starts.size(); ++at) {
    const size_t size = group_size(draft.state(), command.starts, at);
    const Job* job = draft.state().jobs.find(command.starts[at].job);
    if (job != nullptr && job->het != nullptr) {
      const bool started = start_together(draft, std::span(command.starts).subspan(at, size),
                                          licenses, beginning, now);
      (started ? reply.started : reply.dropped) += static_cast<uint32_t>(size);
      if (started && command.starts[at].backfilled)
        reply.backfilled_components += static_cast<uint32_t>(size);
      at += size - 1;
      continue;
    }
    const PlannedStart& plan = command.starts[at];
    const auto checked = check_start(draft.state(), plan, licenses, beginning, now);
    if (!checked) {
      ++reply.dropped;
      continue;
    }
    licenses.take(*draft.job(checked->event.record).spec, use_of(draft.state(), checked->event));
    start(draft, *checked, now);
    ++reply.started;
    reply.backfilled += plan.backfilled ? 1 : 0;
  }
  for (const PlannedPreemption& plan : command.preemptions) preempt(draft, plan, now);
  for (const PlannedResume& plan : command.resumes) go_on(draft, plan, now);
  if (state.config->preempt_gang)
    rotate_gangs(draft, now);  // who finds CPUs taken waits for a turn
  Decision decision = draft.take(reply);
  decision.events = merge_starts(std::move(decision.events));
  return decision;
}

}  // namespace sluice::state
