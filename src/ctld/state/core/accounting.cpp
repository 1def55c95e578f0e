// Look-ups in the records of accounting.
#include "ctld/state/core/accounting.hpp"

#include <algorithm>
#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/model/standard_tres.hpp"
#include "ctld/state/core/charging.hpp"

namespace sluice::state {
namespace {

std::string key_of(std::string_view user, std::string_view account, std::string_view partition) {
  std::string key;
  key.reserve(user.size() + account.size() + partition.size() + 2);
  key.append(user).append(1, '\n').append(account).append(1, '\n').append(partition);
  return key;
}

std::string full_name(const TresRecord& tres) {
  return tres.name.empty() ? tres.type : tres.type + "/" + tres.name;
}

}  // namespace

const Held* HeldTables::user_of(QosId qos_id, uint32_t uid) const {
  return find_member(*this, {qos_id, uid, {}});
}

const Held* HeldTables::account_of(QosId qos_id, std::string_view account) const {
  return find_member(*this, {qos_id, UINT32_MAX, account});
}

std::string name_key(const AssociationRecord& record) {
  return key_of(record.user, record.account, record.partition);
}

NameParts name_parts(std::string_view key) {
  const size_t user_end = std::min(key.find('\n'), key.size());
  const std::string_view rest = key.substr(std::min(user_end + 1, key.size()));
  return {key.substr(0, user_end), rest.substr(0, std::min(rest.find('\n'), rest.size()))};
}

AboveGone above_gone(const Accounting& accounting, std::string_view key) {
  AboveGone out;
  const GoneUsages& gone = accounting.gone_usage->associations;
  std::string at(key);
  for (int depth = 0; depth < kDeepestTree; ++depth) {
    const NameParts parts = name_parts(at);
    const auto known = gone.find(at);
    std::string account(parts.account);
    if (parts.user.empty()) account = known == gone.end() ? std::string() : known->second.parent;
    if (account.empty()) break;
    at = key_of({}, account, {});
    if (const auto live = accounting.names->associations.find(at);
        live != accounting.names->associations.end()) {
      out.live = live->second;
      break;
    }
    out.gone.push_back(at);
  }
  return out;
}

const AssociationRecord* find_association(const Accounting& accounting, AssociationId id) {
  return id == 0 ? nullptr : accounting.associations.find(id);
}

const AssociationRecord* find_association(const Accounting& accounting, std::string_view user,
                                          std::string_view account, std::string_view partition) {
  const auto& known = accounting.names->associations;
  auto at = known.find(key_of(user, account, partition));
  if (at == known.end() && !partition.empty()) at = known.find(key_of(user, account, {}));
  return at == known.end() ? nullptr : accounting.associations.find(at->second);
}

const AssociationRecord* find_association(const Accounting& accounting, const JobSpec& spec,
                                          std::string_view partition) {
  const std::string_view user = spec.user_name.view();
  const std::string account =
      spec.account.empty() ? default_account(accounting, user) : spec.account.str();
  return find_association(accounting, user, account, partition);
}

std::string default_account(const Accounting& accounting, std::string_view user) {
  const auto at = accounting.names->defaults.find(std::string(user));
  if (at == accounting.names->defaults.end()) return {};
  return accounting.associations.at(at->second).account;
}

const QosRecord* find_qos(const Accounting& accounting, std::string_view name) {
  const auto at = accounting.names->qos.find(to_lower(name));
  return at == accounting.names->qos.end() ? nullptr : accounting.qos.find(at->second);
}

QosId find_qos_id(const Accounting& accounting, std::string_view name) {
  const QosRecord* found = name.empty() ? nullptr : find_qos(accounting, name);
  return found == nullptr ? 0 : found->id;
}

const WckeyRecord* find_wckey(const Accounting& accounting, std::string_view user,
                              std::string_view name) {
  const WckeyRecord* found = nullptr;
  accounting.wckeys.for_each([&](const WckeyRecord& record) {
    if (record.user == user && record.name == name) found = &record;
  });
  return found;
}

const AccountingUser* find_user(const Accounting& accounting, uint32_t uid) {
  const auto name = accounting.names->users.find(uid);
  if (name == accounting.names->users.end()) return nullptr;
  const auto at = accounting.users->find(name->second);
  return at == accounting.users->end() ? nullptr : &at->second;
}

AdminLevel admin_level(const Accounting& accounting, uint32_t uid) {
  const AccountingUser* user = find_user(accounting, uid);
  return user == nullptr ? AdminLevel::kNone : user->record.admin_level;
}

bool is_coordinator(const Accounting& accounting, uint32_t uid, std::string_view account) {
  const AccountingUser* user = find_user(accounting, uid);
  if (user == nullptr || account.empty()) return false;
  const auto coordinates = [&](std::string_view name) {
    const auto at = accounting.accounts->find(name);
    return at != accounting.accounts->end() && contains(at->second.coordinators, user->record.name);
  };
  const AssociationRecord* association = find_association(accounting, {}, account, {});
  if (association == nullptr) return coordinates(account);
  bool found = false;
  for_ancestors(accounting, association->id, [&](AssociationId, const AssociationRecord* record) {
    found = found || (record != nullptr && coordinates(record->account));
  });
  return found;
}

TresId find_tres(const Accounting& accounting, std::string_view type, std::string_view name) {
  for (const TresRecord& tres : *accounting.tres) {
    if (iequals(tres.type, type) && iequals(tres.name, name)) return tres.id;
  }
  return 0;
}

std::string tres_name(const Accounting& accounting, TresId id) {
  if (id < kStandardTres.size()) return std::string(kStandardTres[id]);
  const auto at = std::ranges::lower_bound(*accounting.tres, id, {}, &TresRecord::id);
  return at != accounting.tres->end() && at->id == id ? full_name(*at) : std::to_string(id);
}

void rebuild_names(Accounting& accounting) {
  auto names = std::make_shared<AccountingNames>();
  accounting.associations.for_each([&](const AssociationRecord& record) {
    names->associations.emplace(name_key(record), record.id);
    names->by_partition = names->by_partition || !record.partition.empty();
    if (record.is_default && !record.user.empty()) names->defaults.emplace(record.user, record.id);
  });
  accounting.qos.for_each(
      [&](const QosRecord& record) { names->qos.emplace(to_lower(record.name), record.id); });
  for (const auto& [name, user] : *accounting.users) {
    if (user.uid != UINT32_MAX) names->users.emplace(user.uid, name);
  }
  accounting.names = std::move(names);
}

}  // namespace sluice::state
