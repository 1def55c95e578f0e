#include "ctld/state/apply/follow_names.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/text.hpp"

namespace sluice::state {
namespace {

using Numbers = std::map<TresId, TresId>;

std::string name_of(const AssociationRecord& record) { return name_key(record); }
std::string name_of(const QosRecord& record) { return to_lower(record.name); }
bool decays(const AssociationRecord& /*record*/) { return true; }
bool decays(const QosRecord& record) { return (record.flags & kQosNoDecay) == 0; }
std::string parent_of(const CowTable<AssociationRecord>& records, const AssociationRecord& record) {
  const AssociationRecord* above = record.user.empty() ? records.find(record.parent) : nullptr;
  return above == nullptr ? std::string() : above->account;
}
std::string parent_of(const CowTable<QosRecord>& /*records*/, const QosRecord& /*record*/) {
  return {};
}

template <class Record>
void keep_usage(const CowTable<Record>& records, CowTable<Usage>& usage, GoneUsages& kept,
                const std::vector<uint32_t>& gone) {
  for (const uint32_t id : gone) {
    const Record* record = records.find(id);
    const Usage* used = usage.find(id);
    if (record != nullptr && used != nullptr)
      kept[name_of(*record)] = {*used, decays(*record), parent_of(records, *record)};
    usage.erase(id);
  }
}

template <class Record>
void take_usage(const CowTable<Record>& records, CowTable<Usage>& usage, GoneUsages& kept,
                const std::unordered_set<uint32_t>& fresh) {
  for (const uint32_t id : fresh) {
    const Record* record = records.find(id);
    const auto found = record == nullptr ? kept.end() : kept.find(name_of(*record));
    if (found == kept.end()) continue;
    Usage& mine = usage.edit_or_insert(id);
    mine = std::move(found->second.usage);
    mine.id = id;
    kept.erase(found);
  }
}

template <class Record>
std::unordered_set<uint32_t> fresh_of(const CowTable<Record>& known,
                                      const std::vector<Record>& records,
                                      const std::unordered_set<uint32_t>& gone) {
  std::unordered_set<uint32_t> fresh;
  for (const Record& record : records) {
    if (gone.contains(record.id) || !known.contains(record.id)) fresh.insert(record.id);
  }
  return fresh;
}

Numbers tres_numbers(const TresTable& known, const std::vector<TresRecord>& records) {
  const auto number_of = [&](const TresRecord& tres) -> TresId {
    const auto same = [&](const TresRecord& other) {
      return other.type == tres.type && other.name == tres.name;
    };
    const auto found = std::ranges::find_if(records, same);
    if (found != records.end()) return found->id;
    const bool taken = std::ranges::find(records, tres.id, &TresRecord::id) != records.end();
    return taken ? 0 : tres.id;
  };
  Numbers numbers;
  for (const TresRecord& tres : known) {
    if (const TresId to = number_of(tres); to != tres.id) numbers.emplace(tres.id, to);
  }
  return numbers;
}

template <class Amount>
void renumber(std::vector<Amount>& amounts, const Numbers& numbers) {
  for (Amount& amount : amounts) {
    if (const auto to = numbers.find(amount.id); to != numbers.end()) amount.id = to->second;
  }
  std::erase_if(amounts, [](const Amount& amount) { return amount.id == 0; });
  std::ranges::sort(amounts, {}, &Amount::id);
}

void renumber(CowTable<Usage>& table, const Numbers& numbers) {
  for (uint32_t id = table.next_id(0); id != CowTable<Usage>::kNone; id = table.next_id(id + 1))
    renumber(table.edit(id).tres, numbers);
}

void renumber(GoneUsages& kept, const Numbers& numbers) {
  for (auto& [name, gone] : kept) renumber(gone.usage.tres, numbers);
}

JobAccount account_now(const ClusterState& state, const Job& job, const NumberChanges& changes) {
  const Accounting& accounting = state.accounting;
  JobAccount account = *job.account;
  const auto moves = [](uint32_t id, const auto& gone, const auto& fresh) {
    return id == 0 ? !fresh.empty() : gone.contains(id);
  };
  if (moves(account.association, changes.gone_associations, changes.new_associations)) {
    const AssociationRecord* found = find_association(accounting, *job.spec, job.partition.view());
    account.association = found == nullptr ? 0 : found->id;
  }
  if (moves(account.qos, changes.gone_qos, changes.new_qos))
    account.qos = find_qos_id(accounting, job.spec->qos.view());
  if (changes.gone_qos.contains(account.partition_qos)) {
    const Partition* partition = find_partition(state, job.partition.view());
    account.partition_qos =
        partition == nullptr ? 0 : find_qos_id(accounting, partition->config->qos);
  }
  return account;
}

// Tasks of an array share their accounts and charges before and afterwards.
class JobNumbers {
 public:
  JobNumbers(ClusterState& state, const NumberChanges& changes)
      : state_(state), changes_(changes) {}

  bool follow() {
    std::vector<JobId> moved;
    state_.jobs.for_each([&](const Job& job) {
      const bool other_account =
          job.account != nullptr && account_now(state_, job, changes_) != *job.account;
      if (other_account || (job.charge != nullptr && !changes_.tres.empty()))
        moved.push_back(job.id);
    });
    for (const JobId id : moved) change(state_.jobs.edit(id));
    return !moved.empty();
  }

 private:
  void change(Job& job) {
    if (job.account != nullptr) {
      const JobAccount now = account_now(state_, job, changes_);
      if (now != *job.account) job.account = shared(now);
    }
    if (job.charge == nullptr || changes_.tres.empty()) return;
    auto& made = charges_[job.charge.get()];
    if (made.second == nullptr) {
      auto charge = std::make_shared<JobCharge>(*job.charge);
      renumber(charge->tres, changes_.tres);
      made = {job.charge, std::move(charge)};
    }
    job.charge = made.second;
  }
  std::shared_ptr<const JobAccount> shared(const JobAccount& account) {
    auto& made =
        accounts_[{account.association, account.qos, account.partition_qos, account.own_qos.str()}];
    if (made == nullptr) made = std::make_shared<JobAccount>(account);
    return made;
  }

  ClusterState& state_;
  const NumberChanges& changes_;
  std::map<std::tuple<AssociationId, QosId, QosId, std::string>, std::shared_ptr<const JobAccount>>
      accounts_;
  // with what it was, so that its address is not another's meanwhile
  std::unordered_map<const JobCharge*,
                     std::pair<std::shared_ptr<const JobCharge>, std::shared_ptr<const JobCharge>>>
      charges_;
};

}  // namespace

NumberChanges leave_numbers(Accounting& accounting, const AccountingChanged& event) {
  NumberChanges changes;
  changes.gone_associations = {event.gone_associations.begin(), event.gone_associations.end()};
  changes.gone_qos = {event.gone_qos.begin(), event.gone_qos.end()};
  changes.new_associations =
      fresh_of(accounting.associations, event.associations, changes.gone_associations);
  changes.new_qos = fresh_of(accounting.qos, event.qos, changes.gone_qos);
  changes.tres = tres_numbers(*accounting.tres, event.tres);
  if (changes.gone_associations.empty() && changes.gone_qos.empty()) return changes;
  auto kept = std::make_shared<GoneUsage>(*accounting.gone_usage);
  keep_usage(accounting.associations, accounting.association_usage, kept->associations,
             event.gone_associations);
  keep_usage(accounting.qos, accounting.qos_usage, kept->qos, event.gone_qos);
  accounting.gone_usage = std::move(kept);
  return changes;
}

bool follow_names(ClusterState& state, const NumberChanges& changes) {
  Accounting& accounting = state.accounting;
  if (!changes.tres.empty()) {
    auto kept = std::make_shared<GoneUsage>(*accounting.gone_usage);
    renumber(kept->associations, changes.tres);
    renumber(kept->qos, changes.tres);
    accounting.gone_usage = std::move(kept);
    renumber(accounting.association_usage, changes.tres);
    renumber(accounting.qos_usage, changes.tres);
  }
  if (!accounting.gone_usage->empty() &&
      !(changes.new_associations.empty() && changes.new_qos.empty())) {
    auto kept = std::make_shared<GoneUsage>(*accounting.gone_usage);
    take_usage(accounting.associations, accounting.association_usage, kept->associations,
               changes.new_associations);
    take_usage(accounting.qos, accounting.qos_usage, kept->qos, changes.new_qos);
    accounting.gone_usage = std::move(kept);
  }
  const bool any = !changes.gone_associations.empty() || !changes.new_associations.empty() ||
                   !changes.gone_qos.empty() || !changes.new_qos.empty() || !changes.tres.empty();
  return any && JobNumbers(state, changes).follow();
}

}  // namespace sluice::state
