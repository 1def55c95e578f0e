// The rooms of a pass: what every node has free, less what the pass has given away, and what is
// reserved for jobs of higher priority from some time on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/bitmap.hpp"
#include "ctld/fit/place.hpp"
#include "ctld/state/cluster_state.hpp"

namespace sluice::sched {

struct Waiting {
  JobReason reason = JobReason::kResources;
  std::string detail;  // for %R, where the reason alone does not say it
};
struct Forecast {
  Time start = kNoTime;
  Bitmap nodes;
};

class Rooms {
 public:
  // `state` outlives this.
  Rooms(const state::ClusterState& state, Time now);

  // A placement on what is free now, on nodes that the job would give back before they are reserved.
  [[nodiscard]] std::optional<std::vector<NodeAllocation>> place_now(const Job& job,
                                                                     const state::Partition& partition,
                                                                     const fit::Needs& needs,
                                                                     Minutes limit) const;
  void take(const std::vector<NodeAllocation>& allocation, bool whole_nodes);

  // Why the job cannot be placed now: nodes that are down or drained, or plain kResources.
  [[nodiscard]] Waiting why_waiting(const Job& job,
                                    const state::Partition& partition,
                                    const fit::Needs& needs) const;

  // The earliest time at which running jobs, ending at their limits, leave room; those nodes are
  // kept for the job from then on. nullopt: no end in sight.
  std::optional<Forecast> reserve_earliest(const Job& job,
                                           const state::Partition& partition,
                                           const fit::Needs& needs);

  // The same placement with nothing running, on schedulable nodes or (`any_state`) on all.
  [[nodiscard]] std::optional<std::vector<NodeAllocation>> place_empty(const Job& job,
                                                                       const state::Partition& partition,
                                                                       const fit::Needs& needs,
                                                                       bool any_state) const;

 private:
  // Nodes that the job may use there, heaviest last.
  [[nodiscard]] std::vector<NodeId> candidates(const Job& job, const state::Partition& partition) const;
  void mark_required(const Job& job, std::vector<fit::Room>& rooms) const;

  const state::ClusterState& state_;
  const Time now_;
  const fit::Unit unit_;
  std::vector<std::optional<fit::Room>> rooms_;  // by NodeId; none: not schedulable
  std::vector<Time> reserved_from_;              // by NodeId; kNever: free
};

}  // namespace sluice::sched
