#include "ctld/engine/scheduler_loop.hpp"

#include <algorithm>
#include <utility>

#include "common/base/thread_name.hpp"

namespace sluice::engine {
namespace {

// Until the next pass when the engine took nothing of the last one, or CompleteWait held something
// back: planning the same at once would be no use.
constexpr Duration kSoon = std::chrono::seconds(1);

std::chrono::nanoseconds stage_clock() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

// With the jobs that would have started, but for the disk.
std::shared_ptr<const sched::SchedulerView> held_by_disk(const sched::SchedulerView& view,
                                                         std::vector<JobId> jobs) {
  std::ranges::sort(jobs);
  auto held = std::make_shared<sched::SchedulerView>(view);
  for (sched::SchedulerView::Entry& entry : held->jobs) {
    if (std::ranges::binary_search(jobs, entry.job)) entry.soft.reason = JobReason::kSystemFailure;
  }
  return held;
}

}  // namespace

// Shared with the answer, which may come when the loop is gone: the journal may have no room for
// hours.
struct SchedulerLoop::Started {
  std::mutex mutex;
  std::condition_variable changed;
  bool given_up = false;
  bool answered = false;
  bool obeyed = false;
  ErrorCode refusal = ErrorCode::kOk;
  state::StartedReply reply;

  // False: given up before there was one.
  bool wait_for_answer() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return answered || given_up; });
    return answered;
  }
  void answer(const Result<state::Reply>& what) {
    const std::lock_guard lock(mutex);
    const auto* started = what ? std::get_if<state::StartedReply>(&*what) : nullptr;
    answered = true;
    obeyed = started != nullptr;
    if (obeyed) reply = *started;
    if (!what) refusal = what.error().code;
    changed.notify_one();
  }
  void give_up() {
    const std::lock_guard lock(mutex);
    given_up = true;
    changed.notify_one();
  }
};

SchedulerLoop::SchedulerLoop(Engine& engine, const Publisher& publisher, Clock clock,
                             OnPass on_pass, Duration interval)
    : engine_(engine),
      publisher_(publisher),
      clock_(std::move(clock)),
      on_pass_(std::move(on_pass)),
      interval_(interval),
      soft_(std::make_shared<const sched::SchedulerView>()),
      kept_(nullptr),
      priorities_(std::make_shared<const sched::PriorityMemory>()),
      thread_([this] { run(); }),
      whole_thread_([this] { run_whole(); }) {}

SchedulerLoop::~SchedulerLoop() { stop(); }

void SchedulerLoop::wake(Wake why) {
  const std::lock_guard lock(mutex_);
  wanted_ = true;
  urgent_ = urgent_ || why == Wake::kNews;
  changed_.notify_one();
}

void SchedulerLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
    whole_changed_.notify_one();
    for (const auto& under_way : under_way_) {
      if (under_way) under_way->give_up();
    }
  }
  if (thread_.joinable()) thread_.join();
  if (whole_thread_.joinable()) whole_thread_.join();
}

void SchedulerLoop::report(protocol::QueryStatisticsReply& reply, bool reset) {
  const std::lock_guard lock(mutex_);
  counts_.report(reply);
  reply.is_planning = whole_under_way_;
  if (reset) counts_.reset();
}

bool SchedulerLoop::wait_for_wake() {
  std::unique_lock lock(mutex_);
  Duration longest = longest_wait(*publisher_.newest()->state->config, interval_);
  if (std::exchange(soon_, false)) longest = std::min(longest, kSoon);
  constexpr Duration kBeyond = std::chrono::milliseconds(1);  // so that it is over then
  if (again_ != kNever)
    longest = std::min<Duration>(longest, std::max<Duration>(again_ - clock_() + kBeyond, kBeyond));
  changed_.wait_for(lock, longest, [this] { return wanted_ || stopping_; });
  const auto begins = [this] { return ended_ + rest_.before_next(!urgent_); };
  while (!stopping_ && Steady::now() < begins()) changed_.wait_until(lock, begins());
  wanted_ = urgent_ = false;
  return !stopping_;
}

bool SchedulerLoop::wait_for_whole() {
  std::unique_lock lock(mutex_);
  whole_changed_.wait(lock, [this] { return whole_wanted_ || stopping_; });
  while (!stopping_ && Steady::now() < whole_due_) whole_changed_.wait_until(lock, whole_due_);
  whole_wanted_ = false;
  return !stopping_;
}

void SchedulerLoop::run() {
  name_thread("sched");
  while (wait_for_wake()) {
    run_pass(Depth::kFirst);
    ended_ = Steady::now();
  }
}

void SchedulerLoop::run_whole() {
  name_thread("sched_whole");
  while (wait_for_whole()) {
    whole_under_way_ = true;
    run_pass(Depth::kWhole);
    whole_under_way_ = false;
  }
}

sched::WorkBudget SchedulerLoop::budget(const ClusterConfig& config, Steady::time_point begun,
                                        Depth depth) {
  const bool all = depth == Depth::kWhole;
  sched::WorkBudget budget = budget_of_pass(config, all);
  const auto until = begun + (all ? longest_pass(config) : kShortPass);
  budget.stage_clock = stage_clock;
  budget.out_of_time = [this, until] {
    const std::lock_guard lock(mutex_);
    return stopping_ || Steady::now() >= until;
  };
  return budget;
}

void SchedulerLoop::note_first(const sched::Plan& plan, const state::ClusterState& state,
                               Time planned_at, Duration took) {
  soon_ = plan.settling;
  stopped_at_starts_ = plan.counts.most_starts;
  again_ = next_pass_due(plan, state, planned_at);
  rest_ = rest_after(plan, took, *state.config);
  const std::lock_guard lock(mutex_);
  whole_wanted_ = plan.counts.out_of_time || plan.counts.most_jobs || plan.counts.most_of_partition;
  if (whole_wanted_) whole_changed_.notify_one();
}

void SchedulerLoop::run_pass(Depth depth) {
  const state::ClusterSnapshot state = publisher_.newest()->state;
  const ClusterConfig& config = *state->config;
  const auto begun = Steady::now();
  const Time planned_at = clock_();
  const auto known = soft_.get();
  sched::WorkBudget bounds = budget(config, begun, depth);
  bounds.previous = known.get();
  bounds.kept = kept_.get();
  const sched::Policies of_pass = policies(*state);
  sched::Plan plan = sched::plan_pass(*state, of_pass, planned_at, bounds);
  const auto took = std::chrono::duration_cast<Duration>(Steady::now() - begun);
  if (plan.kept != nullptr) kept_.set(std::move(plan.kept));
  {
    const std::lock_guard lock(mutex_);
    counts_.add(plan.counts, took, planned_at + took);
  }
  if (depth == Depth::kFirst) {
    plan.again = std::min(plan.again, of_pass.priority->next_change(planned_at));
    if (sched::only_increases(config)) {
      priorities_.set(
          std::make_shared<sched::PriorityMemory>(*state, *of_pass.priority, planned_at));
    }
    note_first(plan, *state, planned_at, took);
  } else {
    whole_due_ = Steady::now() + rest_of_whole_passes(took, config);
  }
  const auto dropped = publish(plan, depth);
  if (!on_pass_ || !dropped) return;
  const std::lock_guard lock(on_pass_mutex_);
  on_pass_({*state, plan, took, *dropped});
}

std::optional<size_t> SchedulerLoop::publish(sched::Plan& plan, Depth depth) {
  std::vector<JobId> starting;
  for (const state::PlannedStart& start : plan.starts) starting.push_back(start.job);
  const bool was_full = is_disk_full_;
  soft_.set(was_full ? held_by_disk(*plan.soft, starting) : plan.soft);
  if (plan.starts.empty() && plan.preemptions.empty() && plan.resumes.empty()) return 0;
  const auto dropped = start(
      {on_pass_ ? plan.starts : std::move(plan.starts), plan.preemptions, plan.resumes}, depth);
  if (is_disk_full_ && !was_full) soft_.set(held_by_disk(*plan.soft, starting));
  return dropped;
}

std::optional<size_t> SchedulerLoop::start(state::StartJobs command, Depth depth) {
  const auto started = std::make_shared<Started>();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return std::nullopt;
    under_way_[static_cast<size_t>(depth)] = started;
  }
  const size_t planned = command.starts.size();
  engine_.post({std::move(command), {}, [started](const auto& reply, const auto&) {
                  started->answer(reply);
                }});
  const bool answered = started->wait_for_answer();
  {
    const std::lock_guard lock(mutex_);
    under_way_[static_cast<size_t>(depth)] = nullptr;
    if (answered) counts_.note_started(started->reply);
  }
  if (!answered) return std::nullopt;
  is_disk_full_ = started->refusal == ErrorCode::kStorageFull;
  // what was dropped, or not looked at, is planned again on the newer state
  const state::StartedReply& reply = started->reply;
  if (depth == Depth::kWhole) return started->obeyed ? reply.dropped : planned;
  if (reply.started == 0) soon_ = true;
  else if (reply.dropped > 0 || stopped_at_starts_) wake();
  return started->obeyed ? reply.dropped : planned;
}

}  // namespace sluice::engine
