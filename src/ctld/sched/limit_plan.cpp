#include "ctld/sched/limit_plan.hpp"

#include <algorithm>
#include <utility>

#include "ctld/state/limits/billing.hpp"
#include "ctld/state/limits/soft_qos.hpp"
#include "ctld/state/rules/fits.hpp"

namespace sluice::sched {

using state::AccountIn;
using state::StartToCheck;

namespace {

// Which nodes, and nothing more of them.
std::shared_ptr<const Allocation> nodes_only(const std::vector<NodeAllocation>& nodes) {
  auto out = std::make_shared<Allocation>();
  out->nodes.resize(nodes.size());
  for (size_t at = 0; at < nodes.size(); ++at) out->nodes[at].node = nodes[at].node;
  return out;
}

}  // namespace

Allocation allocation_of(std::vector<NodeAllocation> nodes) {
  Allocation allocation;
  for (const NodeAllocation& node : nodes) allocation.cpus += node.cpus;
  allocation.nodes = std::move(nodes);
  return allocation;
}

LimitPlan::LimitPlan(const state::ClusterState& state, Time now)
    : state_(state),
      now_(now),
      rules_(state::enforced(*state.config)),
      held_(state.accounting.held),
      numbers_(state) {}

std::optional<state::LimitHit> LimitPlan::limit_hit(const state::HeldTables& held,
                                                    StartToCheck start, Time at) const {
  start.numbers = &numbers_;
  return state::limit_hit(state_, held, start, rules_, at);
}

AccountIn LimitPlan::account_of(const Job& job, const state::Partition& partition) const {
  AccountIn in = state::account_in(state_, job, partition, rules_);
  if (soft_ != nullptr && !in.reason && in.account != nullptr)
    in.account = state::soft_account(job, *in.account, *soft_);
  return in;
}

std::optional<JobReason> LimitPlan::why_not(const Job& job, const state::Partition& partition,
                                            const TresAmounts& asked, Minutes limit) const {
  const AccountIn in = account_of(job, partition);
  if (in.reason) return in.reason;
  const StartToCheck start{&job, in.account.get(), &asked, nullptr, limit};
  const auto hit = limit_hit(held_, start, now_);
  return hit ? std::optional(hit->reason) : std::nullopt;
}

std::optional<state::LimitHit> LimitPlan::hit(const Job& job, const state::Partition& partition,
                                              const TresAmounts& asked, Minutes limit) const {
  const AccountIn in = account_of(job, partition);
  if (in.reason) return std::nullopt;
  const StartToCheck start{&job, in.account.get(), &asked, nullptr, limit};
  return limit_hit(held_, start, now_);
}

LimitPlan::Start LimitPlan::check(const Job& job, const state::Partition& partition,
                                  const Allocation& allocation, Minutes limit) const {
  Start out;
  const AccountIn in = account_of(job, partition);
  out.reason = in.reason;
  if (in.reason || in.account == nullptr) return out;
  auto charge = state::charge_of(state_, *job.spec, *partition.config, allocation, *in.account);
  const TresAmounts of_node = state::largest_of_nodes(state_.accounting, allocation);
  const StartToCheck start{&job, in.account.get(), &charge->tres, &of_node, limit, &allocation};
  out.hit = limit_hit(held_, start, now_);
  if (out.hit) {
    out.reason = out.hit->reason;
    if (out.hit->of_nodes) out.used = used_nodes(job, *out.hit);
    return out;
  }
  out.counted.allocation = nodes_only(allocation.nodes);
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

Bitmap LimitPlan::used_nodes(const Job& job, const state::LimitHit& hit) const {
  const state::Held* held = nullptr;
  if (hit.of_user) held = held_.user_of(hit.qos, job.spec->uid);
  else if (hit.of_account) held = held_.account_of(hit.qos, job.spec->account.view());
  else if (hit.qos != 0) held = held_.qos.find(hit.qos);
  else held = held_.associations.find(hit.association);
  Bitmap used;
  if (held != nullptr) held->nodes.for_each([&](NodeId node) { used.set(node); });
  return used;
}

void LimitPlan::take(const Start& start) {
  state::hold(held_, state_.accounting, start.counted);
  if (start.counted.account != nullptr) add_change({start.counted.end, false, start.counted});
}

void LimitPlan::add_change(Change change) {
  const auto at = std::ranges::upper_bound(changes_, change.time, {}, &Change::time);
  changes_.insert(at, std::move(change));
}

void LimitPlan::load_changes() {
  if (std::exchange(loaded_, true)) return;
  state_.active.for_each([&](JobId id) {
    state::Counted counted = state::counted(state_.jobs.at(id));
    if (counted.account == nullptr || counted.jobs == 0) return;
    const Time end = std::max(counted.end, now_);
    changes_.push_back({end, false, std::move(counted)});
  });
  std::ranges::stable_sort(changes_, {}, &Change::time);
}

bool LimitPlan::is_covered(const state::Counted& counted, const state::LimitHit& hit) const {
  const JobAccount& account = *counted.account;
  if (hit.qos != 0) return account.qos == hit.qos || account.partition_qos == hit.qos;
  if (runs_softly(&account)) return false;
  bool covered = false;
  state::for_ancestors(state_.accounting, account.association,
                       [&](AssociationId id, const AssociationRecord*) {
                         covered = covered || id == hit.association;
                       });
  return covered;
}

std::optional<Time> LimitPlan::next_start(const Job& job, const state::Partition& partition,
                                          const TresAmounts& asked, Minutes limit) {
  const AccountIn in = account_of(job, partition);
  if (in.reason || in.account == nullptr) return std::nullopt;
  StartToCheck start{&job, in.account.get(), &asked, nullptr, limit};
  start.on_fresh_nodes = true;
  return foresee(start);
}

std::optional<Time> LimitPlan::next_start(const Job& job, const state::Partition& partition,
                                          const Allocation& allocation, Minutes limit) {
  const AccountIn in = account_of(job, partition);
  if (in.reason || in.account == nullptr) return std::nullopt;
  const auto charge =
      state::charge_of(state_, *job.spec, *partition.config, allocation, *in.account);
  const TresAmounts of_node = state::largest_of_nodes(state_.accounting, allocation);
  return foresee({&job, in.account.get(), &charge->tres, &of_node, limit, &allocation});
}

std::optional<Time> LimitPlan::foresee(const StartToCheck& start) {
  constexpr size_t kMostHits = 4;
  load_changes();
  std::vector<state::LimitHit> hits;
  while (hits.size() <= kMostHits) {
    const Foreseen seen = foresee(start, hits);
    if (seen.time || !seen.other) return seen.time;
    hits.push_back(*seen.other);
  }
  return std::nullopt;
}

// Goes through what changes for the jobs that these limits cover.
LimitPlan::Foreseen LimitPlan::foresee(const StartToCheck& start,
                                       const std::vector<state::LimitHit>& hits) const {
  constexpr size_t kMostLooks = 200;
  state::HeldTables held = held_;
  Time at = now_;
  auto next = changes_.begin();
  for (size_t looks = 0; looks < kMostLooks; ++looks) {
    const auto hit = limit_hit(held, start, at);
    if (!hit) return {at, std::nullopt};
    if (!hit->passes) return {};
    const bool known = std::ranges::any_of(hits, [&](const state::LimitHit& one) {
      return one.qos == hit->qos && one.association == hit->association;
    });
    if (!known) return {std::nullopt, hit};
    bool changed = false;
    for (; next != changes_.end() && (!changed || next->time <= at); ++next) {
      const bool covered = std::ranges::any_of(
          hits, [&](const state::LimitHit& one) { return is_covered(next->counted, one); });
      if (!covered) continue;
      if (next->more) state::hold(held, state_.accounting, next->counted);
      else state::release(held, state_.accounting, next->counted);
      at = std::max(at, next->time);
      changed = true;
    }
    if (!changed) return {};
  }
  return {};
}

void LimitPlan::plan(const Job& job, const state::Partition& partition,
                     const Allocation& allocation, Time start, Minutes limit) {
  const AccountIn in = account_of(job, partition);
  if (in.account == nullptr) return;
  state::Counted counted;
  counted.account = in.account;
  counted.charge = state::charge_of(state_, *job.spec, *partition.config, allocation, *in.account);
  counted.allocation = nodes_only(allocation.nodes);
  counted.uid = job.spec->uid;
  counted.account_name = job.spec->account;
  counted.jobs = counted.submit = 1;
  counted.since = start;
  counted.end = state::planned_end(start, limit);
  add_change({counted.end, false, counted});
  add_change({start, true, std::move(counted)});
}

bool LimitPlan::may_plan(const Job& job, uint32_t priority) const {
  if (job.account == nullptr || !rules_.limits) return true;
  const state::Accounting& accounting = state_.accounting;
  return priority >= state::least_priority_to_plan(accounting, *job.account) &&
         !state::has_qos_flag(accounting, *job.account, kQosNoReserve);
}

}  // namespace sluice::sched
