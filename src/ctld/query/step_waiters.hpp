// Requests for steps that wait until other steps of their job have ended, instead of asking again
// and again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "common/base/ids.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

// Which requests try again when a step has ended: so many that have waited longest, of late tries,
// and all that wait for so long. Without a time there is no need for it: each has its turn, and
// srun asks anew twice a second.
struct StepRetry {
  size_t count = 8;
  std::optional<std::chrono::steady_clock::duration> time;
};
// SchedulerParameters=step_retry_count=N,step_retry_time=SECONDS
[[nodiscard]] StepRetry step_retry(const ClusterConfig& config);

class StepWaiters {
 public:
  using Clock = std::chrono::steady_clock;

  // At most so many bytes are held in all.
  explicit StepWaiters(size_t most_bytes = size_t{64} << 20, StepRetry retry = {})
      : most_bytes_(most_bytes), retry_(retry) {}
  StepWaiters(const StepWaiters&) = delete;
  StepWaiters& operator=(const StepWaiters&) = delete;
  ~StepWaiters() { close(); }

  // Calls `again` once, on a thread of its own choice: when room may have come free in one of
  // `jobs`, at `until`, or at close(). False, and nothing is called: that time is over, `bytes`
  // more are too many, or close() was called. Any thread. `since`: when it was asked for first.
  bool hold(std::vector<JobId> jobs, Clock::time_point until, size_t bytes,
            std::function<void()> again, Clock::time_point since = Clock::now());
  // Something that steps held in this job may be free: some try again, as StepRetry says. Who is
  // held again goes behind the others, so that each has its turn.
  void wake(JobId job);
  void use(StepRetry retry);
  void close();

 private:
  struct Waiter {
    std::vector<JobId> jobs;
    size_t bytes = 0;
    std::function<void()> again;
    Clock::time_point since;
    bool released = false;  // guarded by mutex_
  };
  using WaiterPtr = std::shared_ptr<Waiter>;
  [[nodiscard]] bool release_locked(Waiter& waiter);  // false: it was already
  void time_over(const std::weak_ptr<Waiter>& waiter);

  const size_t most_bytes_;
  std::mutex mutex_;
  StepRetry retry_;      // guarded by mutex_
  bool closed_ = false;  // guarded by mutex_
  size_t bytes_ = 0;     // guarded by mutex_: of those that wait
  // guarded by mutex_; released ones are dropped when met
  std::unordered_map<JobId, std::deque<WaiterPtr>> queues_;
  boost::asio::thread_pool timers_{1};
};

}  // namespace sluice::ctld
