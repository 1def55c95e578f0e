// sacctmgr add and delete coordinator; add, modify and delete cluster.
#include <set>

#include <fmt/format.h>

#include "common/accounting/limit_fields.hpp"
#include "dbd/entities/draft.hpp"

namespace sluice::dbd {
namespace {

// The users and accounts that are named.
bool are_there(Draft& draft) {
  for (const std::string& user : draft.where().users)
    if (find_user(draft.now, user) == nullptr)
      return draft.refuse(fmt::format(" You specified a non-existent user '{}'.", user));
  for (const std::string& account : draft.where().accounts)
    if (find_account(draft.now, account) == nullptr)
      return draft.refuse(fmt::format(" You specified a non-existent account '{}'.", account));
  return true;
}

}  // namespace

bool add_coordinators(Draft& draft) {
  const protocol::AccountingConditions& where = draft.where();
  if (where.users.empty() && where.accounts.empty())
    return draft.refuse(" You need to specify conditions to to add the coordinator.");
  if (where.users.empty()) return draft.refuse(" You need to specify a user list here.");
  if (where.accounts.empty()) return draft.refuse(" You need to specify an account list here.");
  if (!draft.is_operator() && where.users.size() * where.accounts.size() > kMostPlaces)
    return draft.refuse(" Too many coordinators in one request.");
  if (!are_there(draft)) return false;
  for (const std::string& account : where.accounts)
    if (!draft.may_change_account(account)) return draft.deny();
  bool any = false;
  for (const std::string& account : where.accounts) {
    std::vector<std::string>& list = draft.now.accounts[account].record.coordinators;
    for (const std::string& user : where.users) {
      const auto at = std::lower_bound(list.begin(), list.end(), user);
      if (at != list.end() && *at == user) continue;
      list.insert(at, user);
      any = true;
      draft.log("Add Account Coord", user, account);
      draft.transactions.back().users = {user};
      draft.transactions.back().accounts = {account};
    }
  }
  if (!any) return draft.nothing(" Nothing new added.");
  draft.show(" Adding Coordinator User(s)");
  for (const std::string& user : where.users) draft.changed(user);
  draft.show(" To Account(s) and all sub-accounts");
  for (const std::string& account : where.accounts) draft.show("  " + account);
  return true;
}

bool delete_coordinators(Draft& draft) {
  const protocol::AccountingConditions& where = draft.where();
  if (where.users.empty() && where.accounts.empty())
    return draft.refuse(" You need to specify a user list or account list here.");
  if (!are_there(draft)) return false;
  std::string removed;
  for (auto& [account, stored] : draft.now.accounts) {
    if (stored.deleted || !listed(where.accounts, account)) continue;
    std::vector<std::string>& list = stored.record.coordinators;
    for (const std::string& user : std::vector<std::string>(list)) {
      if (!listed(where.users, user)) continue;
      if (!draft.may_change_account(account)) return draft.deny();
      std::erase(list, user);
      removed += fmt::format("  U = {:<9} A = {:<10}\n", user, account);
      draft.reply.changed.push_back(fmt::format("U = {:<9} A = {:<10}", user, account));
      draft.log("Remove Account Coords", user, account);
      draft.transactions.back().users = {user};
      draft.transactions.back().accounts = {account};
    }
  }
  if (!where.users.empty()) {
    draft.show(" Removing Coordinators with user name");
    for (const std::string& user : where.users) draft.show("  " + user);
  }
  if (!where.accounts.empty()) {
    draft.show(where.users.empty() ? " Removing all users from Accounts" : " From Account(s)");
    for (const std::string& account : where.accounts) draft.show("  " + account);
  } else {
    draft.show(" From all accounts");
  }
  if (removed.empty()) return draft.show(" Nothing removed"), false;
  draft.reply.shown += " Removed Coordinators (sub accounts not listed)...\n" + removed;
  return true;
}

bool add_clusters(Draft& draft) {
  const std::vector<std::string>& names = draft.where().clusters;
  if (names.empty()) return draft.refuse(" Need name of cluster to add.");
  if (!draft.is_administrator()) return draft.deny();
  std::string lines;
  for (const std::string& name : names) {
    if (has_cluster(draft.now, name)) {
      draft.show(fmt::format(" This cluster {} already exists.  Not adding.", name));
      continue;
    }
    protocol::ClusterRecord record;
    record.name = name;
    if (!register_cluster(draft.now, record, draft.actor(), draft.when(), draft.transactions))
      continue;
    const StoredAssociation* root = find_association(draft.now, name, "root", "", "");
    if (!draft.set_association(draft.now.associations[root->record.id])) return false;
    lines += fmt::format("  {:<15}= {}\n", "Name", name);
    draft.reply.changed.push_back(name);
  }
  if (lines.empty()) {
    draft.reply.shown += " Nothing new added.\n";
    return false;
  }
  draft.reply.shown += " Adding Cluster(s)\n" + lines;
  const std::string limits = association_settings(draft.now, draft.settings());
  if (!limits.empty()) draft.reply.shown += " Setting\n  Default Limits:\n" + limits;
  return draft.default_qos_holds();
}

bool modify_clusters(Draft& draft) {
  if (!sets_association(draft.settings()) || draft.settings().parent)
    return draft.refuse(" You didn't give me anything to set");
  if (!draft.is_operator()) return draft.deny();
  for (const protocol::LimitSetting& limit : draft.settings().limits) {
    using F = protocol::LimitField;
    if (limit.field != F::kGrpTresMins && limit.field != F::kGrpTresRunMins &&
        limit.field != F::kGrpWall)
      continue;
    return draft.refuse(
        fmt::format("{} is not a valid option for the root association of a cluster.",
                    accounting::limit_row(limit.field).association));
  }
  draft.reply.shown =
      " Setting\n  Default Limits:\n" + association_settings(draft.now, draft.settings());
  std::string lines;
  for (const auto& [name, cluster] : draft.now.clusters) {
    if (cluster.deleted || !listed(draft.where().clusters, name)) continue;
    const StoredAssociation* root = find_association(draft.now, name, "root", "", "");
    if (root == nullptr) continue;
    StoredAssociation& stored = draft.now.associations[root->record.id];
    if (!draft.set_association(stored)) return false;
    lines += "  " + modified_line(draft.now, stored.record) + "\n" +
             lines_of_heirs(draft.now, stored.record.id, draft.settings());
    draft.reply.changed.push_back(name);
    draft.log("Modify Clusters", fmt::format("(name='{}')", name),
              settings_info(draft.now, draft.settings()), &stored.record);
  }
  if (lines.empty()) {
    draft.reply.shown += " Nothing modified\n";
    return false;
  }
  draft.reply.shown += " Modified cluster defaults for associations...\n" + lines;
  return draft.default_qos_holds();
}

bool delete_clusters(Draft& draft) {
  if (!draft.is_administrator()) return draft.deny();
  if (draft.where().clusters.empty())
    return draft.refuse(" No conditions given to remove, not executing.");
  std::set<std::string> gone;
  for (auto& [name, cluster] : draft.now.clusters) {
    if (cluster.deleted || !listed(draft.where().clusters, name)) continue;
    cluster.deleted = true;
    gone.insert(name);
  }
  if (gone.empty()) return draft.nothing(" Nothing deleted");
  for (auto& [id, stored] : draft.now.associations) {
    if (!stored.deleted && gone.count(stored.record.cluster) != 0) stored.deleted = true;
  }
  for (auto& [id, stored] : draft.now.wckeys)
    if (gone.count(stored.record.cluster) != 0) stored.deleted = true;
  draft.show(" Deleting clusters...");
  for (const std::string& name : gone) {
    draft.changed(name);
    draft.log("Remove Clusters", fmt::format("(name='{}')", name), "");
    draft.transactions.back().clusters = {name};
  }
  return true;
}

}  // namespace sluice::dbd
