#include "ctld/sched/pass.hpp"

#include <algorithm>

#include "ctld/sched/pass_run.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/preemption.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::sched {

using state::ClusterState;
using state::Partition;

size_t PassRun::DemandHash::operator()(const DemandKey& k) const {
  return fit::demand_hash(*k.spec) ^ std::hash<const void*>()(k.partition) ^
         std::hash<const void*>()(k.reservation);
}

bool PassRun::DemandEqual::operator()(const DemandKey& a, const DemandKey& b) const {
  if (a.partition != b.partition || a.reservation != b.reservation || a.uid != b.uid ||
      a.leaves_within != b.leaves_within) {
    return false;
  }
  return a.spec == b.spec || fit::same_demand(*a.spec, *b.spec);
}

PassRun::PassRun(const ClusterState& state, Policies policies, Time now, const WorkBudget& budget)
    : state_(state),
      policies_(std::move(policies)),
      now_(now),
      budget_(budget),
      rooms_(state, now),
      licenses_(state) {
  for (const Partition& partition : *state.partitions) {
    names_.emplace_back(partition.config->name);
    if (state::preempt_mode_in(state, partition) == PreemptMode::kOff) continue;
    least_tier_ = std::min(least_tier_, partition.config->priority_tier);
  }
  blocked_.resize(names_.size());
  in_strict_order_ = state.config->scheduler_type == "sched/builtin";
  soft_->made = now;
}

Plan PassRun::run() {
  collect();
  sort();
  for (const Candidate& c : candidates_) consider(c);
  plan_.counts.started = static_cast<uint32_t>(plan_.starts.size());
  plan_.soft = std::move(soft_);
  return std::move(plan_);
}

bool PassRun::run_until(JobId job, const Partition& partition) {
  collect();
  sort();
  const auto wanted = static_cast<uint32_t>(&partition - state_.partitions->data());
  for (const Candidate& c : candidates_) {
    if (jobs_[c.entry]->id != job) {
      consider(c);
      continue;
    }
    if (c.partition == wanted) return true;
  }
  return false;
}

bool PassRun::run_until_started(JobId job) {
  collect();
  sort();
  for (const Candidate& c : candidates_) {
    const size_t before = plan_.starts.size();
    consider(c);
    const bool it = jobs_[c.entry]->id == job;
    if (it && plan_.starts.size() > before) return true;
  }
  return false;
}

const std::vector<uint32_t>& PassRun::partitions_of(const Job& job) {
  const SharedText& text = job.spec->partitions.empty() ? job.partition : job.spec->partitions;
  if (!text.empty() && text == last_text_) return last_partitions_;
  last_text_ = text;
  last_partitions_.clear();
  for (const std::string& name : state::partitions_of(state_, job)) {
    const Partition* found = state::find_partition(state_, name);
    if (found == nullptr) continue;
    last_partitions_.push_back(static_cast<uint32_t>(found - state_.partitions->data()));
  }
  return last_partitions_;
}

void PassRun::collect() {
  const size_t pending = state_.pending.size();
  soft_->jobs.reserve(pending);
  jobs_.reserve(pending);
  candidates_.reserve(pending);
  const Duration complete_wait = state_.config->complete_wait;
  Bitmap settling;  // nodes of jobs that complete, and have done so for less than CompleteWait
  state_.active.for_each([&](JobId id) {
    const Job& job = state_.jobs.at(id);
    if (job.spec->sharing == Sharing::kUser) some_share_with_nobody_ = true;
    if (!is_completing(job) || now_ - job.end >= complete_wait) return;
    for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
      if (!job.released.test(at)) settling.set(job.allocation->nodes[at].node);
    }
  });
  for (const Partition& partition : *state_.partitions)
    settles_.push_back(partition.nodes.intersects(settling));
  state_.pending.for_each([&](JobId id) { collect_job(state_.jobs.at(id), now_); });
  gone_.resize(jobs_.size());
  plan_.counts.pending = static_cast<uint32_t>(jobs_.size());
}

uint32_t PassRun::priority_in(const Job& job, const PartitionConfig& partition) const {
  const uint32_t given = job.spec->priority;
  // 0: a hold of former times, and released
  const bool computed = given == UINT32_MAX || given == 0;
  return computed ? policies_.priority->priority(job, partition, now_) : given;
}

void PassRun::collect_job(const Job& job, Time now) {
  const auto entry = static_cast<uint32_t>(jobs_.size());
  if (job.spec->sharing == Sharing::kUser) some_share_with_nobody_ = true;
  jobs_.push_back(&job);
  SchedulerView::Entry& made = soft_->jobs.emplace_back();
  made.job = job.id;
  SchedulerHints& soft = made.soft;
  soft.last_evaluated = now;
  const std::optional<JobReason> waits = why_not_eligible(job, now);
  soft.reason = waits.value_or(JobReason::kPriority);
  if (job.hold != HoldKind::kNone) return;
  soft.priority = 1;
  const std::vector<uint32_t>& partitions = partitions_of(job);
  // deleted, all of them
  if (partitions.empty() && !waits) soft.reason = JobReason::kPartitionDown;
  for (const uint32_t p : partitions) {
    const PartitionConfig& config = *(*state_.partitions)[p].config;
    const uint32_t priority = priority_in(job, config);
    soft.priority = std::max(soft.priority, priority);
    if (!waits && !is_het_follower(job))
      candidates_.push_back({uint64_t{config.priority_tier} << 32 | priority, entry, p});
  }
}

// Slurm's order: partition tier, priority, then who came first.
void PassRun::sort() {
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.entry < b.entry;
  };
  if (!std::ranges::is_sorted(candidates_, before)) std::ranges::sort(candidates_, before);
}

void PassRun::wait(const Candidate& c, JobReason reason, const std::string& detail) {
  if (reason == JobReason::kPriority) return;  // as it is from the start
  SchedulerHints& soft = soft_->jobs[c.entry].soft;
  // of several partitions, the one that is nearest to a start speaks for the job
  if (soft.reason != JobReason::kPriority) return;
  soft.partition = names_[c.partition];
  soft.reason = reason;
  if (!detail.empty()) soft.reason_detail = detail;
}

PassRun::Demand& PassRun::demand_of(const Job& job, const Partition& partition,
                                    const Reservation* reservation) {
  const bool apart = some_share_with_nobody_ ||
                     partition.config->exclusive == ExclusiveMode::kUser ||
                     !state_.config->helpers.allow_user_boot.empty();
  DemandKey key{job.spec.get(), &partition, reservation, apart ? job.spec->uid : 0};
  if (!state_.reservations->empty()) key.leaves_within = state::leaves_within(*job.spec);
  if (last_demand_ != nullptr && DemandEqual()(last_demand_->first, key))
    return last_demand_->second;
  auto at = demands_.find(key);
  if (at == demands_.end())
    at = demands_.emplace(key, Demand{rooms_.ask_in(job, partition, reservation)}).first;
  last_demand_ = &*at;
  return at->second;
}

bool PassRun::is_closed(const Candidate& c) {
  if (blocked_[c.partition] && in_strict_order_) return true;
  if (!settles_[c.partition]) return false;
  plan_.settling = true;
  return true;
}

void PassRun::consider(const Candidate& c) {
  if (gone_[c.entry]) return;
  if (plan_.counts.considered >= budget_.most_jobs) {
    // the others keep the reason that they begin with
    plan_.counts.most_jobs = true;
    return;
  }
  ++plan_.counts.considered;
  const Job& job = *jobs_[c.entry];
  if (job.het != nullptr) return is_closed(c) ? void() : consider_het(c);
  const Partition& partition = (*state_.partitions)[c.partition];
  if (const auto reason = why_partition_refuses(state_, job, partition)) return wait(c, *reason);
  // it is about to be ended
  if (state::is_too_late(job, now_)) return wait(c, JobReason::kDeadLine);
  if (is_closed(c)) return;
  plan_.counts.most_starts = plan_.counts.most_starts || plan_.starts.size() >= budget_.most_starts;
  plan_.counts.most_tests = plan_.counts.most_tests || failed_tests_ >= budget_.most_tests;
  if (plan_.counts.most_starts || plan_.counts.most_tests) { return wait(c, JobReason::kPriority); }
  if (state_.reservations->empty() && job.spec->reservation.empty())
    return consider_in(c, nullptr, true);
  const state::ReservationChoice choice = state::choose_reservations(state_, job, now_);
  if (choice.named && choice.usable.empty()) return wait(c, JobReason::kReservation);
  for (const Reservation* reservation : choice.usable) {
    const bool last = choice.named && reservation == choice.usable.back();
    consider_in(c, reservation, last);
    if (gone_[c.entry]) return;
  }
  if (!choice.named) consider_in(c, nullptr, true);
}

void PassRun::consider_in(const Candidate& c, const Reservation* reservation, bool last) {
  const Job& job = *jobs_[c.entry];
  Demand& demand = demand_of(job, (*state_.partitions)[c.partition], reservation);
  if (!demand.ask) {
    if (last) wait(c, JobReason::kBadConstraints);
    return;
  }
  if (job.array) return start_tasks(c, demand, last);
  if (try_start(c, demand, kNoTask) || !last) return;
  if (!make_room(c, demand)) return blocked(c, demand);
  gone_[c.entry] = true;
}

// As many tasks of a pending array as fit and its %limit allows; the record may be that of one
// task.
void PassRun::start_tasks(const Candidate& c, Demand& demand, bool last) {
  const Job& job = *jobs_[c.entry];
  uint32_t may = UINT32_MAX;
  uint32_t& started = tasks_started_[job.array->array_job];
  if (job.array->max_running > 0) {
    const state::ArrayTasks* tasks = state_.arrays.find(job.array->array_job);
    const uint32_t running = (tasks != nullptr ? tasks->running : 0) + started;
    may = job.array->max_running > running ? job.array->max_running - running : 0;
  }
  if (may == 0) return wait(c, JobReason::kJobArrayTaskLimit);
  if (job.array->task != kNoTask) {
    const bool goes = try_start(c, demand, kNoTask);
    const bool has_room_made = !goes && last && make_room(c, demand);
    if (has_room_made) gone_[c.entry] = true;
    if (goes || has_room_made) ++started;
    else if (last) blocked(c, demand);
    return;
  }
  IndexSet& left = tasks_left_.try_emplace(job.id, job.array->pending).first->second;
  for (uint32_t n = 0; !left.empty(); ++n, ++started) {
    if (n >= may) return wait(c, JobReason::kJobArrayTaskLimit);
    if (plan_.starts.size() >= budget_.most_starts) return;
    if (!try_start(c, demand, left.front()) && !(last && make_room(c, demand)))
      return last ? blocked(c, demand) : void();
    left.pop_first();
  }
  gone_[c.entry] = true;
}

bool PassRun::try_start(const Candidate& c, Demand& demand, uint32_t task) {
  const Job& job = *jobs_[c.entry];
  const Partition& partition = (*state_.partitions)[c.partition];
  if (!licenses_.lacking(*job.spec).empty()) return false;
  const Minutes whole = limit_of(job, partition);
  const Minutes longest = state::limit_before_deadline(job, whole, now_);
  const Minutes least = job.spec->time_min != 0 ? std::min(job.spec->time_min, longest) : longest;
  const Patience patience = rooms_.patience(*demand.ask, job);
  if (patience.until != kNever) look_again(patience.until);
  if (demand.failed && least >= demand.failed_limit && patience.insists_on(demand.failed_patience))
    return false;
  Minutes limit = longest;
  ++plan_.counts.tested;
  auto chosen = rooms_.place_now(*demand.ask, limit, patience);
  if (!chosen && least < longest) {
    chosen = rooms_.place_now(*demand.ask, least, patience);
    if (chosen) limit = std::clamp(rooms_.minutes_before_others(*chosen), least, longest);
  }
  if (!chosen) {
    if (!demand.failed) {
      ++failed_tests_;
      demand.waiting = why_not_placed(state_, rooms_, *demand.ask, least);
    }
    demand.failed = true;
    demand.failed_limit = least;
    demand.failed_patience = patience;
    return false;
  }
  rooms_.take(job, *demand.ask, *chosen, limit);
  licenses_.take(*job.spec);
  plan_start(job, *demand.ask, std::move(*chosen), task, limit < whole ? limit : 0);
  if (blocked_[c.partition]) ++plan_.counts.backfilled;
  if (task == kNoTask) gone_[c.entry] = true;
  return true;
}

void PassRun::plan_start(const Job& job, const Ask& ask, std::vector<NodeAllocation> chosen,
                         uint32_t task, Minutes shorter_limit) {
  auto allocation = std::make_shared<Allocation>();
  for (const NodeAllocation& a : chosen) allocation->cpus += a.cpus;
  if (chosen.size() == 1) {
    allocation->node_list = state_.nodes.at(chosen.front().node).name;
  } else {
    Bitmap nodes;
    for (const NodeAllocation& a : chosen) nodes.set(a.node);
    allocation->node_list = state::node_list(state_, nodes);
  }
  allocation->nodes = std::move(chosen);
  allocation->whole_nodes = ask.needs.whole_nodes;
  std::string reservation = ask.reservation != nullptr ? ask.reservation->name : std::string();
  plan_.starts.push_back({job.id, task, ask.partition->config->name, std::move(allocation),
                          std::move(reservation), shorter_limit,
                          priority_in(job, *ask.partition->config), job.spec});
}

bool PassRun::may_have_room_made(const Candidate& c, const Demand& demand) const {
  if (demand.nobody_makes_room || !demand.waiting.for_nodes ||
      preemptors_ >= budget_.most_preemptors)
    return false;
  if (!licenses_.lacking(*jobs_[c.entry]->spec).empty()) return false;
  const Reservation* reservation = demand.ask->reservation;
  const bool has_guests = reservation != nullptr && reservation->max_start_delay > Duration(0) &&
                          least_tier_ != UINT32_MAX;
  return has_guests || (*state_.partitions)[c.partition].config->priority_tier > least_tier_;
}

bool PassRun::make_room(const Candidate& c, Demand& demand) {
  if (!may_have_room_made(c, demand)) return false;
  const Job& job = *jobs_[c.entry];
  const Partition& partition = (*state_.partitions)[c.partition];
  const state::Preemptor preemptor{&job, &partition, demand.ask->reservation};
  const Minutes limit = state::limit_before_deadline(job, limit_of(job, partition), now_);
  ++preemptors_;
  const auto made = rooms_.make_room({&job, &*demand.ask}, limit,
                                     [&](const Job& running) -> std::optional<Duration> {
                                       if (!state::may_preempt(state_, preemptor, running, now_))
                                         return std::nullopt;
                                       return state::preempt_grace(state_, preemptor, running);
                                     });
  if (!made) {
    demand.nobody_makes_room = true;
    if (const Time then = state::next_preemptable(state_, now_); then != kNever) look_again(then);
    return false;
  }
  const std::string reservation =
      demand.ask->reservation != nullptr ? demand.ask->reservation->name : std::string();
  for (const JobId id : made->leave) {
    plan_.preemptions.push_back(
        {id, state_.jobs.at(id).restart_count, job.id, partition.config->name, reservation});
  }
  wait(c, demand.waiting.reason, demand.waiting.detail);
  foresee(c, made->forecast);
  if (in_strict_order_) blocked_[c.partition] = true;
  return true;
}

void PassRun::foresee(const Candidate& c, const Forecast& forecast) {
  SchedulerHints& soft = soft_->jobs[c.entry].soft;
  soft.expected_start = forecast.start;
  soft.planned_nodes = state::node_list(state_, forecast.nodes);
}

// The job has to wait for resources: say why, forecast its start, and keep its nodes for it.
void PassRun::blocked(const Candidate& c, const Demand& demand) {
  if (!licenses_.lacking(*jobs_[c.entry]->spec).empty()) {
    ++plan_.counts.unlicensed;
    return wait(c, JobReason::kLicenses);
  }
  const Waiting& waiting = demand.waiting;
  if (!waiting.for_nodes) return wait(c, waiting.reason, waiting.detail);
  if (blocked_[c.partition]) return wait(c, JobReason::kPriority);
  wait(c, waiting.reason, waiting.detail);
  blocked_[c.partition] = true;
  ++plan_.counts.planned;
  const Job& job = *jobs_[c.entry];
  if (const auto forecast = rooms_.reserve_earliest({{&job, &*demand.ask}})) foresee(c, *forecast);
}

const SchedulerHints* SchedulerView::find(JobId job) const {
  const auto at = std::ranges::lower_bound(jobs, job, {}, &Entry::job);
  return at != jobs.end() && at->job == job ? &at->soft : nullptr;
}

Plan plan_pass(const ClusterState& state, const Policies& policies, Time now,
               const WorkBudget& budget) {
  return PassRun(state, policies, now, budget).run();
}

}  // namespace sluice::sched
