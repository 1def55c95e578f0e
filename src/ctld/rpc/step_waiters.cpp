#include "ctld/rpc/step_waiters.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <boost/asio/steady_timer.hpp>

namespace sluice::ctld {

bool StepWaiters::hold(std::vector<JobId> jobs, Clock::time_point until, std::function<void()> again) {
  if (Clock::now() >= until) return false;
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    id = next_id_++;
    waiting_.push_back({id, std::move(jobs), std::move(again)});
  }
  auto timer = std::make_shared<boost::asio::steady_timer>(timers_, until);
  timer->async_wait([this, timer, id](const boost::system::error_code& error) {
    if (!error) release([id](const Waiter& waiter) { return waiter.id == id; });
  });
  return true;
}

void StepWaiters::wake(JobId job) {
  release([job](const Waiter& waiter) { return std::ranges::find(waiter.jobs, job) != waiter.jobs.end(); });
}

void StepWaiters::release(const std::function<bool(const Waiter&)>& chosen) {
  std::vector<Waiter> released;
  {
    const std::lock_guard lock(mutex_);
    const auto stay = std::stable_partition(waiting_.begin(), waiting_.end(), [&](const Waiter& one) { return !chosen(one); });
    released.assign(std::make_move_iterator(stay), std::make_move_iterator(waiting_.end()));
    waiting_.erase(stay, waiting_.end());
  }
  for (const Waiter& waiter : released) waiter.again();
}

void StepWaiters::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  timers_.stop();
  timers_.join();
  release([](const Waiter&) { return true; });
}

}  // namespace sluice::ctld
