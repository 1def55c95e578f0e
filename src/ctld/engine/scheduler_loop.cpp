#include "ctld/engine/scheduler_loop.hpp"

#include <future>
#include <utility>

namespace sluice::engine {

SchedulerLoop::SchedulerLoop(Engine& engine, const Publisher& publisher, Clock clock, Duration interval)
    : engine_(engine),
      publisher_(publisher),
      clock_(std::move(clock)),
      interval_(interval),
      soft_(std::make_shared<const sched::SoftView>()),
      thread_([this] { run(); }) {}

SchedulerLoop::~SchedulerLoop() { stop(); }

void SchedulerLoop::wake() {
  const std::lock_guard lock(mutex_);
  wanted_ = true;
  changed_.notify_one();
}

void SchedulerLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

bool SchedulerLoop::wait_for_wake() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, interval_, [this] { return wanted_ || stopping_; });
  wanted_ = false;
  return !stopping_;
}

void SchedulerLoop::run() {
  while (wait_for_wake()) run_pass();
}

void SchedulerLoop::run_pass() {
  const state::ClusterSnapshot state = publisher_.newest()->state;
  sched::Plan plan = sched::plan_pass(*state, sched::make_policies(*state), clock_());
  soft_.set(plan.soft);
  if (plan.starts.empty()) return;
  auto durable = std::make_shared<std::promise<void>>();
  std::future<void> done = durable->get_future();
  const size_t planned = plan.starts.size();
  engine_.post({state::StartJobs{std::move(plan.starts)}, {}, [this, durable, planned](const auto& reply, const auto&) {
                  // what was dropped, or not looked at, is planned again on the newer state
                  const auto* started = reply ? std::get_if<state::StartedReply>(&*reply) : nullptr;
                  if (started != nullptr && (started->dropped > 0 || planned >= sched::WorkBudget{}.most_starts)) wake();
                  durable->set_value();
                }});
  done.wait();
}

}  // namespace sluice::engine
