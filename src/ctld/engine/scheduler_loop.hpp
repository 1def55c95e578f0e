// The scheduler's thread: woken, it plans on the newest durable snapshot, gives the plan to the
// engine and waits until that is durable, so that the next pass sees it. Many wakes make one pass
// (pass_rest.hpp).
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "common/protocol/admin.hpp"
#include "ctld/engine/engine.hpp"
#include "ctld/engine/pass_rest.hpp"
#include "ctld/engine/publisher.hpp"
#include "ctld/engine/snapshot_holder.hpp"
#include "ctld/sched/pass.hpp"

namespace sluice::engine {

// For sdiag.
struct PassCounts {
  protocol::CycleCounts all;
  protocol::CycleCounts backfill;  // passes in which a job had to wait for nodes
  uint64_t backfilled = 0;
  uint64_t backfilled_ever = 0;  // never reset
};

// One pass, told when what it decided is durable.
struct PassReport {
  const state::ClusterState& state;  // that it planned on
  const sched::Plan& plan;
  Duration took{};
  size_t dropped = 0;  // starts that no longer fitted
};

class SchedulerLoop {
 public:
  using OnPass = std::function<void(const PassReport&)>;  // called on the scheduler's thread

  // All three outlive this. A pass runs at least every `interval` even when nobody wakes it.
  SchedulerLoop(Engine& engine, const Publisher& publisher, Clock clock, OnPass on_pass = nullptr,
                Duration interval = std::chrono::seconds(30));
  SchedulerLoop(const SchedulerLoop&) = delete;
  SchedulerLoop& operator=(const SchedulerLoop&) = delete;
  ~SchedulerLoop();  // stop()

  enum class Wake : uint8_t { kNews, kSubmitted };  // kSubmitted: nothing but a job came
  void wake(Wake why = Wake::kNews);                // any thread
  // Ends the thread after the pass under way, whose starts may still wait for the journal then;
  // idempotent.
  void stop();

  // What the last pass found out about pending jobs.
  [[nodiscard]] std::shared_ptr<const sched::SchedulerView> soft() const { return soft_.get(); }
  // What the passes did since the counts were last reset.
  [[nodiscard]] PassCounts counts(bool reset);

 private:
  void run();
  bool wait_for_wake();
  void run_pass();
  using Steady = std::chrono::steady_clock;
  // Of a pass that begins now. `all`: it is to look at all jobs.
  [[nodiscard]] sched::WorkBudget budget(const ClusterConfig& config, Steady::time_point begun,
                                         bool all) const;
  struct Started;  // what the engine made of a plan
  // How many no longer fitted; nothing when stop() came before the answer.
  std::optional<size_t> start(state::StartJobs command);
  void count(const sched::PassTimings& pass, Duration took);

  Engine& engine_;
  const Publisher& publisher_;
  const Clock clock_;
  const OnPass on_pass_;
  const Duration interval_;
  SnapshotHolder<sched::SchedulerView> soft_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = true;     // guarded by mutex_
  bool urgent_ = true;     // guarded by mutex_; woken by more than submissions
  bool stopping_ = false;  // guarded by mutex_
  // of the scheduler's thread
  bool soon_ = false;
  Time again_ = kNever;                // next_pass_due()
  Steady::time_point ended_ = {};      // the last pass
  Steady::time_point whole_due_ = {};  // the next pass over all jobs
  bool stopped_at_starts_ = false;     // the last pass had as many as it may have
  PassRest rest_;
  PassCounts counts_;                   // guarded by mutex_
  std::shared_ptr<Started> under_way_;  // guarded by mutex_; null: no plan is
  std::thread thread_;
};

}  // namespace sluice::engine
