// Who is preempted so that a job can start. The order in which running jobs are looked at, and that
// no more are preempted than it takes, follow what Slurm documents (PreemptParameters,
// PriorityTier).
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ctld/sched/resources.hpp"
#include "ctld/sched/start_finder.hpp"

namespace sluice::sched {

// The components that are told together with this one: all, unless the first is over.
[[nodiscard]] std::vector<JobId> preempted_together(const state::ClusterState& state,
                                                    const Job& job);

class Preemption {
 public:
  // `resources` outlives this.
  explicit Preemption(Resources& resources) : resources_(resources) {}

  // How a running job would make room if it were preempted; nullopt: it is not.
  using LeavingOf = std::function<std::optional<Leaving>(const Job&)>;
  // Whether the job may have these nodes at all: nobody is preempted for what it may not. What it
  // counts against limits then is the caller's.
  using Accepts = std::function<bool(std::vector<NodeAllocation>&)>;
  struct Outcome {
    Time start = kNoTime;  // when all of it is free, as far as can be told
    Bitmap nodes;
    std::vector<JobId> preempted;  // empty: those that leave anyway are enough
  };
  // Nodes for a job that finds none, when jobs that leave already are gone and, if that is not
  // enough, others that are preempted: as few as can be told, those first that partition tier, size
  // and (youngest_first) age put first. The job has them from then on. nullopt: there are none.
  [[nodiscard]] std::optional<Outcome> make_room(const Job& job, const Request& request,
                                                 Minutes limit, const LeavingOf& leaving_of,
                                                 const Accepts& accepts);
  // Whom make_room() chose so far; and as it was before, when the resources are as before, too.
  [[nodiscard]] const Gone& preempted() const { return preempted_; }
  void restore(Gone preempted) { preempted_ = std::move(preempted); }

 private:
  struct Victim {
    const Job* job = nullptr;
    Leaving leaving;
  };
  [[nodiscard]] std::vector<Victim> find_victims(const LeavingOf& leaving_of) const;
  [[nodiscard]] Gone leaving_already() const;
  [[nodiscard]] Placed place_without(const Request& request, Tick duration, const Gone& gone,
                                     const Bitmap* only) const;
  // The least number of victims that is enough, with their placement; `victims` are those then.
  [[nodiscard]] Placed place_with_victims(const Request& request, Tick duration,
                                          std::vector<Victim>& victims, Gone& gone) const;
  // Of those the ones that the placement needs; it is made anew as they become fewer.
  void keep_needed(const Request& request, Tick duration, std::vector<Victim>& victims, Gone& gone,
                   std::vector<NodeAllocation>& placed) const;
  // They go, and with a component of a heterogeneous job its others.
  void preempt(const std::vector<Victim>& victims);

  Resources& resources_;
  Gone preempted_;  // for jobs of this pass
};

}  // namespace sluice::sched
