// Records of accounting change; usage decays.
#include <algorithm>
#include <unordered_set>

#include "ctld/state/apply/follow_names.hpp"
#include "ctld/state/apply/verbs.hpp"
#include "ctld/state/core/charging.hpp"

namespace sluice::state {
namespace {

// Jobs count at the same records afterwards, unless one that has some is gone or elsewhere.
bool moves_jobs(const Accounting& accounting, const AccountingChanged& event) {
  const auto holds = [&](AssociationId id) { return accounting.held.associations.contains(id); };
  return std::ranges::any_of(event.gone_associations, holds) ||
         std::ranges::any_of(event.associations, [&](const AssociationRecord& record) {
           if (!holds(record.id)) return false;
           const AssociationRecord* before = accounting.associations.find(record.id);
           return before == nullptr || before->parent != record.parent;
         });
}

template <class T>
void replace(CowTable<T>& table, const std::vector<T>& records, const std::vector<uint32_t>& gone) {
  for (const uint32_t id : gone) table.erase(id);
  for (const T& record : records) {
    if (record.id != 0 && record.id != CowTable<T>::kNone) table.edit_or_insert(record.id) = record;
  }
}

template <class Table, class Record, class Name>
void replace_named(std::shared_ptr<const Table>& table, const std::vector<Record>& records,
                   const std::vector<std::string>& gone, Name&& name_of) {
  if (records.empty() && gone.empty()) return;
  auto changed = std::make_shared<Table>(*table);
  for (const std::string& name : gone) changed->erase(name);
  for (const Record& record : records) (*changed)[name_of(record)] = record;
  table = std::move(changed);
}

void replace_tres(Accounting& accounting, const std::vector<TresRecord>& records) {
  if (records.empty()) return;
  auto changed = std::make_shared<TresTable>(*accounting.tres);
  std::erase_if(*changed, [&](const TresRecord& known) {
    return std::ranges::any_of(records, [&](const TresRecord& record) {
      return record.id == known.id || (record.type == known.type && record.name == known.name);
    });
  });
  changed->insert(changed->end(), records.begin(), records.end());
  std::ranges::sort(*changed, {}, &TresRecord::id);
  accounting.tres = std::move(changed);
}

// What is kept of records that are gone, and is in the usage of those above them.
void forget_gone(Accounting& accounting, const UsageReset& event,
                 const std::vector<AssociationId>& forgotten) {
  if (event.gone_associations.empty() && event.gone_qos.empty()) return;
  auto kept = std::make_shared<GoneUsage>(*accounting.gone_usage);
  const std::unordered_set<std::string> goes(event.gone_associations.begin(),
                                             event.gone_associations.end());
  for (const std::string& name : event.gone_associations) {
    const auto found = kept->associations.find(name);
    if (found == kept->associations.end()) continue;
    const AboveGone above = above_gone(accounting, name);
    // what is below another one is in that one's
    if (std::ranges::find(forgotten, above.live) != forgotten.end() ||
        std::ranges::any_of(above.gone, [&](const auto& one) { return goes.contains(one); }))
      continue;
    const Usage used = found->second.usage;
    for (const std::string& one : above.gone) {
      if (const auto at = kept->associations.find(one); at != kept->associations.end())
        take_from(at->second.usage, used);
    }
    for_ancestors(accounting, above.live, [&](AssociationId id, const AssociationRecord*) {
      if (accounting.association_usage.contains(id))
        take_from(accounting.association_usage.edit(id), used);
    });
  }
  for (const std::string& name : event.gone_associations) kept->associations.erase(name);
  for (const std::string& name : event.gone_qos) kept->qos.erase(name);
  accounting.gone_usage = std::move(kept);
}

void forget_usage(Accounting& accounting, const AccountingChanged& event) {
  for (const AssociationId id : event.gone_associations) accounting.association_usage.erase(id);
  for (const QosId id : event.gone_qos) accounting.qos_usage.erase(id);
}

}  // namespace

void apply_event(ClusterState& state, const AccountingChanged& event) {
  Accounting& accounting = state.accounting;
  const bool moves = moves_jobs(accounting, event);
  const NumberChanges numbers = event.by_name ? leave_numbers(accounting, event) : NumberChanges();
  if (!event.by_name) forget_usage(accounting, event);
  replace_tres(accounting, event.tres);
  replace_named(accounting.accounts, event.accounts, event.gone_accounts,
                [](const AccountRecord& account) { return account.name; });
  replace_named(accounting.users, event.users, event.gone_users,
                [](const AccountingUser& user) { return user.record.name; });
  replace(accounting.associations, event.associations, event.gone_associations);
  replace(accounting.qos, event.qos, event.gone_qos);
  replace(accounting.wckeys, event.wckeys, event.gone_wckeys);
  accounting.version = event.version;
  rebuild_names(accounting);
  const bool follows = follow_names(state, numbers);
  if (moves || follows) rebuild_held(state);
  refresh_shares(state);
}

void apply_event(ClusterState& state, const UsageDecayed& event) {
  charge_all(state, event.time, event.factor);
  if (event.factor == 0) state.accounting.reset = event.time;
  refresh_shares(state);
}

void apply_event(ClusterState& state, const UsageReset& event) {
  Accounting& accounting = state.accounting;
  const std::unordered_set<AssociationId> asked(event.associations.begin(),
                                                event.associations.end());
  std::vector<AssociationId> forgotten;  // what is asked for, and all below
  accounting.associations.for_each([&](const AssociationRecord& record) {
    size_t asked_above = 0;  // itself among them
    for_ancestors(accounting, record.id, [&](AssociationId id, const AssociationRecord*) {
      asked_above += asked.count(id);
    });
    if (asked_above > 0) forgotten.push_back(record.id);
    const Usage* found = accounting.association_usage.find(record.id);
    // what is below another one is in that one's
    if (found == nullptr || asked_above != 1 || !asked.contains(record.id)) return;
    const Usage used = *found;
    for_ancestors(accounting, record.id, [&](AssociationId above, const AssociationRecord*) {
      if (above != record.id && accounting.association_usage.contains(above))
        take_from(accounting.association_usage.edit(above), used);
    });
  });
  forget_gone(accounting, event, forgotten);
  for (const AssociationId id : forgotten) accounting.association_usage.erase(id);
  for (const QosId id : event.qos) accounting.qos_usage.erase(id);
  refresh_shares(state);
}

}  // namespace sluice::state
