#include "ctld/sched/pass.hpp"

#include <algorithm>

#include "ctld/sched/pass_run.hpp"
#include "ctld/state/limits/billing.hpp"
#include "ctld/state/limits/soft_qos.hpp"
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
  return a.spec == b.spec ||
         (a.spec->licenses == b.spec->licenses && fit::same_demand(*a.spec, *b.spec));
}

namespace {

bool keeps_users_apart(const ClusterState& state) {
  return std::ranges::any_of(*state.partitions, [](const Partition& partition) {
    return partition.config->exclusive == ExclusiveMode::kUser;
  });
}

}  // namespace

PassRun::PassRun(const ClusterState& state, Policies policies, Time now, const WorkBudget& budget)
    : state_(state),
      policies_(std::move(policies)),
      now_(now),
      budget_(budget),
      timer_(budget.stage_clock, Stage::kPrepare),
      resources_(state, now),
      license_plan_(resources_),
      licenses_(state, now),
      limits_(state, now),
      preemption_(resources_),
      repair_(resources_, budget.kept) {
  for (const Partition& partition : *state.partitions) names_.emplace_back(partition.config->name);
  blocked_.resize(names_.size());
  backfilling_.resize(names_.size());
  looked_at_in_.resize(names_.size());
  stopped_.resize(names_.size());
  by_qos_ = state::preempts_by_qos(state);
  soft_qos_ = state::find_soft_qos(state);
  in_strict_order_ = state.config->scheduler_type == "sched/builtin";
  soft_->made = now;
}

Plan PassRun::run() {
  take_turns([](Group) { return false; }, [](Group) { return false; });
  plan_resumes(0);
  timer_.enter(Stage::kBackfill);
  start_softly();
  plan_.counts.started = static_cast<uint32_t>(plan_.starts.size());
  plan_.counts.incremental = repair_.repairs();
  const PassTimings& counts = plan_.counts;
  if (counts.most_jobs || counts.out_of_time || counts.most_of_partition) keep_previous_hints();
  else if (!counts.most_starts && !counts.most_tests) plan_.kept = keep_plan(resources_, may_stay_);
  remember_reasons();
  plan_.soft = std::move(soft_);
  plan_.counts.stages = timer_.times();
  return std::move(plan_);
}

bool PassRun::run_until(JobId job, const Partition& partition) {
  const auto wanted = static_cast<uint32_t>(&partition - state_.partitions->data());
  const auto has_turn = [&](Group group) {
    const bool there =
        std::ranges::any_of(group, [&](const Candidate& c) { return c.partition == wanted; });
    if (!there || job_of(group) != job) return false;
    turn_ = group.front().rank;
    return true;
  };
  return take_turns(has_turn, [](Group) { return false; });
}

bool PassRun::run_until_started(JobId job) {
  size_t before = 0;
  const auto remember = [&](Group) {
    before = plan_.starts.size();
    return false;
  };
  const auto started = [&](Group group) {
    return job_of(group) == job && plan_.starts.size() > before;
  };
  if (take_turns(remember, started)) return true;
  start_softly();
  return std::ranges::any_of(plan_.starts, [&](const auto& start) { return start.job == job; });
}

PassRun::Group PassRun::group_at(size_t first) const {
  size_t end = first + 1;
  while (end < candidates_.size() && candidates_[end].entry == candidates_[first].entry) ++end;
  return Group(candidates_).subspan(first, end - first);
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

void PassRun::collect_active() {
  const Duration complete_wait = state_.config->complete_wait;
  Bitmap settling;  // nodes of jobs that complete, and have done so for less than CompleteWait
  state_.active.for_each([&](JobId id) {
    const Job& job = state_.jobs.at(id);
    if (job.spec->sharing == Sharing::kUser) some_share_with_nobody_ = true;
    if (job.state == JobState::kSuspended && job.suspended_for_others) add_suspended(job);
    if (!is_completing(job) || now_ - job.end >= complete_wait) return;
    for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
      if (!job.released.test(at)) settling.set(job.allocation->nodes[at].node);
    }
  });
  sort_suspended();
  for (const Partition& partition : *state_.partitions)
    settles_.push_back(partition.nodes.intersects(settling));
}

void PassRun::add_suspended(const Job& job) {
  const Partition* partition = state::find_partition(state_, job.partition.view());
  suspended_.emplace_back(partition == nullptr ? 0 : partition->config->priority_tier, &job);
}

// Of a tier those that began first are at the end.
void PassRun::sort_suspended() {
  std::ranges::sort(suspended_, {}, [](const auto& one) {
    return std::pair(one.first, -one.second->start.time_since_epoch().count());
  });
}

void PassRun::note_suspended(const std::vector<JobId>& preempted) {
  const size_t before = suspended_.size();
  for (const JobId id : preempted) {
    for (const JobId one : preempted_together(state_, state_.jobs.at(id))) {
      const auto leaving = preemption_.preempted().find(one);
      if (leaving != preemption_.preempted().end() && leaving->second.parks)
        add_suspended(state_.jobs.at(one));
    }
  }
  if (suspended_.size() > before) sort_suspended();
}

void PassRun::collect() {
  collect_active();
  const size_t pending = state_.pending.size();
  soft_->jobs.reserve(pending);
  jobs_.reserve(pending);
  candidates_.reserve(pending);
  eligible_.reserve(pending);
  timer_.enter(Stage::kEligible);
  collect_eligible();
  timer_.enter(Stage::kPrioritise);
  prioritise();
  sort();
  timer_.enter(Stage::kPlace);
  finders_.out_of_time = [this] { return is_out_of_time(); };
  finders_.keeps_users_apart = some_share_with_nobody_ || keeps_users_apart(state_);
  gone_.resize(jobs_.size());
  planned_.resize(jobs_.size());
  looked_at_.resize(jobs_.size());
  plan_.counts.pending = static_cast<uint32_t>(jobs_.size());
}

uint32_t PassRun::priority_in(const Job& job, const PartitionConfig& partition) const {
  return priority_of(*policies_.priority, job, partition, now_);
}

void PassRun::collect_eligible() {
  state_.pending.for_each([&](JobId id) {
    const Job& job = state_.jobs.at(id);
    if (job.spec->sharing == Sharing::kUser) some_share_with_nobody_ = true;
    jobs_.push_back(&job);
    SchedulerView::Entry& made = soft_->jobs.emplace_back();
    made.job = job.id;
    made.soft.last_evaluated = now_;
    const std::optional<JobReason> waits = why_not_eligible(job, now_);
    made.soft.reason = waits.value_or(JobReason::kPriority);
    eligible_.push_back(!waits);
  });
}

void PassRun::prioritise() {
  for (uint32_t entry = 0; entry < jobs_.size(); ++entry) {
    const Job& job = *jobs_[entry];
    if (job.hold != HoldKind::kNone) continue;
    SchedulerHints& soft = soft_->jobs[entry].soft;
    soft.priority = 1;
    const std::vector<uint32_t>& partitions = partitions_of(job);
    // deleted, all of them
    if (partitions.empty() && eligible_[entry]) soft.reason = JobReason::kPartitionDown;
    for (const uint32_t p : partitions) {
      const PartitionConfig& config = *(*state_.partitions)[p].config;
      const uint32_t priority = priority_in(job, config);
      soft.priority = std::max(soft.priority, priority);
      if (eligible_[entry] && !is_het_follower(job))
        candidates_.push_back({rank_of(job, config, priority), entry, p});
    }
  }
}

// Slurm's order: who names a reservation, partition tier, priority, then who came first.
void PassRun::sort() {
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.entry < b.entry;
  };
  if (!std::ranges::is_sorted(candidates_, before)) std::ranges::sort(candidates_, before);
}

PassRun::Demand& PassRun::demand_of(const Job& job, const Partition& partition,
                                    const Reservation* reservation) {
  const bool apart = finders_.keeps_users_apart || !state_.config->helpers.allow_user_boot.empty();
  DemandKey key{job.spec.get(), &partition, reservation, apart ? job.spec->uid : 0};
  if (!state_.reservations->empty()) key.leaves_within = state::leaves_within(*job.spec);
  if (last_demand_ != nullptr && DemandEqual()(last_demand_->first, key))
    return last_demand_->second;
  auto at = demands_.find(key);
  if (at == demands_.end()) {
    Demand made(request_in(state_, resources_.rules(), job, partition, reservation));
    at = demands_.emplace(key, std::move(made)).first;
  }
  last_demand_ = &*at;
  return at->second;
}

StartFinder& PassRun::finder_of(Demand& demand) {
  if (demand.finder == nullptr)
    demand.finder = std::make_unique<StartFinder>(resources_, *demand.request, &finders_);
  return *demand.finder;
}

bool PassRun::is_closed(const Candidate& c) {
  if ((blocked_[c.partition] > 0 && in_strict_order_) || stopped_[c.partition]) return true;
  if (!settles_[c.partition]) return false;
  plan_.settling = true;
  return true;
}

bool PassRun::is_out_of_budget() {
  constexpr uint32_t kBetweenLooks = 4;
  if (plan_.counts.considered >= budget_.most_jobs) plan_.counts.most_jobs = true;
  if (until_clock_-- == 0) {
    until_clock_ = kBetweenLooks;
    (void)is_out_of_time();
  }
  return plan_.counts.most_jobs || plan_.counts.out_of_time;
}

bool PassRun::is_out_of_time() {
  if (budget_.out_of_time && !plan_.counts.out_of_time)
    plan_.counts.out_of_time = budget_.out_of_time();
  return plan_.counts.out_of_time;
}

void PassRun::plan_resumes(uint64_t tier) {
  while (!suspended_.empty() && suspended_.back().first >= tier) {
    const Job& job = *suspended_.back().second;
    suspended_.pop_back();
    const bool now = resources_.plan_resume(job) == 0;
    if (now && job.state == JobState::kSuspended)
      plan_.resumes.push_back({job.id, job.restart_count});
  }
}

void PassRun::consider_group(Group group) {
  plan_resumes(group.front().rank >> 32);  // none before jobs of reservations
  if (gone_[group.front().entry]) return;
  const size_t claims = resources_.claims().size();
  repair_.begin_turn(jobs_[group.front().entry]->id);
  take_turn(group);
  if (!plan_.counts.out_of_time && !plan_.counts.most_jobs)
    repair_.end_turn(resources_.claims().subspan(claims));
}

void PassRun::take_turn(Group group) {
  alone_ = group.size() == 1;
  waiting_here_.clear();
  for (const Candidate& c : group) {
    consider(c);
    if (gone_[c.entry]) return;
  }
  if (!waiting_here_.empty()) resolve();
}

void PassRun::consider(const Candidate& c) {
  if (is_out_of_budget()) return;  // it keeps the reason that it begins with
  if (++looked_at_in_[c.partition] > budget_.most_of_partition) {
    plan_.counts.most_of_partition = true;
    return;
  }
  ++plan_.counts.considered;
  looked_at_[c.entry] = true;
  const Job& job = *jobs_[c.entry];
  if (job.het != nullptr) return is_closed(c) ? void() : consider_het(c);
  const Partition& partition = (*state_.partitions)[c.partition];
  if (const auto reason = why_partition_refuses(state_, job, partition)) return wait(c, *reason);
  // it is about to be ended
  if (state::is_too_late(job, now_)) return wait(c, JobReason::kDeadLine);
  if (is_closed(c) || !may_backfill(c)) return;
  plan_.counts.most_starts = plan_.counts.most_starts || plan_.starts.size() >= budget_.most_starts;
  plan_.counts.most_tests = plan_.counts.most_tests || failed_tests_ >= budget_.most_tests;
  if (plan_.counts.most_starts || plan_.counts.most_tests) return wait(c, JobReason::kPriority);
  if (state_.reservations->empty() && job.spec->reservation.empty())
    return keep_start(c) ? void() : consider_in(c, nullptr, true);
  const state::ReservationChoice choice = state::choose_reservations(state_, job, now_);
  if (!choice.named && choice.usable.empty() && keep_start(c)) return;
  if (choice.named && choice.usable.empty())
    return wait(c, choice.invalid ? JobReason::kReservationInvalid : JobReason::kReservation);
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
  if (!demand.request) {
    if (last) wait(c, JobReason::kBadConstraints);
    return;
  }
  if (job.array) return start_tasks(c, demand, last);
  if (!try_start(c, demand, kNoTask) && last) wait_here(c, demand);
}

void PassRun::wait_here(const Candidate& c, Demand& demand) {
  if (limited_) {
    wait(c, *limited_);
    stopped_[c.partition] = budget_.limits_stop;
    if (may_run_softly(c)) over_limits_.push_back({c, &demand});
    return plan_limited(c, demand);
  }
  waiting_here_.push_back({c, &demand});
}

uint32_t PassRun::tasks_that_may_run(const Job& job) const {
  if (job.array->max_running == 0) return UINT32_MAX;
  const state::ArrayTasks* tasks = state_.arrays.find(job.array->array_job);
  const auto started = tasks_started_.find(job.array->array_job);
  const uint32_t running = (tasks != nullptr ? tasks->running : 0) +
                           (started != tasks_started_.end() ? started->second : 0);
  return job.array->max_running > running ? job.array->max_running - running : 0;
}

// As many tasks of a pending array as fit and its %limit allows; the record may be that of one
// task.
void PassRun::start_tasks(const Candidate& c, Demand& demand, bool last) {
  const Job& job = *jobs_[c.entry];
  const uint32_t may = tasks_that_may_run(job);
  if (may == 0) return wait(c, JobReason::kJobArrayTaskLimit);
  uint32_t& started = tasks_started_[job.array->array_job];
  if (job.array->task != kNoTask) {
    if (try_start(c, demand, kNoTask)) ++started;
    else if (last) wait_here(c, demand);
    return;
  }
  IndexSet& left = tasks_left_.try_emplace(job.id, job.array->pending).first->second;
  for (uint32_t n = 0; !left.empty(); ++n, ++started) {
    if (n >= may) return wait(c, JobReason::kJobArrayTaskLimit);
    plan_.counts.most_starts = plan_.starts.size() >= budget_.most_starts;
    if (plan_.counts.most_starts) return;
    if (!try_start(c, demand, left.front())) return last ? wait_here(c, demand) : void();
    left.pop_first();
  }
  gone_[c.entry] = true;
}

StartFinder::Wanted PassRun::wanted_by(const Job& job, Demand& demand, Minutes limit) {
  StartFinder::Wanted wanted;
  const Request& request = *demand.request;
  wanted.duration = resources_.duration_of(limit);
  wanted.patience = patience_of(request, job, now_, resources_.topology() != nullptr);
  if (budget_.backfill.window)
    wanted.latest = resources_.tick_until(now_ + *budget_.backfill.window);
  const Reservation* own = request.reservation;
  if (own != nullptr && (own->flags & kReservationFlex) == 0) {
    const Tick end = resources_.tick_from(state::period_of(*own, now_).end);
    wanted.latest = std::min(wanted.latest, end > 0 ? end - 1 : 0);
  }
  return wanted;
}

bool PassRun::lacks_licenses(const Job& job, const Reservation* own,
                             const Partition& partition) const {
  if (job.spec->licenses.empty()) return false;
  const Minutes least = least_limit(job, partition);
  return !licenses_.lacking(*job.spec, {own, resources_.end_of(least)}).empty();
}

Minutes PassRun::least_limit(const Job& job, const Partition& partition) const {
  const Minutes whole = state::limit_before_deadline(job, limit_of(job, partition), now_);
  return job.spec->time_min != 0 ? std::min(job.spec->time_min, whole) : whole;
}

std::optional<FoundStart> PassRun::find_start(Demand& demand, const Job& job,
                                              StartFinder::Wanted wanted) {
  StartFinder& finder = finder_of(demand);
  if (job.spec->licenses.empty()) return finder.first(wanted);
  const Reservation* own = demand.request->reservation;
  while (true) {
    const Tick licensed = license_plan_.next_start(*job.spec, own, wanted.from, wanted.duration);
    if (licensed > wanted.latest) return std::nullopt;
    wanted.from = licensed;
    auto found = finder.first(wanted);
    if (!found) return std::nullopt;
    if (license_plan_.next_start(*job.spec, own, found->at, wanted.duration) == found->at)
      return found;
    wanted.from = found->at;
  }
}

std::optional<PassRun::StartNow> PassRun::find_now(const Job& job, const Partition& partition,
                                                   Demand& demand) {
  const Minutes whole = limit_of(job, partition);
  const Minutes longest = state::limit_before_deadline(job, whole, now_);
  const Minutes least = least_limit(job, partition);
  limited_ = limit_on(job, partition, demand, least);
  const Reservation* own = demand.request->reservation;
  if (limited_ || lacks_licenses(job, own, partition)) return std::nullopt;
  Minutes limit = longest;
  StartFinder::Wanted wanted = wanted_by(job, demand, longest);
  if (wanted.patience.until != kNever) look_again(wanted.patience.until);
  wanted.latest = 0;
  ++plan_.counts.tested;
  auto found = find_start(demand, job, wanted);
  if (!found && least < longest) {
    wanted.duration = resources_.duration_of(least);
    found = find_start(demand, job, wanted);
    if (found) {
      const Tick free = std::min(resources_.free_until(*demand.request, found->nodes),
                                 license_plan_.free_until(*job.spec, own));
      const Time until = resources_.time_of(free);
      const auto minutes = std::chrono::floor<std::chrono::minutes>(until - now_).count();
      limit = static_cast<Minutes>(std::clamp<int64_t>(minutes, least, longest));
    }
  }
  if (!found) return std::nullopt;
  limited_ = fit_limits(job, partition, {demand, wanted, limit}, found->nodes);
  if (limited_) return std::nullopt;
  return StartNow{std::move(found->nodes), limit, limit < whole};
}

bool PassRun::try_start(const Candidate& c, Demand& demand, uint32_t task) {
  const Job& job = *jobs_[c.entry];
  auto start = find_now(job, (*state_.partitions)[c.partition], demand);
  if (!start) return false;
  if (limits_.acts()) limits_.take(fitting_);
  const Reservation* own = demand.request->reservation;
  const Tick ends = resources_.duration_of(start->limit);
  resources_.claim(job, *demand.request, start->nodes, 0, ends);
  license_plan_.claim(*job.spec, own, 0, ends);
  licenses_.take(*job.spec, {own, resources_.end_of(start->limit)});
  plan_start(job, *demand.request, std::move(start->nodes), task,
             start->is_shorter ? start->limit : 0);
  if (blocked_[c.partition] > 0) {
    ++plan_.counts.backfilled;
    plan_.starts.back().backfilled = true;
  }
  if (task == kNoTask) gone_[c.entry] = true;
  return true;
}

std::optional<JobReason> PassRun::limit_on(const Job& job, const Partition& partition,
                                           Demand& demand, Minutes limit) {
  if (!limits_.acts()) return std::nullopt;
  if (!demand.asked) demand.asked = state::requested_amounts(state_, *job.spec, *partition.config);
  return limits_.why_not(job, partition, *demand.asked, limit);
}

std::optional<JobReason> PassRun::check_limits(const Job& job, const Partition& partition,
                                               std::vector<NodeAllocation>& nodes, Minutes limit) {
  if (!limits_.acts()) return std::nullopt;
  Allocation allocation = allocation_of(std::move(nodes));
  fitting_ = limits_.check(job, partition, allocation, limit);
  nodes = std::move(allocation.nodes);
  return fitting_.reason;
}

std::optional<JobReason> PassRun::fit_limits(const Job& job, const Partition& partition,
                                             const Tried& tried,
                                             std::vector<NodeAllocation>& nodes) {
  const auto reason = check_limits(job, partition, nodes, tried.limit);
  if (!reason || !place_on_used(tried.demand, tried.wanted, nodes)) return reason;
  return check_limits(job, partition, nodes, tried.limit);
}

std::optional<JobReason> PassRun::take_limits(const Job& job, const Partition& partition,
                                              std::vector<NodeAllocation>& nodes, Minutes limit) {
  const auto reason = check_limits(job, partition, nodes, limit);
  if (!reason && limits_.acts()) limits_.take(fitting_);
  return reason;
}

bool PassRun::place_on_used(const Demand& demand, const StartFinder::Wanted& wanted,
                            std::vector<NodeAllocation>& nodes) {
  constexpr uint32_t kMost = 64;  // each looks at all nodes
  if (fitting_.used.none() || placed_on_used_ >= kMost) return false;
  ++placed_on_used_;
  Request request = *demand.request;
  request.first = std::move(fitting_.used);
  auto found = StartFinder(resources_, request).first(wanted);
  if (!found) return false;
  nodes = std::move(found->nodes);
  return true;
}

void PassRun::plan_start(const Job& job, const Request& request, std::vector<NodeAllocation> chosen,
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
  allocation->whole_nodes = request.needs.whole_nodes;
  std::string reservation =
      request.reservation != nullptr ? request.reservation->name : std::string();
  plan_.starts.push_back({.job = job.id,
                          .task = task,
                          .partition = request.partition->config->name,
                          .allocation = std::move(allocation),
                          .reservation = std::move(reservation),
                          .time_limit = shorter_limit,
                          .priority = priority_in(job, *request.partition->config),
                          .spec = job.spec,
                          .softly = softly_});
}

const SchedulerHints* SchedulerView::find(JobId job) const {
  const auto at = std::ranges::lower_bound(jobs, job, {}, &Entry::job);
  return at != jobs.end() && at->job == job ? &at->soft : nullptr;
}

JobReason SchedulerView::waited_for(JobId job, bool starts) const {
  const auto at = std::ranges::lower_bound(jobs, job, {}, &Entry::job);
  if (at == jobs.end() || at->job != job) return JobReason::kNone;
  return starts ? at->waited_before : at->waited_for;
}

Plan plan_pass(const ClusterState& state, const Policies& policies, Time now,
               const WorkBudget& budget) {
  return PassRun(state, policies, now, budget).run();
}

}  // namespace sluice::sched
