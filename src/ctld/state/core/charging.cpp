#include "ctld/state/core/charging.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>

#include "common/base/text.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/core/indexes.hpp"

namespace sluice::state {
namespace {

constexpr uint32_t kMemberBuckets = 16'384;
// What a job without a limit may use at most, for limits of what is still to be used.
constexpr Duration kLongest = std::chrono::hours(365 * 24);

uint32_t bucket_of(const MemberKey& key) {
  uint64_t hash = std::hash<std::string_view>()(key.account) ^ (uint64_t{key.uid} << 17) ^ key.qos;
  hash *= 0x9e3779b97f4a7c15ULL;
  return static_cast<uint32_t>(hash >> 40) % kMemberBuckets;
}

auto order_of(const MemberBucket::Entry& e) { return std::tuple(e.qos, e.uid, e.account.view()); }
auto order_of(const MemberKey& k) { return std::tuple(k.qos, k.uid, k.account); }

void change_member(HeldTables& held, const MemberKey& key, const JobPart& part, bool more) {
  const uint32_t bucket = bucket_of(key);
  auto& entries = held.members.edit_or_insert(bucket).entries;
  auto at = std::ranges::lower_bound(entries, order_of(key), {},
                                     [](const auto& e) { return order_of(e); });
  if (at == entries.end() || order_of(*at) != order_of(key))
    at = entries.insert(at, {key.qos, key.uid, SharedText(key.account), {}});
  if (more) return add_part(at->held, part);
  take_part(at->held, part);
  if (at->held.empty()) entries.erase(at);
  if (entries.empty()) held.members.erase(bucket);
}

void change_table(CowTable<Held>& table, uint32_t id, const JobPart& part, bool more) {
  if (more) return add_part(table.edit_or_insert(id), part);
  Held& held = table.edit(id);
  take_part(held, part);
  if (held.empty()) table.erase(id);
}

// Both QOS of a job, each once.
template <class Visit>
void for_qos(const JobAccount& account, Visit&& visit) {
  if (account.qos != 0) visit(account.qos);
  if (account.partition_qos != 0 && account.partition_qos != account.qos)
    visit(account.partition_qos);
}

int64_t charged_since(const Accounting& accounting, Time since) {
  return to_seconds(std::max(since, accounting.charged));
}

void change_held(HeldTables& held, const Accounting& accounting, const Counted& counted,
                 bool more) {
  if (counted.account == nullptr || (counted.submit == 0 && counted.jobs == 0)) return;
  JobPart part;
  part.jobs = counted.jobs;
  part.accruing = counted.accruing;
  part.submit = counted.submit;
  part.charge = counted.charge.get();
  part.allocation = counted.allocation.get();
  part.end = to_seconds(counted.end);
  part.since = charged_since(accounting, counted.since);
  part.is_charged = counted.is_charged;
  JobPart of_account = part;
  of_account.at_once = !runs_softly(counted.account.get());
  for_ancestors(accounting, counted.account->association,
                [&](AssociationId id, const AssociationRecord*) {
                  change_table(held.associations, id, of_account, more);
                });
  for_qos(*counted.account, [&](QosId id) { change_table(held.qos, id, part, more); });
  part.is_charged = false;  // of members no usage is kept
  for_qos(*counted.account, [&](QosId id) {
    change_member(held, {id, counted.uid, {}}, part, more);
    if (!counted.account_name.empty())
      change_member(held, {id, UINT32_MAX, counted.account_name}, part, more);
  });
}

Usage& usage_of(CowTable<Usage>& table, uint32_t id) {
  Usage& usage = table.edit_or_insert(id);
  usage.id = id;
  return usage;
}

}  // namespace

const Held* find_member(const HeldTables& held, const MemberKey& key) {
  const MemberBucket* bucket = held.members.find(bucket_of(key));
  if (bucket == nullptr) return nullptr;
  const auto at = std::ranges::lower_bound(bucket->entries, order_of(key), {},
                                           [](const auto& e) { return order_of(e); });
  return at != bucket->entries.end() && order_of(*at) == order_of(key) ? &at->held : nullptr;
}

Counted counted(const Job& job) {
  Counted out;
  if (job.account == nullptr) return out;
  const bool runs =
      !is_completing(job) && (job.state == JobState::kRunning || job.state == JobState::kSuspended);
  const bool waits = job.state == JobState::kPending;
  if (!runs && !waits && !is_cleaning(job)) return out;
  out.account = job.account;
  out.uid = job.spec->uid;
  out.account_name = job.spec->account;
  out.submit = waits ? static_cast<uint32_t>(place_of(job).count) : 1;
  out.accruing = waits && job.accrue != kNoTime && job.hold == HoldKind::kNone ? out.submit : 0;
  if (!runs) return out;
  out.jobs = 1;
  out.charge = job.charge;
  out.allocation = job.allocation;
  out.end = job.end == kNever || job.end == kNoTime ? job.start + kLongest : job.end;
  out.since = std::max(job.start, job.charged);
  if (job.suspended_at != kNoTime) out.since = std::max(out.since, job.suspended_at);
  out.is_charged = job.state == JobState::kRunning;
  return out;
}

void hold(HeldTables& held, const Accounting& accounting, const Counted& counted) {
  change_held(held, accounting, counted, true);
}

void release(HeldTables& held, const Accounting& accounting, const Counted& counted) {
  change_held(held, accounting, counted, false);
}

void charge_run(ClusterState& state, const Job& job, Time until) {
  const Counted now = counted(job);
  if (now.account == nullptr || now.charge == nullptr || !now.is_charged) return;
  Accounting& accounting = state.accounting;
  const int64_t seconds = to_seconds(until) - charged_since(accounting, now.since);
  if (seconds <= 0) return;
  for_ancestors(accounting, now.account->association,
                [&](AssociationId id, const AssociationRecord*) {
                  add_run(usage_of(accounting.association_usage, id), *now.charge, seconds);
                });
  for_qos(*now.account,
          [&](QosId id) { add_run(usage_of(accounting.qos_usage, id), *now.charge, seconds); });
}

void charge_all(ClusterState& state, Time until, double factor) {
  Accounting& accounting = state.accounting;
  const int64_t second = to_seconds(until);
  if (factor != 1.0) {
    for (uint32_t id = accounting.association_usage.next_id(0); id != CowTable<Usage>::kNone;
         id = accounting.association_usage.next_id(id + 1)) {
      fade(accounting.association_usage.edit(id), factor);
    }
    for (uint32_t id = accounting.qos_usage.next_id(0); id != CowTable<Usage>::kNone;
         id = accounting.qos_usage.next_id(id + 1)) {
      const QosRecord* qos = accounting.qos.find(id);
      const bool keeps = qos != nullptr && (qos->flags & kQosNoDecay) != 0 && factor > 0;
      if (!keeps) fade(accounting.qos_usage.edit(id), factor);
    }
    if (!accounting.gone_usage->empty()) {
      auto gone = std::make_shared<GoneUsage>(*accounting.gone_usage);
      fade(gone->associations, factor);
      fade(gone->qos, factor);
      accounting.gone_usage = std::move(gone);
    }
  }
  const auto charge = [&](CowTable<Held>& held, CowTable<Usage>& usage) {
    for (uint32_t id = held.next_id(0); id != CowTable<Held>::kNone; id = held.next_id(id + 1)) {
      if (held.at(id).wall.per_second == 0) continue;
      add_running(usage_of(usage, id), held.edit(id), second);
    }
  };
  charge(accounting.held.associations, accounting.association_usage);
  charge(accounting.held.qos, accounting.qos_usage);
  accounting.charged = until;
}

void rebuild_held(ClusterState& state) {
  state.accounting.held = {};
  state.jobs.for_each(
      [&](const Job& job) { hold(state.accounting.held, state.accounting, counted(job)); });
}

void refresh_shares(ClusterState& state) {
  if (state.accounting.associations.empty()) return;
  FairShareRules rules;
  rules.fair_tree = !has_option(state.config->priority_flags, "NO_FAIR_TREE");
  rules.dampening = std::max(1U, state.config->fair_share_dampening_factor);
  state.accounting.shares = std::make_shared<FairShares>(fair_shares(state.accounting, rules));
}

}  // namespace sluice::state
