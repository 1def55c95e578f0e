#include "sim/run/simulator.hpp"

#include <algorithm>

#include "common/base/check.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/react.hpp"
#include "ctld/state/rules/batch_host.hpp"
#include "ctld/state/rules/reservations.hpp"
#include "sim/run/node_command.hpp"

namespace sluice::sim {

using namespace sluice::state;

namespace {

// The daemon's is a second; limits are looked at when they are due beside it.
constexpr Duration kBetweenTicks = std::chrono::minutes(1);
constexpr Duration kBetweenWholePasses = std::chrono::seconds(30);
constexpr Duration kSettling = std::chrono::seconds(1);
constexpr Duration kBootTime = std::chrono::seconds(30);
constexpr uint32_t kNobody = UINT32_MAX;

Duration seconds(int64_t count) { return std::chrono::seconds(count); }

// So long it has run in this run of it.
Duration run_time(const Job& job, Time now) {
  if (job.state == JobState::kSuspended) return job.before_suspend;
  return job.suspended_at == kNoTime ? now - job.start
                                     : job.before_suspend + (now - job.suspended_at);
}

}  // namespace

Simulator::Simulator(std::shared_ptr<const ClusterConfig> config, const Trace& trace,
                     SimOptions options)
    : config_(std::move(config)),
      trace_(trace),
      options_(std::move(options)),
      submissions_(*config_, options_.unit),
      now_(trace.begin),
      ids_(trace) {
  find_followers();
}

// After a job that comes before it in the trace: else it is submitted at its time.
void Simulator::find_followers() {
  follows_.resize(trace_.jobs.size());
  for (uint32_t at = 0; at < trace_.jobs.size(); ++at) {
    for (uint32_t part = 1; part < trace_.jobs[at].components; ++part) follows_[at + part] = true;
    const std::string& preceding = trace_.jobs[at].preceding;
    const uint32_t place = preceding.empty() ? TraceIds::kNowhere : ids_.place(preceding);
    if (place >= at) continue;
    follows_[at] = true;
    followers_[place].push_back(at);
  }
}

SimResult Simulator::run() {
  bring_up();
  result_.jobs.reserve(trace_.jobs.size());
  while (advance()) {
    submit_due();
    do_due();
    settle();
  }
  result_.end = now_;
  for (SimJob& job : result_.jobs) result_.last_submit = std::max(result_.last_submit, job.submit);
  state_.active.for_each([&](JobId id) {  // what runs still when the time is over
    note_run(state_.jobs.at(id));
  });
  return std::move(result_);
}

Result<Reply> Simulator::run_command(const Command& command) {
  Result<Decision> decision = decide(state_, command, now_);
  if (!decision) return tl::unexpected(decision.error());
  for (const Event& event : decision->events) apply(state_, event);
  std::ranges::move(decision->effects, std::back_inserter(effects_));
  std::ranges::move(react(state_, decision->events), std::back_inserter(effects_));
  return std::move(decision->reply);
}

void Simulator::bring_up() {
  result_.name = options_.name;
  result_.begin = now_;
  SLUICE_CHECK(run_command(StartEpoch{"simulated", 1}));
  SLUICE_CHECK(run_command(ReplaceConfig{config_}));
  const NodeId nodes = state_.next_node_id;
  boots_.resize(nodes);
  result_.nodes.resize(nodes);
  for (NodeId id = 0; id < nodes; ++id) {
    const Node& node = state_.nodes.at(id);
    result_.nodes[id] = {node.name, node.config->cpus};
    result_.cpus += node.config->cpus;
    register_node(id);
  }
  make_reservations();
  next_tick_ = now_;
  pass_wanted_ = urgent_ = true;
}

void Simulator::register_node(NodeId id) {
  const Node& node = state_.nodes.at(id);
  if (node.base == NodeBaseState::kFuture) return;
  // one that sleeps says nothing
  if (boots_[id] == 0 && (node.flags & kNodePoweredDown) != 0) return;
  RegisterNode command = registration(*node.config, ++boots_[id], now_);
  command.node.cluster_id = state_.cluster_id;
  (void)run_command(command);
}

Time Simulator::next_submission() const {
  if (submitted_ == trace_.jobs.size()) return kNever;
  return trace_.begin + seconds(trace_.jobs[submitted_].submit_s);
}

bool Simulator::may_pass() const { return now_ >= last_pass_ + rest_.before_next(!urgent_); }

bool Simulator::advance() {
  // with reservations that come again, and for what never comes about, there is always a next time
  constexpr uint32_t kMostIdleWakes = 400, kMostIdleTicks = 100'000;
  Time next = next_submission();
  if (!due_.empty()) next = std::min(next, due_.top().at);
  if (!state_.pending.empty() && idle_wakes_ < kMostIdleWakes) next = std::min(next, pass_due_);
  if (pass_wanted_) next = std::min(next, last_pass_ + rest_.before_next(!urgent_));
  const bool waits = !state_.waiting.empty() && idle_ticks_ < kMostIdleTicks;
  const bool alive = next != kNever || !state_.active.empty() || waits;
  if (!alive) return false;
  next = std::max(std::min(next, next_tick_), now_);
  if (options_.until != kNoLimit && next > trace_.begin + options_.until) {
    now_ = trace_.begin + options_.until;
    result_.stopped = true;
    return false;
  }
  now_ = next;
  return true;
}

void Simulator::submit_due() {
  for (; next_submission() <= now_; ++submitted_) {
    if (!follows_[submitted_]) submit(static_cast<uint32_t>(submitted_));
  }
}

void Simulator::submit(uint32_t place) {
  idle_wakes_ = idle_ticks_ = 0;
  const TraceJob& job = trace_.jobs[place];
  const uint32_t count = std::max(1U, job.components);
  SubmitJob command = submissions_.command(job);
  command.job.dependency = ids_.dependency(place);
  command.job.reservation = known_reservations(job.reservation);
  for (JobSpec& part : command.components) {
    part.dependency = command.job.dependency;
    part.reservation = command.job.reservation;
  }
  const auto reply = run_command(command);
  if (!reply) ++result_.refused[error_text(reply.error())];
  const JobId first = reply ? std::get<JobSubmittedReply>(*reply).job : kNoJob;
  for (uint32_t at = 0; at < count; ++at) {
    SimJob& made = result_.jobs.emplace_back();
    made.trace = &trace_.jobs[place + at];
    made.submit = now_;
    if (!reply) continue;
    made.id = first + at;
    made.limit = state_.jobs.at(made.id).time_limit;
    ids_.submitted(place + at, made.id);
    const size_t position = made.id - config_->first_job_id;
    if (by_id_.size() <= position) by_id_.resize(position + 1, kNobody);
    by_id_[position] = static_cast<uint32_t>(result_.jobs.size() - 1);
  }
  if (!reply) is_over(place);
}

void Simulator::is_over(uint32_t place) {
  idle_wakes_ = idle_ticks_ = 0;
  const auto at = followers_.find(place);
  if (at == followers_.end()) return;
  for (const uint32_t follower : at->second)
    due_.push({now_ + seconds(trace_.jobs[follower].think_s), Kind::kSubmit, follower, 0});
  followers_.erase(at);
}

std::string Simulator::known_reservations(const std::string& names) const {
  std::vector<std::string> known = split_list(names);
  std::erase_if(known, [&](const auto& name) { return find_reservation(state_, name) == nullptr; });
  return join(known, ",");
}

void Simulator::take_over(const TraceReservation& known) {
  Reservation made = *known.reservation;
  std::map<uint32_t, NodeId> here;
  made.nodes = {};
  for (const auto& [id, name] : known.nodes) {
    const Node* node = find_node(state_, name);
    if (node == nullptr) continue;
    here.emplace(id, node->id);
    made.nodes.set(node->id);
  }
  const auto is_gone = [&](auto& part) {
    const auto at = here.find(part.node);
    if (at != here.end()) part.node = at->second;
    return at == here.end();
  };
  std::erase_if(made.cores, is_gone);
  std::erase_if(made.gres, is_gone);
  if (made.nodes.none() && !known.nodes.empty()) {
    result_.refused_reservations.push_back(made.name + ": none of its nodes is here");
    return;
  }
  made.uids.clear();
  for (const std::string& user : known.people) made.uids.push_back(submissions_.uid_of(user));
  std::ranges::sort(made.uids);
  made.id = state_.next_reservation_id;
  made.begun = false;
  apply(state_, ReservationChanged{.reservation = std::move(made)});
}

void Simulator::make_reservations() {
  if (trace_.reservations.empty() && options_.reservations.empty()) return;
  std::vector<uint32_t> everybody;
  for (const TraceJob& job : trace_.jobs) everybody.push_back(submissions_.uid_of(job.user));
  std::ranges::sort(everybody);
  everybody.erase(std::unique(everybody.begin(), everybody.end()), everybody.end());
  for (const TraceReservation& known : trace_.reservations) take_over(known);
  for (const protocol::ChangeReservationRequest& request : options_.reservations) {
    ChangeReservation command{{0, 0}, request, {}};
    const auto bare = [](const std::string& name) {
      return name.starts_with('-') ? name.substr(1) : name;
    };
    if (const auto& users = request.values.users) {
      for (const std::string& name : split_list(users->names))
        command.users[bare(name)] = {submissions_.uid_of(bare(name))};
    }
    if (const auto& groups = request.values.groups) {  // everybody is in all of them
      for (const std::string& name : split_list(groups->names))
        command.users[bare(name)] = everybody;
    }
    const auto reply = run_command(command);
    if (!reply)
      result_.refused_reservations.push_back(request.name + ": " + error_text(reply.error()));
  }
}

SimJob* Simulator::job_of(JobId id) {
  const size_t at = id - config_->first_job_id;
  return at < by_id_.size() && by_id_[at] != kNobody ? &result_.jobs[by_id_[at]] : nullptr;
}

void Simulator::do_due() {
  std::vector<protocol::StepEnded> ended;
  while (!due_.empty() && due_.top().at <= now_) {
    const Due due = due_.top();
    due_.pop();
    if (due.kind == Kind::kJobOver) job_over(due.id, due.restart, ended);
    if (due.kind == Kind::kLimit) tick_wanted_ = true;
    if (due.kind == Kind::kNodeUp) register_node(due.id);
    if (due.kind == Kind::kSubmit) submit(due.id);
  }
  if (!ended.empty()) (void)run_command(EndSteps{std::move(ended)});
}

void Simulator::job_over(JobId id, uint32_t restart, std::vector<protocol::StepEnded>& ended) {
  const Job* job = state_.jobs.find(id);
  if (job == nullptr || job->restart_count != restart || job->allocation == nullptr) return;
  if (is_completing(*job) || is_terminal(job->state) || job->state == JobState::kPending) return;
  const Duration left = seconds(job_of(id)->trace->run_s) - run_time(*job, now_);
  if (left > Duration(0) || job->state == JobState::kSuspended) {  // it was suspended meanwhile
    due_.push({now_ + std::max<Duration>(left, seconds(1)), Kind::kJobOver, id, restart});
    return;
  }
  protocol::StepEnded report;
  report.key = {{id, kBatchStep}, restart};
  report.nodes = state_.nodes.at(job->allocation->nodes[batch_position(state_, *job)].node).name;
  ended.push_back(std::move(report));
}

void Simulator::tick() {
  tick_wanted_ = false;
  next_tick_ = now_ + (state_.config->preempt_gang
                           ? std::min<Duration>(kBetweenTicks, state_.config->scheduler_time_slice)
                           : kBetweenTicks);
  ++idle_ticks_;
  (void)run_command(Tick{ticks_++});
  if (!options_.on_progress) return;
  options_.on_progress(
      {now_, submitted_, trace_.jobs.size(), state_.pending.size(), state_.active.size()});
}

// All that follows from what has happened, in this moment.
void Simulator::settle() {
  if (now_ >= next_tick_) tick_wanted_ = true;
  if (now_ >= pass_due_ && !state_.pending.empty()) {
    pass_wanted_ = urgent_ = true;
    ++idle_wakes_;
    tick_wanted_ = tick_wanted_ || !state_.reservations->empty();  // one may have begun, or ended
  }
  while (true) {
    if (!effects_.empty()) obey(std::exchange(effects_, {}));
    else if (tick_wanted_) tick();
    else if (pass_wanted_ && may_pass()) pass();
    else return;
  }
}

void Simulator::obey(std::vector<Effect> effects) {
  std::vector<protocol::JobCleaned> cleaned;
  std::vector<PrologDone> prologs;
  for (const Effect& effect : effects) {
    if (const auto* wake = std::get_if<WakeScheduler>(&effect)) {
      pass_wanted_ = true;
      urgent_ = urgent_ || !wake->submitted;
    } else if (const auto* start = std::get_if<LaunchStep>(&effect)) {
      if (start->key.id.step == kBatchStep) launch(start->key);
    } else if (const auto* end = std::get_if<TerminateJob>(&effect)) {
      cleaned.push_back(
          {.job = end->job, .restart = end->restart, .nodes = node_list(state_, end->nodes)});
    } else if (const auto* record = std::get_if<JobRecordEnded>(&effect)) {
      note_run(*record->job);
    } else if (const auto* prolog = std::get_if<LaunchProlog>(&effect)) {
      prologs.push_back({prolog->job, prolog->restart, node_list(state_, prolog->nodes), 0});
    } else if (const auto* own = std::get_if<RunControllerProlog>(&effect)) {
      prologs.push_back({own->job, own->restart, {}, 0});
    } else if (std::holds_alternative<RunTick>(effect)) {
      tick_wanted_ = true;
    } else if (const auto* power = std::get_if<PowerNodes>(&effect)) {
      if (power->program == PowerProgram::kSuspend) continue;
      power->nodes.for_each([&](size_t id) {
        due_.push({now_ + kBootTime, Kind::kNodeUp, static_cast<uint32_t>(id), 0});
      });
    } else if (const auto* reboot = std::get_if<RebootNow>(&effect)) {
      reboot->nodes.for_each([&](size_t id) {
        due_.push({now_ + kBootTime, Kind::kNodeUp, static_cast<uint32_t>(id), 0});
      });
    }
  }
  if (!cleaned.empty()) (void)run_command(JobsCleaned{std::move(cleaned)});
  if (!prologs.empty()) (void)run_command(PrologsDone{std::move(prologs)});
}

void Simulator::launch(const protocol::StepKey& key) {
  const Job* job = state_.jobs.find(key.id.job);
  if (job == nullptr || job->restart_count != key.restart || job->allocation == nullptr) return;
  idle_wakes_ = idle_ticks_ = 0;
  const auto note = [&](const Job& part) {
    SimJob* known = job_of(part.id);
    if (known == nullptr || !part.allocation) return;
    ++known->runs;
    known->begun = part.start;
    if (known->start == kNoTime) known->start = part.start;
    known->cpus = part.allocation->cpus;
    known->limit = part.time_limit;
  };
  if (job->het) for_components(state_, *job->het, note);
  else note(*job);
  const Time over = now_ + seconds(job_of(job->id)->trace->run_s);
  due_.push({over, Kind::kJobOver, job->id, key.restart});
  if (job->end != kNever && job->end < over) due_.push({job->end, Kind::kLimit, job->id, 0});
}

// Its run is over, or all of it.
void Simulator::note_run(const Job& job) {
  SimJob* known = job_of(job.id);
  if (known == nullptr) return;
  const bool over = is_terminal(job.state) && (job.flags & kJobRequeued) == 0;
  if (over) {
    known->state = job.state;
    known->end = job.end;
    is_over(static_cast<uint32_t>(known->trace - trace_.jobs.data()));
  } else if (!is_terminal(job.state)) {
    known->state = job.state;
  }
  if (job.allocation == nullptr || known->runs == 0) return;
  if (is_completing(job) && result_.stopped) return;  // told already
  SimRun& run = result_.runs.emplace_back();
  run.job = static_cast<uint32_t>(known - result_.jobs.data());
  run.start = job.start;
  run.end = std::min(is_terminal(job.state) ? job.end : now_, now_);
  for (const NodeAllocation& part : job.allocation->nodes)
    run.nodes.push_back({part.node, part.cpus});
}

void Simulator::pass() {
  pass_wanted_ = urgent_ = false;
  if (state_.pending.empty()) return;
  const bool whole = now_ - last_whole_pass_ >= kBetweenWholePasses;
  if (whole) last_whole_pass_ = now_;
  const Duration before = options_.cpu_clock ? options_.cpu_clock() : Duration(0);
  sched::WorkBudget budget = options_.budget(*config_, whole);
  budget.kept = kept_;
  sched::Plan plan = sched::plan_pass(state_, sched::make_policies(state_), now_, budget);
  if (plan.kept != nullptr) kept_ = std::move(plan.kept);
  const Duration took = options_.cpu_clock ? options_.cpu_clock() - before : Duration(0);
  last_pass_ = now_;
  rest_ = engine::rest_after(plan, Duration(0), *config_);
  pass_due_ = engine::next_pass_due(plan, state_, now_);
  if (plan.settling) pass_due_ = std::min(pass_due_, now_ + kSettling);
  PassFigures& figures = result_.passes;
  ++figures.passes;
  figures.starting += plan.starts.empty() ? 0 : 1;
  figures.looked_at += plan.counts.considered;
  figures.tried += plan.counts.tested;
  figures.longest_queue = std::max(figures.longest_queue, plan.counts.pending);
  figures.cpu += took;
  figures.slowest = std::max(figures.slowest, took);
  if (plan.soft != nullptr) note_forecasts(*plan.soft);
  if (plan.starts.empty() && plan.preemptions.empty() && plan.resumes.empty()) return;
  const bool cut = plan.counts.most_starts;
  const auto reply = run_command(
      StartJobs{std::move(plan.starts), std::move(plan.preemptions), std::move(plan.resumes)});
  if (!reply) return;
  const auto& started = std::get<StartedReply>(*reply);
  figures.starts += started.started;
  figures.backfilled += started.backfilled;
  if (started.started > 0 && (cut || started.dropped > 0)) pass_wanted_ = urgent_ = true;
}

void Simulator::note_forecasts(const sched::SchedulerView& soft) {
  for (const sched::SchedulerView::Entry& entry : soft.jobs) {
    if (entry.soft.expected_start == kNoTime) continue;
    SimJob* job = job_of(entry.job);
    if (job != nullptr && job->forecast == kNoTime) job->forecast = entry.soft.expected_start;
  }
}

}  // namespace sluice::sim
