// The scheduler's thread: woken, it plans on the newest durable snapshot, gives the plan to the
// engine and waits until that is durable, so that the next pass sees it. Many wakes make one pass.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "ctld/engine/engine.hpp"
#include "ctld/engine/publisher.hpp"
#include "ctld/engine/snapshot_holder.hpp"
#include "ctld/sched/pass.hpp"

namespace sluice::engine {

class SchedulerLoop {
 public:
  // All three outlive this. A pass runs at least every `interval` even when nobody wakes it.
  SchedulerLoop(Engine& engine, const Publisher& publisher, Clock clock,
                Duration interval = std::chrono::seconds(30));
  SchedulerLoop(const SchedulerLoop&) = delete;
  SchedulerLoop& operator=(const SchedulerLoop&) = delete;
  ~SchedulerLoop();  // stop()

  void wake();  // any thread
  void stop();  // ends the thread after the pass under way; idempotent

  // What the last pass found out about pending jobs.
  [[nodiscard]] std::shared_ptr<const sched::SoftView> soft() const { return soft_.get(); }

 private:
  void run();
  bool wait_for_wake();
  void run_pass();

  Engine& engine_;
  const Publisher& publisher_;
  const Clock clock_;
  const Duration interval_;
  SnapshotHolder<sched::SoftView> soft_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = true;     // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace sluice::engine
