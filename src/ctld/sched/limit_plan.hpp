// Limits of associations and QOS in a pass: what jobs hold, with those that the pass starts.
#pragma once

#include <optional>

#include "ctld/sched/request.hpp"
#include "ctld/state/core/charging.hpp"
#include "ctld/state/limits/accounts.hpp"

namespace sluice::sched {

class LimitPlan {
 public:
  // `state` outlives this.
  LimitPlan(const state::ClusterState& state, Time now);

  // Whether anything is enforced at all; else nothing of this needs to be asked.
  [[nodiscard]] bool acts() const { return rules_.associations || rules_.qos; }
  // By what the job asks for, whichever nodes it gets: its account and QOS, and limits.
  [[nodiscard]] std::optional<JobReason> why_not(const Job& job, const state::Partition& partition,
                                                 const TresAmounts& asked, Minutes limit) const;
  struct Start {
    std::optional<JobReason> reason;  // why it may not start with these nodes
    state::Counted counted;           // what it holds when it does
  };
  [[nodiscard]] Start check(const Job& job, const state::Partition& partition,
                            const Allocation& allocation, Minutes limit) const;
  void take(const Start& start);

  // Whether it may keep nodes for later: QOS flag NoReserve, MinPrioThreshold.
  [[nodiscard]] bool may_plan(const Job& job, uint32_t priority) const;

  // For a trial that may fail.
  [[nodiscard]] const state::HeldTables& held() const { return held_; }
  void put_back(state::HeldTables held) { held_ = std::move(held); }

 private:
  const state::ClusterState& state_;
  const Time now_;
  const state::Enforced rules_;
  state::HeldTables held_;
};

}  // namespace sluice::sched
