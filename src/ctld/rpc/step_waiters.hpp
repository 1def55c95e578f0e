// Requests for steps that wait until other steps of their job have ended, instead of asking again and again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "common/base/ids.hpp"

namespace sluice::ctld {

class StepWaiters {
 public:
  using Clock = std::chrono::steady_clock;

  StepWaiters() = default;
  StepWaiters(const StepWaiters&) = delete;
  StepWaiters& operator=(const StepWaiters&) = delete;
  ~StepWaiters() { close(); }

  // Calls `again` once, on a thread of its own choice: when room may have come free in one of `jobs`, at `until`, or
  // at close(). False, and nothing is called: that time is over, or close() was called. Any thread.
  bool hold(std::vector<JobId> jobs, Clock::time_point until, std::function<void()> again);
  // Something that steps held in this job may be free. In the order in which they came, those that wait try again.
  void wake(JobId job);
  void close();

 private:
  struct Waiter {
    uint64_t id;
    std::vector<JobId> jobs;
    std::function<void()> again;
  };
  // Calls those that `chosen` is true for, without the lock.
  void release(const std::function<bool(const Waiter&)>& chosen);

  std::mutex mutex_;
  bool closed_ = false;         // guarded by mutex_
  uint64_t next_id_ = 1;        // guarded by mutex_
  std::vector<Waiter> waiting_;  // guarded by mutex_
  boost::asio::thread_pool timers_{1};
};

}  // namespace sluice::ctld
