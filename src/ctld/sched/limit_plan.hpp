// Limits of associations and QOS in a pass: what jobs hold, with those that the pass starts.
#pragma once

#include <optional>
#include <vector>

#include "common/base/bitmap.hpp"
#include "ctld/sched/request.hpp"
#include "ctld/state/core/charging.hpp"
#include "ctld/state/limits/accounts.hpp"

namespace sluice::sched {

// An allocation as far as limits look at it.
[[nodiscard]] Allocation allocation_of(std::vector<NodeAllocation> nodes);

class LimitPlan {
 public:
  // `state` outlives this.
  LimitPlan(const state::ClusterState& state, Time now);

  // Whether anything is enforced at all; else nothing of this needs to be asked.
  [[nodiscard]] bool acts() const { return rules_.associations || rules_.qos; }
  // From now on jobs are looked at as they run in this QOS (soft_limit_qos); null: in their own.
  void run_in(const QosRecord* soft) { soft_ = soft; }
  // By what the job asks for, whichever nodes it gets: its account and QOS, and limits.
  [[nodiscard]] std::optional<JobReason> why_not(const Job& job, const state::Partition& partition,
                                                 const TresAmounts& asked, Minutes limit) const;
  // The same with whose limit it is; nullopt: it is none, or the job has no account.
  [[nodiscard]] std::optional<state::LimitHit> hit(const Job& job,
                                                   const state::Partition& partition,
                                                   const TresAmounts& asked, Minutes limit) const;
  struct Start {
    std::optional<JobReason> reason;     // why it may not start with these nodes
    std::optional<state::LimitHit> hit;  // the limit that is the reason
    state::Counted counted;              // what it holds when it does
    // that limit would let it run on these, which its jobs use; none: nowhere
    Bitmap used;
  };
  [[nodiscard]] Start check(const Job& job, const state::Partition& partition,
                            const Allocation& allocation, Minutes limit) const;
  void take(const Start& start);

  // When the limits that hold the job back now let it start, as far as running jobs end in time and
  // planned ones start: an estimate, checked again then. nullopt: not by that, or too far to see.
  [[nodiscard]] std::optional<Time> next_start(const Job& job, const state::Partition& partition,
                                               const TresAmounts& asked, Minutes limit);
  // The same with these nodes, which may give it more than it asks for.
  [[nodiscard]] std::optional<Time> next_start(const Job& job, const state::Partition& partition,
                                               const Allocation& allocation, Minutes limit);
  // The job is to start then on these nodes.
  void plan(const Job& job, const state::Partition& partition, const Allocation& allocation,
            Time start, Minutes limit);

  // Whether it may keep nodes for later: QOS flag NoReserve, MinPrioThreshold.
  [[nodiscard]] bool may_plan(const Job& job, uint32_t priority) const;

  // For a trial that may fail.
  [[nodiscard]] const state::HeldTables& held() const { return held_; }
  void put_back(state::HeldTables held) { held_ = std::move(held); }

 private:
  [[nodiscard]] std::optional<state::LimitHit> limit_hit(const state::HeldTables& held,
                                                         state::StartToCheck start, Time at) const;
  [[nodiscard]] state::AccountIn account_of(const Job& job,
                                            const state::Partition& partition) const;
  // What is held changes then.
  struct Change {
    Time time = kNoTime;
    bool more = false;
    state::Counted counted;
  };
  // Either when it may start, or another limit that holds it back then.
  struct Foreseen {
    std::optional<Time> time;
    std::optional<state::LimitHit> other;
  };
  [[nodiscard]] std::optional<Time> foresee(const state::StartToCheck& start);
  [[nodiscard]] Foreseen foresee(const state::StartToCheck& start,
                                 const std::vector<state::LimitHit>& hits) const;
  void load_changes();
  void add_change(Change change);
  // That jobs of this limit use.
  [[nodiscard]] Bitmap used_nodes(const Job& job, const state::LimitHit& hit) const;
  [[nodiscard]] bool is_covered(const state::Counted& counted, const state::LimitHit& hit) const;

  const state::ClusterState& state_;
  const Time now_;
  const state::Enforced rules_;
  state::HeldTables held_;
  mutable state::RelativeNumbers numbers_;
  std::vector<Change> changes_;  // by time; of running jobs once they were asked for
  bool loaded_ = false;
  const QosRecord* soft_ = nullptr;
};

}  // namespace sluice::sched
