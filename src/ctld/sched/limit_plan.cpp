#include "ctld/sched/limit_plan.hpp"

#include "ctld/state/limits/billing.hpp"
#include "ctld/state/rules/fits.hpp"

namespace sluice::sched {

using state::AccountIn;
using state::StartToCheck;

LimitPlan::LimitPlan(const state::ClusterState& state, Time now)
    : state_(state),
      now_(now),
      rules_(state::enforced(*state.config)),
      held_(state.accounting.held) {}

std::optional<JobReason> LimitPlan::why_not(const Job& job, const state::Partition& partition,
                                            const TresAmounts& asked, Minutes limit) const {
  const AccountIn in = state::account_in(state_, job, partition, rules_);
  if (in.reason) return in.reason;
  const StartToCheck start{&job, in.account.get(), &asked, nullptr, limit};
  return state::why_limited(state_, held_, start, rules_, now_);
}

LimitPlan::Start LimitPlan::check(const Job& job, const state::Partition& partition,
                                  const Allocation& allocation, Minutes limit) const {
  Start out;
  const AccountIn in = state::account_in(state_, job, partition, rules_);
  out.reason = in.reason;
  if (in.reason || in.account == nullptr) return out;
  auto charge = state::charge_of(state_, *job.spec, *partition.config, allocation, *in.account);
  const TresAmounts of_node = state::largest_of_nodes(state_.accounting, allocation);
  const StartToCheck start{&job, in.account.get(), &charge->tres, &of_node, limit};
  out.reason = state::why_limited(state_, held_, start, rules_, now_);
  if (out.reason) return out;
  out.counted.account = in.account;
  out.counted.charge = std::move(charge);
  out.counted.uid = job.spec->uid;
  out.counted.account_name = job.spec->account;
  out.counted.jobs = out.counted.submit = 1;
  out.counted.end = state::planned_end(now_, limit);
  out.counted.since = now_;
  out.counted.is_charged = true;
  return out;
}

void LimitPlan::take(const Start& start) { state::hold(held_, state_.accounting, start.counted); }

bool LimitPlan::may_plan(const Job& job, uint32_t priority) const {
  if (job.account == nullptr || !rules_.limits) return true;
  const state::Accounting& accounting = state_.accounting;
  return priority >= state::least_priority_to_plan(accounting, *job.account) &&
         !state::has_qos_flag(accounting, *job.account, kQosNoReserve);
}

}  // namespace sluice::sched
