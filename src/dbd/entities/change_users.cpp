// sacctmgr add, modify and delete user.
#include <map>
#include <set>

#include "common/accounting/limit_fields.hpp"
#include "dbd/entities/draft.hpp"

namespace sluice::dbd {

using protocol::AccountingConditions;
using protocol::AccountingSettings;

namespace {

// Administrators make everyone, operators no administrators; others nobody.
bool may_give_level(const Draft& draft, const std::string& user) {
  if (!draft.settings().admin_level || draft.is_administrator()) return true;
  const UserRecord* there = find_user(draft.now, user);
  return draft.is_operator() && *draft.settings().admin_level != AdminLevel::kAdministrator &&
         (there == nullptr || there->admin_level != AdminLevel::kAdministrator);
}

// Of a user who is added. A coordinator chooses among his accounts: a default that is another's
// stays.
bool may_set_default(const Draft& draft, const std::string& user, const std::string& cluster,
                     const std::string& account) {
  if (draft.is_operator() || draft.actor() == user) return true;
  const std::string current = default_account_of(draft.now, user, cluster);
  return draft.may_change(account, cluster) &&
         (current.empty() || current == account || draft.may_change(current, cluster));
}

void make_default(Draft& draft, const std::string& user, const std::string& cluster,
                  const std::string& account) {
  each_of_user(draft.now, user, [&](AssociationId, StoredAssociation& stored) {
    if (stored.record.cluster == cluster)
      stored.record.is_default = stored.record.account == account;
  });
}

uint32_t wckey_id(Draft& draft, const std::string& cluster, const std::string& user,
                  const std::string& name, bool& is_new) {
  uint32_t next = 1;
  for (auto& [id, stored] : draft.now.wckeys) {
    const WckeyRecord& r = stored.record;
    if (r.cluster == cluster && r.user == user && r.name == name) {
      is_new = std::exchange(stored.deleted, false);
      return id;
    }
    next = std::max(next, id + 1);
  }
  WckeyRecord record;
  record.id = next;
  record.cluster = cluster;
  record.user = user;
  record.name = name;
  draft.now.wckeys[next] = {record, false};
  is_new = true;
  return next;
}

void make_default_wckey(Draft& draft, const std::string& user, const std::string& wckey) {
  draft.now.users[user].record.default_wckey = wckey;
  for (auto& [id, stored] : draft.now.wckeys)
    if (stored.record.user == user) stored.record.is_default = stored.record.name == wckey;
}

// The texts of a user that is added, and whether anything is new.
struct Added {
  std::string users, associations, wckeys;
};

// Where a user is to be added on one cluster: accounts, and their associations.
struct ClusterPlaces {
  std::string cluster;
  std::vector<std::pair<std::string, AssociationId>> accounts;
};

// Those that a user is added to: the default account is one of them.
std::vector<std::string> wanted_accounts(const Draft& draft) {
  std::vector<std::string> out = draft.where().accounts;
  const auto& by_default = draft.settings().default_account;
  if (by_default && !by_default->empty() && !has(out, *by_default)) out.push_back(*by_default);
  return out;
}

// Accounts that are not there are passed over, each with a line.
std::vector<ClusterPlaces> places(Draft& draft, const std::vector<std::string>& clusters) {
  std::vector<ClusterPlaces> out;
  for (const std::string& cluster : clusters) {
    out.push_back({cluster, {}});
    for (const std::string& account : wanted_accounts(draft)) {
      const StoredAssociation* above = find_association(draft.now, cluster, account, "", "");
      if (above != nullptr) out.back().accounts.emplace_back(account, above->record.id);
      else draft.refuse(fmt::format("No account {} on cluster {}, skipping.", account, cluster));
    }
  }
  return out;
}

bool add_user_associations(Draft& draft, const std::string& user,
                           const std::vector<ClusterPlaces>& where, Added& added) {
  const AccountingSettings& settings = draft.settings();
  std::vector<std::string> partitions = draft.where().partitions;
  if (partitions.empty()) partitions.emplace_back();
  for (const auto& [cluster, accounts] : where) {
    std::string current = default_account_of(draft.now, user, cluster);
    for (const auto& [account, parent] : accounts) {
      for (const std::string& partition : partitions) {
        if (find_association(draft.now, cluster, account, user, partition) != nullptr) continue;
        if (!draft.may_change(account, cluster)) return draft.deny();
        const AssociationId id =
            draft.add_association(cluster, account, user, partition, parent).id;
        StoredAssociation& stored = draft.now.associations[id];
        if (!draft.set_association(stored)) return false;
        const std::string& wanted = settings.default_account.value_or(account);
        if (current.empty() && wanted == account) {
          current = account;
          make_default(draft, user, cluster, account);
        }
        stored.record.is_default = current == account;
        added.associations +=
            fmt::format("  U = {:<9} A = {:<10} C = {:<10}", user, account, cluster);
        if (!partition.empty()) added.associations += fmt::format(" P = {:<10}", partition);
        added.associations += '\n';
        draft.log("Add Associations", fmt::format("id_assoc={}", id),
                  association_info(draft.now, stored.record, draft.when()), &stored.record);
      }
    }
    if (settings.default_account && find_association(draft.now, cluster, *settings.default_account,
                                                     user, partitions.front()) != nullptr) {
      if (!may_set_default(draft, user, cluster, *settings.default_account)) return draft.deny();
      make_default(draft, user, cluster, *settings.default_account);
    } else if (default_account_of(draft.now, user, cluster).empty() &&
               !draft.where().accounts.empty()) {
      make_default(draft, user, cluster, draft.where().accounts.front());
    }
  }
  return true;
}

void add_user_wckeys(Draft& draft, const std::string& user,
                     const std::vector<std::string>& clusters, Added& added) {
  std::vector<std::string> names = draft.where().wckeys;
  const auto& by_default = draft.settings().default_wckey;
  if (by_default && !by_default->empty() && !has(names, *by_default)) names.push_back(*by_default);
  for (const std::string& cluster : clusters) {
    for (const std::string& name : names) {
      bool is_new = false;
      const uint32_t id = wckey_id(draft, cluster, user, name, is_new);
      if (!is_new) continue;
      added.wckeys += fmt::format("  U = {:<9} W = {:<10} C = {:<10}\n", user, name, cluster);
      draft.log("Add WCKeys", fmt::format("id_wckey={}", id),
                fmt::format("wckey_name='{}', user='{}'", name, user));
      draft.transactions.back().users = {user};
    }
  }
  if (by_default) make_default_wckey(draft, user, *by_default);
  else if (draft.now.users[user].record.default_wckey.empty() && !names.empty())
    make_default_wckey(draft, user, names.front());
}

// "" where none is given
std::string user_settings(const AccountingSettings& settings) {
  std::string lines;
  if (settings.default_account)
    lines += fmt::format("  {:<16}= {}\n", "Default Account", *settings.default_account);
  if (settings.default_wckey)
    lines += fmt::format("  {:<16}= {}\n", "Default WCKey", *settings.default_wckey);
  if (settings.admin_level)
    lines += fmt::format("  {:<16}= {}\n", "Admin Level",
                         accounting::admin_level_text(*settings.admin_level));
  return lines.empty() ? lines : " Settings =\n" + lines;
}

}  // namespace

bool add_users(Draft& draft) {
  const AccountingConditions& where = draft.where();
  const AccountingSettings& settings = draft.settings();
  if (where.users.empty()) return draft.refuse(" Need name of user to add.");
  const size_t accounts = wanted_accounts(draft).size();
  if (accounts == 0 && where.wckeys.empty())
    return draft.refuse(" Need name of account to add user to.");
  std::vector<std::string> clusters;
  if (!draft.clusters(clusters)) return false;
  if (!draft.is_operator() && where.users.size() * accounts * clusters.size() *
                                      std::max<size_t>(where.partitions.size(), 1) >
                                  kMostPlaces)
    return draft.refuse(" Too many associations in one request.");
  const std::vector<ClusterPlaces> wanted = places(draft, clusters);
  Added added;
  for (const std::string& user : where.users) {
    if (!may_give_level(draft, user)) return draft.deny();
    const bool is_new = find_user(draft.now, user) == nullptr;
    const size_t logged = draft.transactions.size();
    if (is_new) {
      UserRecord record;
      record.name = user;
      record.admin_level = settings.admin_level.value_or(AdminLevel::kNone);
      draft.now.users[user] = {record, false};
      draft.log("Add Users", user,
                fmt::format("admin_level={}", static_cast<int>(record.admin_level) + 1));
      draft.transactions.back().users = {user};
    }
    const size_t before = added.associations.size();
    if (!add_user_associations(draft, user, wanted, added)) return false;
    if (!where.wckeys.empty() || settings.default_wckey) {
      if (!draft.is_operator()) return draft.deny();
      add_user_wckeys(draft, user, clusters, added);
    }
    const bool placed = added.associations.size() != before || !added.wckeys.empty();
    if (!is_new) continue;
    // nobody is there who is nowhere
    if (!placed) {
      draft.now.users.erase(user);
      draft.transactions.resize(logged);
    } else {
      added.users += "  " + user + "\n";
      draft.reply.changed.push_back(user);
    }
  }
  if (added.associations.empty() && added.wckeys.empty()) {
    if (draft.reply.errors.empty()) return draft.nothing(" Nothing new added.");
    draft.refuse("Nothing added.");
    return draft.refuse(
        "Make sure the accounts requested here have been added to the system/cluster. (sacctmgr "
        "add account...)");
  }
  if (!draft.default_qos_holds()) return false;
  std::string& shown = draft.reply.shown;
  if (!added.users.empty()) shown += " Adding User(s)\n" + added.users + user_settings(settings);
  if (!added.associations.empty()) shown += " Associations =\n" + added.associations;
  if (!added.wckeys.empty()) shown += " WCKeys =\n" + added.wckeys;
  if (!added.associations.empty())
    shown += " Non Default Settings\n" + association_settings(draft.now, settings);
  return true;
}

namespace {

bool rename_user(Draft& draft, const std::string& from, const std::string& to) {
  if (!draft.is_administrator()) return draft.deny();
  if (from == "root" || find_user(draft.now, to) != nullptr)
    return draft.refuse(fmt::format(" User '{}' cannot be renamed to '{}'.", from, to));
  Stored<UserRecord> moved = draft.now.users[from];
  draft.now.users[from].deleted = true;
  moved.record.name = to;
  draft.now.users[to] = std::move(moved);
  for (auto& [id, stored] : draft.now.associations)
    if (stored.record.user == from) stored.record.user = to;
  renew_places(draft.now);
  draft.moved = true;
  for (auto& [id, stored] : draft.now.wckeys)
    if (stored.record.user == from) stored.record.user = to;
  for (auto& [name, stored] : draft.now.accounts) {
    std::vector<std::string>& list = stored.record.coordinators;
    if (std::erase(list, from) == 0) continue;
    list.insert(std::upper_bound(list.begin(), list.end(), to), to);
  }
  return true;
}

// Of himself a user changes so much and no more.
bool deny_change(Draft& draft, const std::string& user) {
  if (draft.is_operator() && draft.settings().admin_level) {
    draft.reply.shown.clear();
    draft.refuse("sacctmgr: error: You must be a super user to modify a users admin level");
    return draft.refuse(" Error with request: Access/permission denied");
  }
  if (draft.actor() != user) return draft.deny();
  draft.reply.shown.clear();
  draft.refuse(
      "sacctmgr: error: You can only change your own default account, default wckey nothing else");
  return draft.refuse(" Error with request: Access/permission denied");
}

// The user may choose among his own accounts; his coordinator may not.
bool change_default_account(Draft& draft, const std::string& user, std::string& missing) {
  if (!draft.is_operator() && draft.actor() != user) return draft.deny();
  const std::string& account = *draft.settings().default_account;
  if (account.empty()) {
    if (!draft.now.rules.without_default_account)
      return draft.refuse(" A user needs a default account (AllowNoDefAcct of slurmdbd.conf).");
    if (!draft.is_operator()) return draft.deny();
    each_of_user(draft.now, user, [&](AssociationId, StoredAssociation& stored) {
      if (listed(draft.where().clusters, stored.record.cluster)) stored.record.is_default = false;
    });
    return true;
  }
  std::map<std::string, bool> clusters;  // of the user: whether the account is there
  each_of_user(draft.now, user, [&](AssociationId, const StoredAssociation& stored) {
    if (listed(draft.where().clusters, stored.record.cluster))
      clusters[stored.record.cluster] |= stored.record.account == account;
  });
  for (const auto& [cluster, there] : clusters) {
    if (there) make_default(draft, user, cluster, account);
    else missing += fmt::format("\n  U = {} C = {}", user, cluster);
  }
  return true;
}

// The user may choose among his own wckeys.
bool change_default_wckey(Draft& draft, const std::string& user, std::string& missing) {
  if (!draft.is_operator() && draft.actor() != user) return draft.deny();
  const std::string& wckey = *draft.settings().default_wckey;
  // who has none may run jobs that no wckey answers for
  if (wckey.empty() && !draft.is_operator()) return draft.deny();
  const auto has_it = [&](const auto& entry) {
    const Stored<WckeyRecord>& stored = entry.second;
    return !stored.deleted && stored.record.user == user && stored.record.name == wckey;
  };
  if (!wckey.empty() && std::none_of(draft.now.wckeys.begin(), draft.now.wckeys.end(), has_it)) {
    std::set<std::string> clusters;
    each_of_user(draft.now, user, [&](AssociationId, const StoredAssociation& stored) {
      if (listed(draft.where().clusters, stored.record.cluster))
        clusters.insert(stored.record.cluster);
    });
    for (const std::string& cluster : clusters)
      missing += fmt::format("\n  U = {} C = {}", user, cluster);
    return true;
  }
  make_default_wckey(draft, user, wckey);
  return true;
}

bool modify_user_records(Draft& draft, std::string& users) {
  const AccountingSettings& settings = draft.settings();
  std::vector<std::string> names;
  const UsersMeant meant(draft.now, draft.where());
  for (const auto& [name, stored] : draft.now.users)
    if (!stored.deleted && meant.has(stored.record)) names.push_back(name);
  if (settings.new_name && names.size() > 1)
    return draft.refuse(" You can't give several users one new name.");
  std::string no_account, no_wckey;
  for (const std::string& name : names) {
    // operators give a level to new users alone
    if (settings.admin_level && !draft.is_administrator()) return deny_change(draft, name);
    if (settings.admin_level) draft.now.users[name].record.admin_level = *settings.admin_level;
    if (settings.default_account && !change_default_account(draft, name, no_account)) return false;
    if (settings.default_wckey && !change_default_wckey(draft, name, no_wckey)) return false;
    AccountingSettings own;
    own.admin_level = settings.admin_level;
    own.default_account = settings.default_account;
    own.default_wckey = settings.default_wckey;
    own.new_name = settings.new_name;
    draft.log("Modify Users", fmt::format("(name='{}')", name), settings_info(draft.now, own));
    draft.transactions.back().users = {name};
    users += "  " + name + "\n";
    draft.reply.changed.push_back(name);
    if (settings.new_name && !rename_user(draft, name, *settings.new_name)) return false;
  }
  static constexpr const char* kMissing =
      " Can't modify because these users aren't associated with new default {} '{}'...{}";
  if (!no_account.empty())
    return draft.nothing(fmt::format(kMissing, "account", *settings.default_account, no_account));
  if (!no_wckey.empty())
    return draft.nothing(fmt::format(kMissing, "wckey", *settings.default_wckey, no_wckey));
  return true;
}

// What a user may choose of his own associations.
bool only_default_qos(const AccountingSettings& settings) {
  AccountingSettings rest = settings;
  rest.default_qos.reset();
  return settings.default_qos.has_value() && !sets_association(rest);
}

}  // namespace

bool modify_users(Draft& draft) {
  const AccountingSettings& settings = draft.settings();
  const bool of_user = settings.new_name || settings.default_account || settings.default_wckey ||
                       settings.admin_level;
  if (settings.parent) return draft.refuse(" A user has no parent: use add user, delete user");
  if (!of_user && !sets_association(settings))
    return draft.refuse(" You didn't give me anything to set");
  std::string associations;
  if (sets_association(settings)) {
    const UsersMeant meant(draft.now, draft.where());
    for (auto& [id, stored] : draft.now.associations) {
      if (stored.deleted || stored.record.user.empty() ||
          !matches(draft.now, stored, draft.where()))
        continue;
      const UserRecord* user = find_user(draft.now, stored.record.user);
      if (user == nullptr || !meant.has(*user)) continue;
      if (!draft.may_change(stored.record.account, stored.record.cluster) &&
          !(draft.actor() == user->name && only_default_qos(settings)))
        return deny_change(draft, stored.record.user);
      if (!draft.set_association(stored)) return false;
      associations += "  " + modified_line(draft.now, stored.record) + "\n";
      draft.reply.changed.push_back(modified_line(draft.now, stored.record));
      draft.log("Modify Associations", fmt::format("(id_assoc={})", id),
                settings_info(draft.now, settings), &stored.record);
    }
  }
  std::string users;
  if (of_user && !modify_user_records(draft, users)) return false;
  if (users.empty() && associations.empty()) return draft.nothing(" Nothing modified");
  if (!draft.default_qos_holds()) return false;
  if (!users.empty()) draft.reply.shown += " Modified users...\n" + users;
  if (!associations.empty()) draft.reply.shown += " Modified user associations...\n" + associations;
  return true;
}

namespace {

// A coordinator deletes who is nobody elsewhere; whom he takes out of his accounts stays a user.
bool may_delete(const Draft& draft, const UserRecord& user) {
  if (user.admin_level == AdminLevel::kAdministrator) return draft.is_administrator();
  if (draft.is_operator()) return true;
  if (user.admin_level != AdminLevel::kNone) return false;
  return std::all_of(draft.now.accounts.begin(), draft.now.accounts.end(), [&](const auto& entry) {
    const Stored<AccountRecord>& stored = entry.second;
    return stored.deleted || !has(stored.record.coordinators, user.name) ||
           draft.may_change_account(entry.first);
  });
}

// With his wckeys, which are no account's, and so no coordinator's. His associations are gone.
void delete_user(Draft& draft, const std::string& name) {
  for (auto& [id, stored] : draft.now.wckeys)
    if (draft.is_operator() && stored.record.user == name) stored.deleted = true;
  for (auto& [account, stored] : draft.now.accounts) std::erase(stored.record.coordinators, name);
  Stored<UserRecord>& user = draft.now.users[name];
  user.deleted = true;
  user.record.admin_level = AdminLevel::kNone;
  draft.log("Remove Users", fmt::format("(name='{}')", name), "");
  draft.transactions.back().users = {name};
  draft.changed(name);
}

bool delete_user_associations(Draft& draft) {
  std::set<AssociationId> gone;
  std::string defaults;
  for (const auto& [id, stored] : draft.now.associations) {
    const AssociationRecord& r = stored.record;
    if (stored.deleted || r.user.empty() || !matches(draft.now, stored, draft.where())) continue;
    if (!draft.may_change(r.account, r.cluster)) return draft.deny();
    gone.insert(id);
  }
  for (const AssociationId id : gone) {
    const AssociationRecord& r = draft.now.associations[id].record;
    // the last one may go, and one beside which another of the same account stays
    bool others = false;
    bool same = false;
    each_of_user(draft.now, r.user, [&](AssociationId other, const StoredAssociation& stored) {
      if (gone.count(other) != 0 || stored.record.cluster != r.cluster) return;
      others = true;
      same |= stored.record.account == r.account;
    });
    if (r.is_default && others && !same && !draft.now.rules.without_default_account)
      defaults += fmt::format("  C = {:<15} A = {:<10} U = {:<9}\n", r.cluster, r.account, r.user);
  }
  if (gone.empty()) return draft.nothing(" Nothing deleted");
  if (!defaults.empty())
    return draft.refuse(" Error with request: You can not remove the default account of a user\n" +
                        defaults +
                        " Please either remove the accounts listed above from list and resubmit,\n"
                        " or change these users' default accounts to remove the account(s).\n"
                        " Changes Discarded");
  draft.show(" Deleting user associations...");
  std::set<std::string> without;  // users
  for (const AssociationId id : gone) {
    StoredAssociation& stored = draft.now.associations[id];
    stored.deleted = true;
    draft.changed(deleted_line(stored.record));
    draft.log("Remove Associations", fmt::format("id_assoc={}", id), "", &stored.record);
    without.insert(stored.record.user);
  }
  std::erase_if(without, [&](const std::string& name) {
    const UserRecord* user = find_user(draft.now, name);
    bool anywhere = false;
    each_of_user(draft.now, name, [&](AssociationId, StoredAssociation&) { anywhere = true; });
    return anywhere || name == "root" || user == nullptr || !may_delete(draft, *user);
  });
  if (!without.empty()) draft.show(" Deleting users (No Associations)...");
  for (const std::string& name : without) delete_user(draft, name);
  return true;
}

// They are no account's, and so no coordinator's.
bool delete_user_wckeys(Draft& draft) {
  const AccountingConditions& where = draft.where();
  if (!where.accounts.empty()) return draft.refuse(" Mixing Account and WCKeys is not allowed");
  if (!draft.is_operator()) return draft.deny();
  std::vector<uint32_t> gone;
  for (const auto& [id, stored] : draft.now.wckeys) {
    const WckeyRecord& r = stored.record;
    if (!stored.deleted && listed(where.wckeys, r.name) && listed(where.users, r.user) &&
        listed(where.clusters, r.cluster))
      gone.push_back(id);
  }
  if (gone.empty()) return draft.nothing(" Nothing deleted");
  draft.show(" Deleting user WCKeys...");
  for (const uint32_t id : gone) {
    Stored<WckeyRecord>& stored = draft.now.wckeys[id];
    const WckeyRecord& r = stored.record;
    stored.deleted = true;
    if (std::exchange(stored.record.is_default, false))
      draft.now.users[r.user].record.default_wckey.clear();
    draft.changed(fmt::format("C = {:<10} W = {:<20} U = {:<9}", r.cluster, r.name, r.user));
    draft.log("Remove WCKeys", fmt::format("id_wckey={}", id),
              fmt::format("wckey_name='{}', user='{}'", r.name, r.user));
    draft.transactions.back().users = {r.user};
  }
  return true;
}

}  // namespace

bool delete_users(Draft& draft) {
  const AccountingConditions& where = draft.where();
  if (!where.wckeys.empty()) return delete_user_wckeys(draft);
  // who may use a QOS is no condition for the end of a user
  if (!where.qos.empty() || !where.default_qos.empty()) return draft.nothing(" Nothing deleted");
  if (!where.accounts.empty() || !where.clusters.empty() || !where.partitions.empty())
    return delete_user_associations(draft);
  std::vector<std::string> names;
  const UsersMeant meant(draft.now, where);
  for (const auto& [name, stored] : draft.now.users)
    if (!stored.deleted && meant.has(stored.record)) names.push_back(name);
  if (names.empty()) return draft.nothing(" Nothing deleted");
  draft.show(" Deleting users...");
  for (const std::string& name : names) {
    Stored<UserRecord>& user = draft.now.users[name];
    if (name == "root" && where.users.empty()) continue;
    if (!may_delete(draft, user.record)) return draft.deny();
    bool anywhere = false;
    bool his = true;
    each_of_user(draft.now, name, [&](AssociationId id, StoredAssociation& stored) {
      his &= draft.may_change(stored.record.account, stored.record.cluster);
      anywhere = true;
      stored.deleted = true;
      stored.record.is_default = false;
      draft.log("Remove Associations", fmt::format("id_assoc={}", id), "", &stored.record);
    });
    if (!his) return draft.deny();
    if (!anywhere && !draft.is_operator()) return draft.deny();
    delete_user(draft, name);
  }
  return true;
}

}  // namespace sluice::dbd
