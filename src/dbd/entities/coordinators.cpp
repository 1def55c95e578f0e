#include "dbd/entities/coordinators.hpp"

#include <algorithm>
#include <unordered_map>

namespace sluice::dbd {
namespace {

using Place = std::pair<std::string, std::string>;  // cluster, account

// The association above; null: there is none.
const StoredAssociation* above(const Entities& entities, const AssociationRecord& record) {
  const auto it = entities.associations.find(record.parent);
  return it == entities.associations.end() ? nullptr : &it->second;
}

bool is_of_account(const StoredAssociation& stored) {
  return !stored.deleted && stored.record.user.empty();
}

}  // namespace

Coordinated::Coordinated(const Entities& entities, std::string_view user) {
  if (user.empty()) return;
  std::set<std::string> own;
  for (const auto& [name, stored] : entities.accounts) {
    const std::vector<std::string>& list = stored.record.coordinators;
    if (!stored.deleted && std::find(list.begin(), list.end(), user) != list.end())
      own.insert(name);
  }
  std::set<Place> direct;  // as one of the account's users
  each_of_user(entities, user, [&](AssociationId, const StoredAssociation& stored) {
    const AccountRecord* account = find_account(entities, stored.record.account);
    if (account != nullptr && account->users_are_coordinators)
      direct.insert({stored.record.cluster, stored.record.account});
  });
  somewhere_ = own;
  if (own.empty() && direct.empty()) return;
  std::unordered_map<AssociationId, bool> known;
  for (const auto& [id, stored] : entities.associations) {
    if (!is_of_account(stored)) continue;
    std::vector<AssociationId> path;
    bool his = false;
    for (const StoredAssociation* at = &stored; at != nullptr; at = above(entities, at->record)) {
      // what is looked at already is known, or a circle
      const auto [it, is_new] = known.try_emplace(at->record.id, false);
      his = it->second;
      if (!is_new) break;
      path.push_back(at->record.id);
      his = own.count(at->record.account) != 0 ||
            direct.count({at->record.cluster, at->record.account}) != 0;
      if (his) break;
    }
    for (const AssociationId passed : path) known[passed] = his;
    const AssociationRecord& record = stored.record;
    if (his) {
      places_.insert({record.cluster, record.account});
      somewhere_.insert(record.account);
    } else {
      elsewhere_.insert(record.account);
    }
  }
}

std::map<std::string, std::vector<std::string>> coordinators_by_account(const Entities& entities,
                                                                        std::string_view cluster) {
  std::map<Place, std::set<std::string>> users;  // who coordinate as users of the account
  for (const auto& [id, stored] : entities.associations) {
    const AssociationRecord& r = stored.record;
    if (stored.deleted || r.user.empty()) continue;
    const AccountRecord* account = find_account(entities, r.account);
    if (account != nullptr && account->users_are_coordinators)
      users[{r.cluster, r.account}].insert(r.user);
  }
  std::map<std::string, std::set<std::string>> found;
  for (const auto& [name, stored] : entities.accounts)
    if (!stored.deleted)
      found[name].insert(stored.record.coordinators.begin(), stored.record.coordinators.end());
  for (const auto& [id, stored] : entities.associations) {
    if (!is_of_account(stored) || (!cluster.empty() && stored.record.cluster != cluster)) continue;
    const auto mine = found.find(stored.record.account);
    if (mine == found.end()) continue;
    int depth = 0;
    for (const StoredAssociation* at = &stored; at != nullptr && depth < kMaxDepth;
         at = above(entities, at->record), ++depth) {
      if (const AccountRecord* account = find_account(entities, at->record.account))
        mine->second.insert(account->coordinators.begin(), account->coordinators.end());
      const auto of_account = users.find({at->record.cluster, at->record.account});
      if (of_account != users.end())
        mine->second.insert(of_account->second.begin(), of_account->second.end());
    }
  }
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& [name, names] : found) out[name].assign(names.begin(), names.end());
  return out;
}

}  // namespace sluice::dbd
