// The scheduler's threads. The first, woken, plans on the newest durable snapshot, gives the plan
// to the engine and waits until that is durable, so that the next pass sees it. Many wakes make one
// pass (pass_rest.hpp). Where its passes end before they have looked at the whole queue, the second
// goes through all of it now and then, on a snapshot of its own: what it starts is checked by the
// engine like any other start, and what it plans for is known of jobs that the first has no time
// for. The plan of a pass that went through all of it is repaired by those that follow.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "ctld/engine/engine.hpp"
#include "ctld/engine/pass_counts.hpp"
#include "ctld/engine/pass_rest.hpp"
#include "ctld/engine/publisher.hpp"
#include "common/base/snapshot_holder.hpp"
#include "ctld/sched/kept_plan.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/sched/policy/incr_only.hpp"

namespace sluice::engine {

// One pass, told when what it decided is durable.
struct PassReport {
  const state::ClusterState& state;  // that it planned on
  const sched::Plan& plan;
  Duration took{};
  size_t dropped = 0;  // starts that no longer fitted
};

class SchedulerLoop {
 public:
  // called on the scheduler's threads, one at a time
  using OnPass = std::function<void(const PassReport&)>;

  // All three outlive this. A pass runs at least every `interval` even when nobody wakes it.
  SchedulerLoop(Engine& engine, const Publisher& publisher, Clock clock, OnPass on_pass = nullptr,
                Duration interval = std::chrono::seconds(30));
  SchedulerLoop(const SchedulerLoop&) = delete;
  SchedulerLoop& operator=(const SchedulerLoop&) = delete;
  ~SchedulerLoop();  // stop()

  enum class Wake : uint8_t { kNews, kSubmitted };  // kSubmitted: nothing but a job came
  void wake(Wake why = Wake::kNews);                // any thread
  // Ends the threads after the passes under way, whose starts may still wait for the journal then;
  // idempotent.
  void stop();

  // What the last pass found out about pending jobs.
  [[nodiscard]] std::shared_ptr<const sched::SchedulerView> soft() const { return soft_.get(); }
  // The policies of this state, with what the last pass remembers.
  [[nodiscard]] sched::Policies policies(const state::ClusterState& state) const {
    return sched::make_policies(state, priorities_.get());
  }
  // The plan of the last pass over the whole queue; null: there was none.
  [[nodiscard]] std::shared_ptr<const sched::KeptPlan> kept() const { return kept_.get(); }
  // What the passes did since the counts were last reset, into the answer to sdiag.
  void report(protocol::QueryStatisticsReply& reply, bool reset);

 private:
  enum class Depth : uint8_t { kFirst, kWhole };  // the first jobs of the queue, or all
  static constexpr size_t kDepths = 2;
  using Steady = std::chrono::steady_clock;

  void run();
  void run_whole();
  bool wait_for_wake();
  bool wait_for_whole();
  void run_pass(Depth depth);
  // Of a pass that begins now.
  [[nodiscard]] sched::WorkBudget budget(const ClusterConfig& config, Steady::time_point begun,
                                         Depth depth);
  // What the pass means for the next ones.
  void note_first(const sched::Plan& plan, const state::ClusterState& state, Time planned_at,
                  Duration took);
  // Tells what the plan found out, and gives it to the engine; as start().
  std::optional<size_t> publish(sched::Plan& plan, Depth depth);
  struct Started;  // what the engine made of a plan
  // How many no longer fitted; nothing when stop() came before the answer.
  std::optional<size_t> start(state::StartJobs command, Depth depth);

  Engine& engine_;
  const Publisher& publisher_;
  const Clock clock_;
  const OnPass on_pass_;
  const Duration interval_;
  SnapshotHolder<sched::SchedulerView> soft_;
  SnapshotHolder<sched::KeptPlan> kept_;              // of the last pass over the whole queue
  SnapshotHolder<sched::PriorityMemory> priorities_;  // of PriorityFlags=INCR_ONLY
  std::mutex mutex_;
  std::condition_variable changed_, whole_changed_;
  bool wanted_ = true;     // guarded by mutex_
  bool urgent_ = true;     // guarded by mutex_; woken by more than submissions
  bool stopping_ = false;  // guarded by mutex_
  // guarded by mutex_: the last pass did not look at all jobs
  bool whole_wanted_ = false;
  PassCounts counts_;  // guarded by mutex_
  std::atomic<bool> whole_under_way_ = false;
  // guarded by mutex_; null: none is
  std::array<std::shared_ptr<Started>, kDepths> under_way_;
  std::mutex on_pass_mutex_;
  std::atomic<bool> is_disk_full_ = false;  // the last plan was refused for that
  // of the first thread
  bool soon_ = false;
  Time again_ = kNever;             // next_pass_due()
  Steady::time_point ended_ = {};   // the last pass
  bool stopped_at_starts_ = false;  // the last pass had as many as it may have
  PassRest rest_;
  // of the second
  Steady::time_point whole_due_ = {};
  std::thread thread_, whole_thread_;
};

}  // namespace sluice::engine
