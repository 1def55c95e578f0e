// The controller's core on a virtual clock: the functions that the daemon calls (decide, apply,
// react, plan_pass), with neither daemons nor waiting. Jobs of a trace are submitted by commands,
// passes are run when something has happened, and what agents would report comes at once: a job's
// script ends when its run time is over, its nodes are clean in the same moment, and programs of
// the site take no time.
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "common/model/cluster_config.hpp"
#include "ctld/engine/pass_rest.hpp"
#include "ctld/sched/kept_plan.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/commands.hpp"
#include "ctld/state/messages/effects.hpp"
#include "sim/run/job_command.hpp"
#include "sim/run/result.hpp"
#include "sim/run/trace_ids.hpp"

namespace sluice::sim {

struct Progress {
  Time now = kNoTime;
  size_t submitted = 0, of = 0;  // jobs
  uint64_t waiting = 0, running = 0;
};

struct SimOptions {
  std::string name;           // of the configuration
  Unit unit = Unit::kCpu;     // what a processor of the trace is
  Duration until = kNoLimit;  // of the trace's time: it ends then, whatever still waits or runs
  // that are asked for when it begins, beside those of the trace
  std::vector<protocol::ChangeReservationRequest> reservations = {};
  std::function<void(const Progress&)> on_progress;  // now and then; may be null
  std::function<Duration()> cpu_clock;  // for the time of passes; null: it is not measured
  // what one pass may do, as the daemon has it; true: a pass over all jobs
  std::function<sched::WorkBudget(const ClusterConfig&, bool)> budget = engine::budget_of_pass;
};

class Simulator {
 public:
  // `trace` outlives what run() gives.
  Simulator(std::shared_ptr<const ClusterConfig> config, const Trace& trace, SimOptions options);
  [[nodiscard]] SimResult run();

 private:
  enum class Kind : uint8_t { kJobOver, kLimit, kNodeUp, kSubmit };
  struct Due {
    Time at = kNoTime;
    Kind kind = Kind::kJobOver;
    uint32_t id = 0;       // of a job, or a node; kSubmit: a place in the trace
    uint32_t restart = 0;  // of a job
    friend bool operator>(const Due& a, const Due& b) {
      if (a.at != b.at) return a.at > b.at;
      if (a.kind != b.kind) return a.kind > b.kind;
      return a.id > b.id;
    }
  };

  void bring_up();
  [[nodiscard]] bool advance();  // to the next moment in which anything happens
  [[nodiscard]] Time next_submission() const;
  void find_followers();
  void submit_due();
  // The job at this place, with all of its components.
  void submit(uint32_t place);
  void is_over(uint32_t place);  // those that are submitted after it may be
  void make_reservations();
  void take_over(const TraceReservation& known);
  [[nodiscard]] std::string known_reservations(const std::string& names) const;
  void do_due();
  void job_over(JobId id, uint32_t restart, std::vector<protocol::StepEnded>& ended);
  void settle();
  void obey(std::vector<state::Effect> effects);
  void launch(const protocol::StepKey& key);
  void note_run(const Job& job);
  void pass();
  void note_forecasts(const sched::SchedulerView& soft);
  void tick();
  void register_node(NodeId id);
  [[nodiscard]] bool may_pass() const;
  [[nodiscard]] SimJob* job_of(JobId id);
  Result<state::Reply> run_command(const state::Command& command);

  std::shared_ptr<const ClusterConfig> config_;
  const Trace& trace_;
  SimOptions options_;
  Submissions submissions_;
  SimResult result_;
  state::ClusterState state_;
  Time now_ = kNoTime;
  size_t submitted_ = 0;  // of the trace, those passed over that wait for their preceding job
  TraceIds ids_;
  // by place: it is submitted after another one's end, or as a component with the first one
  std::vector<bool> follows_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> followers_;  // places by place
  uint32_t idle_wakes_ = 0, idle_ticks_ = 0;  // since something was submitted, started or ended
  std::vector<uint32_t> by_id_;  // positions in result_.jobs, by job id less the first one
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<state::Effect> effects_;
  std::vector<uint32_t> boots_;  // by NodeId

  Time next_tick_ = kNoTime;
  uint64_t ticks_ = 0;
  bool tick_wanted_ = false;
  bool pass_wanted_ = false, urgent_ = false;    // urgent: not only as jobs came
  Time pass_due_ = kNever;                       // without news
  std::shared_ptr<const sched::KeptPlan> kept_;  // of the last pass over the whole queue
  Time last_pass_ = kNoTime, last_whole_pass_ = kNoTime;
  engine::PassRest rest_;
};

}  // namespace sluice::sim
