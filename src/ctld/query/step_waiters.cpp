#include "ctld/query/step_waiters.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "common/base/text.hpp"

namespace sluice::ctld {
namespace {

constexpr size_t kOwnBytes = 4096;  // about what a request needs besides its environment

}  // namespace

StepRetry step_retry(const ClusterConfig& config) {
  StepRetry retry;
  const std::vector<std::string>& said = config.scheduler_parameters;
  const auto count = to_number<size_t>(option_value(said, "step_retry_count").value_or(""));
  const auto seconds = to_number<uint32_t>(option_value(said, "step_retry_time").value_or(""));
  if (count) retry.count = std::max<size_t>(*count, 1);
  if (seconds) retry.time = std::chrono::seconds(*seconds);
  return retry;
}

void StepWaiters::use(StepRetry retry) {
  const std::lock_guard lock(mutex_);
  retry_ = retry;
}

bool StepWaiters::hold(std::vector<JobId> jobs, Clock::time_point until, size_t bytes,
                       std::function<void()> again, Clock::time_point since) {
  if (Clock::now() >= until) return false;
  auto waiter = std::make_shared<Waiter>();
  waiter->jobs = std::move(jobs);
  waiter->bytes = bytes + kOwnBytes;
  waiter->again = std::move(again);
  waiter->since = since;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || waiter->bytes > most_bytes_ - bytes_) return false;
    bytes_ += waiter->bytes;
    for (const JobId job : waiter->jobs) queues_[job].push_back(waiter);
  }
  auto timer = std::make_shared<boost::asio::steady_timer>(timers_, until);
  timer->async_wait(
      [this, timer, weak = std::weak_ptr(waiter)](const boost::system::error_code& error) {
        if (!error) time_over(weak);
      });
  return true;
}

bool StepWaiters::release_locked(Waiter& waiter) {
  if (std::exchange(waiter.released, true)) return false;
  bytes_ -= waiter.bytes;
  return true;
}

void StepWaiters::time_over(const std::weak_ptr<Waiter>& weak) {
  const WaiterPtr waiter = weak.lock();
  if (waiter == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (!release_locked(*waiter)) return;
    for (const JobId job : waiter->jobs) {
      const auto queue = queues_.find(job);
      if (queue == queues_.end()) continue;
      std::erase(queue->second, waiter);
      if (queue->second.empty()) queues_.erase(queue);
    }
  }
  waiter->again();
}

void StepWaiters::wake(JobId job) {
  std::vector<WaiterPtr> released;
  {
    const std::lock_guard lock(mutex_);
    const auto at = queues_.find(job);
    if (at == queues_.end()) return;
    std::deque<WaiterPtr>& queue = at->second;
    while (!queue.empty() && released.size() < retry_.count) {
      if (release_locked(*queue.front())) released.push_back(std::move(queue.front()));
      queue.pop_front();
    }
    if (retry_.time) {
      std::erase_if(queue, [&, now = Clock::now()](const WaiterPtr& waiter) {
        if (now - waiter->since < *retry_.time) return false;
        if (release_locked(*waiter)) released.push_back(waiter);
        return true;
      });
    }
    if (queue.empty()) queues_.erase(at);
  }
  for (const WaiterPtr& waiter : released) waiter->again();
}

void StepWaiters::close() {
  timers_.stop();
  timers_.join();
  std::unordered_map<JobId, std::deque<WaiterPtr>> queues;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    queues = std::exchange(queues_, {});
  }
  for (const auto& [job, queue] : queues) {
    for (const WaiterPtr& waiter : queue) {
      {
        const std::lock_guard lock(mutex_);
        if (!release_locked(*waiter)) continue;
      }
      waiter->again();
    }
  }
}

}  // namespace sluice::ctld
