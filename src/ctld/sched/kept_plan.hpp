// The plan of a pass, kept for the next one, which repairs it: a job whose nodes are still free
// when it was planned to start, and which nothing that was given back since can start earlier,
// stays where it is without a search.
//
// The rule: at a job's turn let F be the nodes that have more free than they had at its turn in the
// kept plan: those of jobs that ended early, of nodes that came back, of jobs that left the queue,
// were moved or have not had their turn yet. An earlier start than the kept one would use a node
// of F while it has more free, since without that there was none. So where no node of F gives the
// job anything then and before its kept start, that start is the earliest still.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/base/bitmap.hpp"
#include "ctld/sched/resources.hpp"
#include "ctld/sched/why.hpp"

namespace sluice::sched {

// Of a start that may stay as it is.
struct MayStay {
  Waiting waiting;       // what the job waits for
  SharedText node_list;  // of its nodes; empty: not known
};

// What one job was to hold.
struct KeptStart {
  JobId job = kNoJob;
  std::shared_ptr<const JobSpec> spec;
  const state::Partition* partition = nullptr;  // of `KeptPlan::before`
  Time start = kNoTime;
  Tick length = 0;
  std::shared_ptr<const std::vector<NodeAllocation>> nodes;
  // It may stay as it is; empty: it is looked for again each time.
  std::optional<MayStay> stays;
};

struct KeptPlan {
  state::ClusterState before;  // that it was made on
  Time made = kNoTime;
  Duration resolution{0};         // of a tick
  std::vector<KeptStart> starts;  // in the order in which jobs had their turns
  // by job: its first place in `starts`; all of one job stand in a row
  std::unordered_map<JobId, uint32_t> places;
};

// A kept plan while a pass goes through the queue. Jobs have their turns in the pass's order.
class PlanRepair {
 public:
  // `kept` may be null, or be of no use on the newer state (the configuration, a partition or a
  // reservation changed; jobs are preempted): then nothing is kept. `resources` outlives this.
  PlanRepair(const Resources& resources, std::shared_ptr<const KeptPlan> kept);

  [[nodiscard]] bool repairs() const { return kept_ != nullptr; }
  // The job has its turn; what is claimed from now on is its.
  void begin_turn(JobId job);
  [[nodiscard]] bool has_start() const { return kept_ != nullptr && !starts_of(turn_).empty(); }
  // What the job may keep; null: it has to be looked for. Valid during its turn.
  [[nodiscard]] const KeptStart* may_keep(const Request& request, Tick duration);
  // Its turn is over. `claims` are those of this turn.
  void end_turn(std::span<const Claimed> claims);

 private:
  [[nodiscard]] bool is_usable() const;
  void note_changed_nodes();
  void note_ended_jobs();
  void skip(const KeptStart& start);
  void free_nodes_of(const KeptStart& start);
  void note_freed(NodeId node, Tick from, Tick to);
  [[nodiscard]] std::span<const KeptStart> starts_of(JobId job) const;
  [[nodiscard]] bool is_same(std::span<const KeptStart> old, std::span<const Claimed> now) const;
  [[nodiscard]] bool may_improve(const Request& request, Tick start, Tick duration) const;

  const Resources& resources_;
  std::shared_ptr<const KeptPlan> kept_;  // null: nothing is kept
  Bitmap freed_;                          // F
  size_t freed_count_ = 0;
  // by node: more is free at most in these; empty: none is in F
  std::vector<timeline::Closing> freed_when_;
  uint32_t next_ = 0;          // the first start whose turn has not come
  std::vector<bool> settled_;  // by place: its job has had its turn, or is gone
  JobId turn_ = kNoJob;
};

// The plan of a pass that looked at the whole queue. `staying` says by place in `claims` who may
// stay as he is.
[[nodiscard]] std::shared_ptr<const KeptPlan> keep_plan(
    const Resources& resources, const std::unordered_map<size_t, MayStay>& staying);

}  // namespace sluice::sched
