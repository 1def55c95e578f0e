// Jobs of a pass that cannot start now: why, who is preempted for them, and when they can start.
#include <algorithm>
#include <span>
#include <utility>

#include "ctld/sched/pass_run.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/preemption.hpp"
#include "ctld/state/rules/room.hpp"

namespace sluice::sched {

using state::Partition;

void PassRun::wait(const Candidate& c, JobReason reason, const std::string& detail) {
  if (reason == JobReason::kPriority) return;  // as it is from the start
  SchedulerHints& soft = soft_->jobs[c.entry].soft;
  // of several partitions, the one that is nearest to a start speaks for the job
  if (soft.reason != JobReason::kPriority) return;
  soft.partition = names_[c.partition];
  soft.reason = reason;
  if (!detail.empty()) soft.reason_detail = detail;
}

bool PassRun::is_forecast_before(const Candidate& c, Time start) const {
  const Time known = soft_->jobs[c.entry].soft.expected_start;
  return known != kNoTime && known <= start;
}

void PassRun::set_forecast(const Candidate& c, Time start, const Bitmap& nodes) {
  if (!is_forecast_before(c, start)) set_forecast(c, start, state::node_list(state_, nodes));
}

void PassRun::set_forecast(const Candidate& c, Time start,
                           const std::vector<NodeAllocation>& parts) {
  Bitmap nodes;
  for (const NodeAllocation& part : parts) nodes.set(part.node);
  set_forecast(c, start, nodes);
}

void PassRun::set_forecast(const Candidate& c, Time start, SharedText node_list) {
  if (is_forecast_before(c, start)) return;
  SchedulerHints& soft = soft_->jobs[c.entry].soft;
  soft.expected_start = start;
  soft.planned_nodes = std::move(node_list);
}

void PassRun::let_stay(const Candidate& c, const Waiting& waiting, Time start) {
  const SchedulerHints& soft = soft_->jobs[c.entry].soft;
  may_stay_.emplace(
      resources_.claims().size(),
      MayStay{waiting, soft.expected_start == start ? soft.planned_nodes : SharedText()});
}

void PassRun::keep_previous_hints() {
  if (budget_.previous == nullptr) return;
  for (size_t entry = 0; entry < jobs_.size(); ++entry) {
    SchedulerHints& soft = soft_->jobs[entry].soft;
    if (looked_at_[entry] || soft.reason != JobReason::kPriority) continue;
    const SchedulerHints* known = budget_.previous->find(jobs_[entry]->id);
    if (known == nullptr) continue;
    const uint32_t priority = soft.priority;
    soft = *known;
    soft.priority = priority;
  }
}

// Both lists of jobs are in the order of their ids.
void PassRun::remember_reasons() {
  auto known = budget_.previous == nullptr ? std::span<const SchedulerView::Entry>()
                                           : std::span(budget_.previous->jobs);
  for (SchedulerView::Entry& entry : soft_->jobs) {
    while (!known.empty() && known.front().job < entry.job) known = known.subspan(1);
    const JobReason reason = entry.soft.reason;
    const bool tells = reason != JobReason::kNone && reason != JobReason::kPriority &&
                       reason != JobReason::kResources;
    if (!known.empty() && known.front().job == entry.job)
      entry.waited_before = known.front().waited_for;
    entry.waited_for = tells ? reason : entry.waited_before;
  }
}

void PassRun::resolve() {
  const std::vector<Blocked> blocked = std::exchange(waiting_here_, {});
  ++failed_tests_;
  for (const Blocked& one : blocked) {
    if (!may_preempt(one)) continue;
    const StageScope scope(timer_, Stage::kPreempt);
    if (preempt_for(one)) return;
  }
  const StageScope scope(timer_, Stage::kBackfill);
  plan_later(blocked);
}

bool PassRun::may_preempt(const Blocked& blocked) const {
  const auto& [c, demand] = blocked;
  if (demand->nobody_makes_room || preemptors_ >= budget_.most_preemptors) return false;
  const Reservation* reservation = demand->request->reservation;
  if (lacks_licenses(*jobs_[c.entry], reservation, (*state_.partitions)[c.partition])) return false;
  return state::has_guests(reservation) ||
         state::could_preempt(state_,
                              {jobs_[c.entry], &(*state_.partitions)[c.partition], reservation, 0});
}

std::optional<Preemption::Outcome> PassRun::make_room(const Blocked& blocked, bool& limited) {
  const auto& [c, demand] = blocked;
  const Job& job = *jobs_[c.entry];
  const Partition& partition = (*state_.partitions)[c.partition];
  const Reservation* reservation = demand->request->reservation;
  const state::Preemptor preemptor{&job, &partition, reservation,
                                   priority_in(job, *partition.config)};
  const Minutes limit = state::limit_before_deadline(job, limit_of(job, partition), now_);
  ++preemptors_;
  const auto leaving_of = [&](const Job& running) -> std::optional<Leaving> {
    if (!state::may_preempt(state_, preemptor, running, now_)) return std::nullopt;
    if (state::is_preempted_by_suspension(state_, preemptor, running)) return Leaving{now_, true};
    return Leaving{now_ + state::preempt_grace(state_, preemptor, running)};
  };
  limited = false;
  const auto accepts = [&](std::vector<NodeAllocation>& nodes) {
    limited = take_limits(job, partition, nodes, limit).has_value();
    return !limited;
  };
  auto made = preemption_.make_room(job, *demand->request, limit, leaving_of, accepts);
  if (!made) {
    if (limited) return std::nullopt;
    if (const Time then = state::next_preemptable(state_, now_); then != kNever) look_again(then);
    return std::nullopt;
  }
  for (const JobId id : made->preempted) {
    plan_.preemptions.push_back(
        {id, state_.jobs.at(id).restart_count, job.id, partition.config->name,
         reservation != nullptr ? reservation->name : std::string(), preemptor.priority});
  }
  note_suspended(made->preempted);
  return made;
}

bool PassRun::preempt_for(const Blocked& blocked) {
  const auto& [c, demand] = blocked;
  const Job& job = *jobs_[c.entry];
  explain(job, *demand, (*state_.partitions)[c.partition]);
  if (!demand->waiting->for_nodes) return false;
  bool limited = false;
  const auto made = make_room(blocked, limited);
  if (!made) {
    // jobs that ask the same may be of QOS that others make room for, or have other limits
    demand->nobody_makes_room = !limited && !by_qos_ && !state_.config->preempt_by_priority;
    return false;
  }
  wait(c, demand->waiting->reason, demand->waiting->detail);
  set_forecast(c, made->start, made->nodes);
  if (in_strict_order_) ++blocked_[c.partition];
  if (!job.array || job.array->task != kNoTask) {
    gone_[c.entry] = true;
    if (job.array) ++tasks_started_[job.array->array_job];
    return true;
  }
  // the next task of the array finds room, or others have to make some for it
  ++tasks_started_[job.array->array_job];
  IndexSet& left = tasks_left_.at(job.id);
  left.pop_first();
  gone_[c.entry] = left.empty();
  if (!gone_[c.entry]) {
    waiting_here_.clear();
    start_tasks(c, *demand, true);
    if (!gone_[c.entry] && !waiting_here_.empty()) resolve();
  }
  return true;
}

bool PassRun::may_plan(const Candidate& c) const {
  const BackfillBounds& bounds = budget_.backfill;
  const Job& job = *jobs_[c.entry];
  const Time since = job.accrue != kNoTime ? job.accrue : job.submit;
  return blocked_[c.partition] < budget_.most_planned && now_ - since >= bounds.least_age &&
         soft_->jobs[c.entry].soft.priority >= bounds.least_priority &&
         limits_.may_plan(job, soft_->jobs[c.entry].soft.priority);
}

bool PassRun::may_backfill(const Candidate& c) {
  const BackfillBounds& bounds = budget_.backfill;
  if (blocked_[c.partition] == 0) return true;
  const uint32_t uid = jobs_[c.entry]->spec->uid;
  const std::shared_ptr<const JobAccount>& account = jobs_[c.entry]->account;
  const AssociationId association = account == nullptr ? 0 : account->association;
  if (association != 0 && ++of_associations_[association] > bounds.most_of_association)
    return false;
  const bool too_many = ++backfilling_[c.partition] > bounds.most_of_partition ||
                        ++of_users_[uid] > bounds.most_of_user ||
                        ++of_users_in_[{uid, c.partition}] > bounds.most_of_user_in_partition;
  if (too_many) return false;
  const bool most = plan_.counts.backfilled >= bounds.most_starts;
  plan_.counts.most_backfilled = plan_.counts.most_backfilled || most;
  return !most;
}

void PassRun::explain(const Job& job, Demand& demand, const Partition& partition) {
  if (demand.waiting) return;
  const StageScope scope(timer_, Stage::kExplain);
  demand.waiting = why_not_placed(resources_, *demand.request, limit_of(job, partition));
}

void PassRun::tell_why(const Blocked& blocked, bool found) {
  const auto& [c, demand] = blocked;
  const Job& job = *jobs_[c.entry];
  if (lacks_licenses(job, demand->request->reservation, (*state_.partitions)[c.partition])) {
    ++plan_.counts.unlicensed;
    return wait(c, JobReason::kLicenses);
  }
  const bool plain = found && state_.reservations->empty();
  if (!demand->waiting && plain) demand->waiting = Waiting{};
  explain(job, *demand, (*state_.partitions)[c.partition]);
  const Waiting& waiting = *demand->waiting;
  if (waiting.for_nodes && blocked_[c.partition] > 0) return wait(c, JobReason::kPriority);
  wait(c, waiting.reason, waiting.detail);
}

void PassRun::plan_later(const std::vector<Blocked>& blocked) {
  std::optional<FoundStart> best;
  const Blocked* where = nullptr;
  const uint32_t entry = blocked.front().candidate.entry;
  const Job& job = *jobs_[entry];
  StartFinder::Wanted chosen;
  for (const Blocked& one : blocked) {
    if (!may_plan(one.candidate)) {
      tell_why(one, true);
      continue;
    }
    StartFinder::Wanted wanted =
        wanted_by(job, *one.demand, limit_of(job, (*state_.partitions)[one.candidate.partition]));
    if (best) wanted.latest = std::min(wanted.latest, best->at > 0 ? best->at - 1 : 0);
    auto found = find_start(*one.demand, job, wanted);
    if (!found && plan_.counts.out_of_time) {  // it was not looked at to the end
      looked_at_[entry] = false;
      return;
    }
    tell_why(one, found || best);
    if (!found) continue;
    best = std::move(found);
    where = &one;
    chosen = wanted;
  }
  for (const Blocked& one : blocked) {
    const bool for_nodes = !one.demand->waiting || one.demand->waiting->for_nodes;
    const uint32_t partition = one.candidate.partition;
    const Reservation* own = one.demand->request->reservation;
    if (for_nodes && !lacks_licenses(job, own, (*state_.partitions)[partition]))
      ++blocked_[partition];
  }
  if (!best) return;
  set_forecast(where->candidate, resources_.time_of(best->at), best->nodes);
  if (planned_[entry]) return;  // in a partition of a higher tier
  planned_[entry] = true;
  ++plan_.counts.planned;
  const Tick ends = best->at + chosen.duration;
  if (may_be_kept(job, *where->demand->request)) {
    let_stay(where->candidate, where->demand->waiting.value_or(Waiting{}),
             resources_.time_of(best->at));
  }
  resources_.claim(job, *where->demand->request, best->nodes, best->at, ends);
  license_plan_.claim(*job.spec, where->demand->request->reservation, best->at, ends);
  if (job.array && job.array->task == kNoTask) plan_more_tasks(*where, job, best->at);
}

// What changes by itself with time, or by more than nodes that become free, is looked for each
// time.
bool PassRun::may_be_kept(const Job& job, const Request& request) const {
  const JobSpec& spec = *job.spec;
  return alone_ && !job.array && job.het == nullptr && spec.licenses.empty() &&
         spec.time_min == 0 && job.spec->deadline == kNoTime && request.reservation == nullptr &&
         request.switches.most == 0 && !request.needs.may_change && request.sharers == 1 &&
         !state::bounds_cpus(*request.partition->config);
}

bool PassRun::keep_start(const Candidate& c) {
  const Job& job = *jobs_[c.entry];
  const Partition& partition = (*state_.partitions)[c.partition];
  if (!repair_.has_start() || !may_plan(c) || planned_[c.entry]) return false;
  const StageScope scope(timer_, Stage::kBackfill);
  Demand& demand = demand_of(job, partition, nullptr);
  if (!demand.request) return false;
  if (limit_on(job, partition, demand, limit_of(job, partition))) return false;
  const Tick duration = resources_.duration_of(limit_of(job, partition));
  const KeptStart* kept = repair_.may_keep(*demand.request, duration);
  if (kept == nullptr || !may_be_kept(job, *demand.request)) return false;
  ++failed_tests_;
  const Waiting& waiting = kept->stays->waiting;
  if (!waiting.for_nodes || blocked_[c.partition] == 0) wait(c, waiting.reason, waiting.detail);
  if (waiting.for_nodes) ++blocked_[c.partition];
  const SharedText& node_list = kept->stays->node_list;
  if (node_list.empty()) set_forecast(c, kept->start, *kept->nodes);
  else set_forecast(c, kept->start, node_list);
  planned_[c.entry] = true;
  ++plan_.counts.planned;
  ++plan_.counts.kept;
  let_stay(c, waiting, kept->start);
  const Tick from = resources_.tick_from(kept->start);
  resources_.claim(job, *demand.request, kept->nodes, from, from + duration);
  return true;
}

void PassRun::plan_limited(const Candidate& c, Demand& demand) {
  constexpr uint32_t kMost = 32;  // each looks at all that run
  const Job& job = *jobs_[c.entry];
  if (job.array || planned_[c.entry] || !may_plan(c) || limited_planned_ >= kMost) return;
  const StageScope scope(timer_, Stage::kBackfill);
  ++limited_planned_;
  const Partition& partition = (*state_.partitions)[c.partition];
  const Minutes limit = limit_of(job, partition);
  const auto time = limits_.next_start(job, partition, *demand.asked, limit);
  if (!time) return;
  StartFinder::Wanted wanted = wanted_by(job, demand, limit);
  wanted.from = std::max<Tick>(1, resources_.tick_from(*time));
  const auto found = find_limited(c, demand, wanted);
  if (!found) return;
  const Time start = resources_.time_of(found->at);
  set_forecast(c, start, found->nodes);
  planned_[c.entry] = true;
  ++plan_.counts.planned;
  const Tick ends = found->at + wanted.duration;
  resources_.claim(job, *demand.request, found->nodes, found->at, ends);
  license_plan_.claim(*job.spec, demand.request->reservation, found->at, ends);
  limits_.plan(job, partition, allocation_of(found->nodes), start, limit);
}

std::optional<FoundStart> PassRun::find_limited(const Candidate& c, Demand& demand,
                                                StartFinder::Wanted wanted) {
  constexpr int kMostTries = 4;
  const Job& job = *jobs_[c.entry];
  const Partition& partition = (*state_.partitions)[c.partition];
  for (int tries = 0; tries < kMostTries && wanted.from <= wanted.latest; ++tries) {
    auto found = find_start(demand, job, wanted);
    if (!found) return std::nullopt;
    const Allocation allocation = allocation_of(found->nodes);
    const auto time = limits_.next_start(job, partition, allocation, limit_of(job, partition));
    if (!time) return std::nullopt;
    if (resources_.tick_from(*time) <= found->at) return found;
    wanted.from = resources_.tick_from(*time);
  }
  return std::nullopt;
}

// Further tasks of an array, as far as it may run them.
void PassRun::plan_more_tasks(const Blocked& blocked, const Job& job, Tick at) {
  const auto left = tasks_left_.find(job.id);
  if (left == tasks_left_.end()) return;
  uint64_t more = std::min<uint64_t>(left->second.size(), tasks_that_may_run(job));
  more = std::min<uint64_t>(more, budget_.most_planned_tasks);
  StartFinder::Wanted wanted = wanted_by(
      job, *blocked.demand, limit_of(job, (*state_.partitions)[blocked.candidate.partition]));
  wanted.from = at;
  for (uint64_t n = 1; n < more; ++n) {
    auto found = find_start(*blocked.demand, job, wanted);
    if (!found) return;
    const Tick ends = found->at + wanted.duration;
    resources_.claim(job, *blocked.demand->request, found->nodes, found->at, ends);
    license_plan_.claim(*job.spec, blocked.demand->request->reservation, found->at, ends);
  }
}

}  // namespace sluice::sched
