#include <algorithm>

#include "common/base/text.hpp"
#include "dbd/entities/draft.hpp"

namespace sluice::dbd {

bool listed(const std::vector<std::string>& list, std::string_view name) {
  if (list.empty()) return true;
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& other) { return iequals(other, name); });
}

namespace {

bool is_below_one_of(const Entities& entities, const AssociationRecord& record,
                     const std::vector<std::string>& accounts) {
  AssociationId id = record.parent;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const auto above = entities.associations.find(id);
    if (above == entities.associations.end()) return false;
    if (listed(accounts, above->second.record.account)) return true;
    id = above->second.record.parent;
  }
  return false;
}

// Of the associations of a user, also those that are deleted.
template <class Holds>
bool any_of_user(const Entities& entities, std::string_view user, Holds holds) {
  const std::string key = user_key(user);
  for (auto it = entities.places.lower_bound(key);
       it != entities.places.end() && it->first.starts_with(key); ++it) {
    const auto found = entities.associations.find(it->second);
    if (found != entities.associations.end() && holds(found->second)) return true;
  }
  return false;
}

// Of those of an account itself, one a cluster, also those that are deleted.
template <class Holds>
bool any_of_account(const Entities& entities, std::string_view account, Holds holds) {
  AssociationRecord place;
  place.account = account;
  for (const auto& [name, cluster] : entities.clusters) {
    place.cluster = name;
    const auto id = entities.places.find(place_key(place));
    if (id == entities.places.end()) continue;
    const auto found = entities.associations.find(id->second);
    if (found != entities.associations.end() && holds(found->second)) return true;
  }
  return false;
}

}  // namespace

bool matches(const Entities& entities, const StoredAssociation& stored,
             const protocol::AccountingConditions& where) {
  const AssociationRecord& r = stored.record;
  if (stored.deleted && !where.with_deleted) return false;
  if (!listed(where.clusters, r.cluster) || !listed(where.users, r.user) ||
      !listed(where.partitions, r.partition))
    return false;
  if (!where.ids.empty() && !has(where.ids, r.id)) return false;
  if (where.only_defaults && !r.is_default) return false;
  if (!listed(where.accounts, r.account)) {
    if (!where.with_sub_accounts) return false;
    if (!is_below_one_of(entities, r, where.accounts)) return false;
  }
  if (!where.parents.empty()) {  // of accounts
    if (!r.user.empty()) return false;
    const auto above = entities.associations.find(r.parent);
    if (above == entities.associations.end() ||
        !listed(where.parents, above->second.record.account))
      return false;
  }
  if (where.qos.empty() && where.default_qos.empty()) return true;
  const AssociationRecord all = effective(entities, stored);
  const auto named = [&](const std::vector<std::string>& names, QosId id) {
    const auto it = entities.qos.find(id);
    return it != entities.qos.end() && listed(names, it->second.record.name);
  };
  if (!where.default_qos.empty() && !named(where.default_qos, all.default_qos)) return false;
  return where.qos.empty() || std::any_of(all.qos.begin(), all.qos.end(),
                                          [&](QosId id) { return named(where.qos, id); });
}

bool matches(const Entities& entities, const AccountRecord& record,
             const protocol::AccountingConditions& where) {
  if (!listed(where.accounts, record.name) || !listed(where.descriptions, record.description) ||
      !listed(where.organizations, record.organization))
    return false;
  // conditions on associations hold for one of the account's own at least
  if (where.clusters.empty() && where.parents.empty() && where.qos.empty() &&
      where.default_qos.empty())
    return true;
  protocol::AccountingConditions of_association = where;
  of_association.accounts = {record.name};
  return any_of_account(entities, record.name, [&](const StoredAssociation& stored) {
    return matches(entities, stored, of_association);
  });
}

UsersMeant::UsersMeant(const Entities& entities, const protocol::AccountingConditions& where)
    : entities_(entities), where_(where) {
  if (where.wckeys.empty()) return;
  for (const auto& [id, stored] : entities.wckeys)
    if (!stored.deleted && listed(where.wckeys, stored.record.name))
      have_wckey_.insert(stored.record.user);
}

bool UsersMeant::has(const UserRecord& record) const {
  if (!listed(where_.users, record.name)) return false;
  if (where_.admin_level && record.admin_level != *where_.admin_level) return false;
  if (!where_.wckeys.empty() && !have_wckey_.contains(record.name)) return false;
  if (!where_.default_accounts.empty() &&
      !any_of_user(entities_, record.name, [&](const StoredAssociation& stored) {
        return !stored.deleted && stored.record.is_default &&
               listed(where_.default_accounts, stored.record.account);
      }))
    return false;
  if (where_.accounts.empty() && where_.clusters.empty() && where_.partitions.empty() &&
      where_.qos.empty() && where_.default_qos.empty())
    return true;
  protocol::AccountingConditions of_association = where_;
  of_association.users = {record.name};
  return any_of_user(entities_, record.name, [&](const StoredAssociation& stored) {
    return matches(entities_, stored, of_association);
  });
}

std::string default_account_of(const Entities& entities, std::string_view user,
                               std::string_view cluster) {
  std::string out;
  each_of_user(entities, user, [&](AssociationId, const StoredAssociation& stored) {
    const AssociationRecord& r = stored.record;
    if (r.is_default && (cluster.empty() || r.cluster == cluster)) out = r.account;
  });
  return out;
}

}  // namespace sluice::dbd
