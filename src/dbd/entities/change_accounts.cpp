// sacctmgr add, modify and delete account.
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "common/accounting/limit_fields.hpp"
#include "dbd/entities/draft.hpp"

namespace sluice::dbd {

using protocol::AccountingSettings;

namespace {

// Clusters and the parent's association in each; a cluster without that parent is left out.
struct Place {
  std::string cluster;
  AssociationId parent = 0;
};

std::vector<Place> places(Draft& draft, const std::vector<std::string>& clusters,
                          const std::string& parent) {
  std::vector<Place> out;
  for (const std::string& cluster : clusters) {
    const StoredAssociation* above = find_association(draft.now, cluster, parent, "", "");
    if (above != nullptr) {
      out.push_back({cluster, above->record.id});
      continue;
    }
    draft.refuse(
        fmt::format(" Parent account '{}' doesn't exist on cluster {}\n        Contact "
                    "your admin to add this account.",
                    parent, cluster));
  }
  return out;
}

void describe_new_account(Draft& draft, const std::string& name, const std::string& parent) {
  const AccountingSettings& settings = draft.settings();
  AccountRecord record;
  record.name = name;
  record.description = settings.description.value_or(name);
  record.organization = settings.organization.value_or(parent == "root" ? name : parent);
  record.users_are_coordinators = settings.users_are_coordinators.value_or(false);
  draft.log("Add Accounts", name,
            fmt::format("description='{}', organization='{}', flags='{}'", record.description,
                        record.organization, record.users_are_coordinators ? 1 : 0));
  draft.transactions.back().accounts = {name};
  draft.now.accounts[name] = {std::move(record), false};
}

// Its jobs would become those of who coordinates the new one.
bool again(Draft& draft, const std::string& name) {
  return draft.refuse(fmt::format(
      " Account '{}' was there before and was deleted: an operator may add it again.", name));
}

bool stood_there(const Entities& entities, const std::string& cluster, const std::string& account) {
  AssociationRecord place;
  place.cluster = cluster;
  place.account = account;
  return entities.places.contains(place_key(place));
}

}  // namespace

bool add_accounts(Draft& draft) {
  const std::vector<std::string>& names = draft.where().accounts;
  if (names.empty()) return draft.refuse(" Need name of account to add.");
  const AccountingSettings& settings = draft.settings();
  const std::string parent = settings.parent.value_or("root");
  if (!draft.may_change_something()) return draft.deny();
  std::vector<std::string> clusters;
  if (!draft.clusters(clusters)) return false;
  for (const std::string& cluster : clusters)
    if (!draft.may_change(parent, cluster)) return draft.deny();
  const std::vector<Place> where = places(draft, clusters, parent);
  if (where.empty()) return draft.refuse(" No associations created.");

  std::string accounts;
  std::string associations;
  for (const std::string& name : names) {
    if (find_account(draft.now, name) == nullptr) {
      if (!draft.is_operator() && draft.now.accounts.contains(name)) return again(draft, name);
      describe_new_account(draft, name, parent);
      accounts += "  " + name + "\n";
      draft.reply.changed.push_back(name);
    } else if (!draft.may_change_account(name)) {
      return draft.deny();  // below an account of his it would be his
    }
    for (const Place& place : where) {
      if (find_association(draft.now, place.cluster, name, "", "") != nullptr) continue;
      if (!draft.is_operator() && stood_there(draft.now, place.cluster, name))
        return again(draft, name);
      const int depth = depth_of(draft.now, place.parent) + 1;
      if (std::string problem = depth_problem(name, place.cluster, depth); !problem.empty())
        return draft.refuse(std::move(problem));
      const AssociationId id = draft.add_association(place.cluster, name, "", "", place.parent).id;
      StoredAssociation& stored = draft.now.associations[id];
      if (!draft.set_association(stored)) return false;
      stored.record.lineage = lineage_of(draft.now, stored.record);
      associations += fmt::format("  A = {:<10} C = {:<10}\n", name, place.cluster);
      draft.log("Add Associations", fmt::format("id_assoc={}", id),
                association_info(draft.now, stored.record, draft.when()), &stored.record);
    }
  }
  if (accounts.empty() && associations.empty()) return draft.nothing(" Nothing new added.");
  if (!draft.default_qos_holds()) return false;
  std::string& shown = draft.reply.shown;
  if (!accounts.empty()) {
    shown += " Adding Account(s)\n" + accounts + " Settings\n";
    shown +=
        fmt::format("  {:<16}= {}\n", "Description", settings.description.value_or("Account Name"));
    shown += fmt::format("  {:<16}= {}\n", "Organization",
                         settings.organization.value_or("Parent/Account Name"));
  }
  if (!associations.empty()) {
    shown += " Associations\n" + associations;
    AccountingSettings listed_settings = settings;
    if (sets_association(settings) || settings.description || settings.organization)
      listed_settings.parent = parent;
    const std::string limits = association_settings(draft.now, listed_settings);
    if (!limits.empty()) shown += " Settings\n" + limits;
  }
  return true;
}

namespace {

// Which associations stand below which, of those that are not deleted.
class Children {
 public:
  explicit Children(const Entities& entities) {
    for (const auto& [id, stored] : entities.associations)
      if (!stored.deleted) children_[stored.record.parent].insert(id);
  }
  void move(AssociationId id, AssociationId from, AssociationId to) {
    children_[from].erase(id);
    children_[to].insert(id);
  }
  // Right below this one.
  [[nodiscard]] std::set<AssociationId> of(AssociationId top) const {
    const auto found = children_.find(top);
    return found == children_.end() ? std::set<AssociationId>() : found->second;
  }
  // Below these, at any depth; not themselves, unless one is below another.
  [[nodiscard]] std::set<AssociationId> below(const std::set<AssociationId>& tops) const {
    std::set<AssociationId> out;
    std::vector<AssociationId> todo(tops.begin(), tops.end());
    while (!todo.empty()) {
      const auto found = children_.find(todo.back());
      todo.pop_back();
      if (found == children_.end()) continue;
      for (const AssociationId id : found->second)
        if (out.insert(id).second) todo.push_back(id);
    }
    return out;
  }

  // How many accounts there are from this one to the deepest below it, both counted.
  [[nodiscard]] int height_of(AssociationId id, const Entities& entities) const {
    int height = 0;
    for (std::vector<AssociationId> level = {id}; !level.empty() && height <= kMaxDepth; ++height) {
      std::vector<AssociationId> next;
      for (const AssociationId one : level) {
        const auto found = children_.find(one);
        if (found == children_.end()) continue;
        for (const AssociationId child : found->second)
          if (entities.associations.at(child).record.user.empty()) next.push_back(child);
      }
      level = std::move(next);
    }
    return height;
  }

 private:
  std::unordered_map<AssociationId, std::set<AssociationId>> children_;
};

// What of these settings reaches an association below: where it has no value of its own.
AccountingSettings inherited(const StoredAssociation& below, const AccountingSettings& settings) {
  StoredAssociation copy = below;
  AccountingSettings out;
  for (const protocol::LimitSetting& limit : settings.limits) {
    const auto& row = accounting::limit_row(limit.field);
    if (row.inherited && !accounting::is_set(accounting::limit_of(copy.record, limit.field)))
      out.limits.push_back(limit);
  }
  if (below.record.qos.empty()) out.qos = settings.qos;
  if (below.record.default_qos == 0) out.default_qos = settings.default_qos;
  return out;
}

// The users whom a change of an account reaches, by way of accounts without a value of their own.
void name_heirs(const Entities& now, const Children& children, AssociationId top,
                const AccountingSettings& settings, std::string& lines) {
  std::string of_accounts;  // behind its own users
  for (const AssociationId id : children.of(top)) {
    const StoredAssociation& below = now.associations.at(id);
    const AccountingSettings reaching = inherited(below, settings);
    if (!sets_association(reaching)) continue;
    if (below.record.user.empty()) name_heirs(now, children, id, reaching, of_accounts);
    else lines += "  " + modified_line(now, below.record) + "\n";
  }
  lines += of_accounts;
}

// The associations of accounts that are meant, each before the users below it that inherit.
bool modify_account_associations(Draft& draft, std::string& lines) {
  const AccountingSettings& settings = draft.settings();
  std::vector<AssociationId> meant;
  for (const auto& [id, stored] : draft.now.associations) {
    if (stored.deleted || !stored.record.user.empty() || !matches(draft.now, stored, draft.where()))
      continue;
    const AccountRecord* account = find_account(draft.now, stored.record.account);
    if (account != nullptr && matches(draft.now, *account, draft.where())) meant.push_back(id);
  }
  Children children(draft.now);
  for (const AssociationId id : meant) {
    StoredAssociation& stored = draft.now.associations[id];
    if (!draft.may_limit(stored.record)) return draft.deny();
    if (settings.parent) {
      const StoredAssociation* above =
          find_association(draft.now, stored.record.cluster, *settings.parent, "", "");
      if (above == nullptr)
        return draft.refuse(fmt::format(" Parent Account {} doesn't exist.", *settings.parent));
      if (!draft.may_change(*settings.parent, stored.record.cluster)) return draft.deny();
      if (is_below(draft.now, above->record.id, id))
        return draft.refuse(
            fmt::format(" Account '{}' is '{}' or below it: it cannot be its parent.",
                        *settings.parent, stored.record.account));
      const int depth = depth_of(draft.now, above->record.id) + children.height_of(id, draft.now);
      const AssociationRecord& r = stored.record;
      if (std::string problem = depth_problem(r.account, r.cluster, depth); !problem.empty())
        return draft.refuse(std::move(problem));
      children.move(id, stored.record.parent, above->record.id);
      stored.record.parent = above->record.id;
      draft.moved = true;
    }
    if (!draft.set_association(stored)) return false;
    lines += "  " + modified_line(draft.now, stored.record) + "\n";
    draft.reply.changed.push_back(modified_line(draft.now, stored.record));
    draft.log("Modify Associations", fmt::format("(id_assoc={})", id),
              settings_info(draft.now, settings), &stored.record);
    name_heirs(draft.now, children, id, settings, lines);
  }
  return true;
}

}  // namespace

std::string lines_of_heirs(const Entities& now, AssociationId top,
                           const AccountingSettings& settings) {
  std::string lines;
  name_heirs(now, Children(now), top, settings, lines);
  return lines;
}

bool modify_accounts(Draft& draft) {
  const AccountingSettings& settings = draft.settings();
  const bool of_account =
      settings.description || settings.organization || settings.users_are_coordinators;
  if (!of_account && !sets_association(settings))
    return draft.refuse(" You didn't give me anything to set");
  std::string accounts;
  if (of_account) {
    for (auto& [name, stored] : draft.now.accounts) {
      if (stored.deleted || !matches(draft.now, stored.record, draft.where())) continue;
      if (!draft.is_operator()) return draft.deny();
      if (settings.description) stored.record.description = *settings.description;
      if (settings.organization) stored.record.organization = *settings.organization;
      if (settings.users_are_coordinators)
        stored.record.users_are_coordinators = *settings.users_are_coordinators;
      accounts += "  " + name + "\n";
      draft.reply.changed.push_back(name);
      AccountingSettings own;
      own.description = settings.description;
      own.organization = settings.organization;
      own.users_are_coordinators = settings.users_are_coordinators;
      draft.log("Modify Accounts", fmt::format("(name='{}')", name), settings_info(draft.now, own));
      draft.transactions.back().accounts = {name};
    }
  }
  std::string associations;
  if (sets_association(settings) && !modify_account_associations(draft, associations)) return false;
  if (accounts.empty() && associations.empty()) return draft.nothing(" Nothing modified");
  if (!draft.default_qos_holds()) return false;
  if (!accounts.empty()) draft.reply.shown += " Modified accounts...\n" + accounts;
  if (!associations.empty())
    draft.reply.shown += " Modified account associations...\n" + associations;
  return true;
}

namespace {

// Those of `gone` that are the default account of a user who stays, as lines.
std::string defaults_among(const Draft& draft, const std::set<AssociationId>& gone) {
  std::string out;
  for (const AssociationId id : gone) {
    const AssociationRecord& r = draft.now.associations.at(id).record;
    if (!r.user.empty() && r.is_default)
      out += fmt::format("  C = {:<15} A = {:<10} U = {:<9}\n", r.cluster, r.account, r.user);
  }
  return out;
}

}  // namespace

bool delete_accounts(Draft& draft) {
  const protocol::AccountingConditions& where = draft.where();
  // of some clusters alone: the account stays where it is on others
  const bool everywhere = where.clusters.empty();
  std::set<AssociationId> gone;
  std::set<std::string> accounts;
  for (const auto& [name, stored] : draft.now.accounts) {
    if (stored.deleted || !matches(draft.now, stored.record, where)) continue;
    if (name == "root")
      return draft.refuse(
          " You are not allowed to remove the root account.\n Use remove cluster instead.");
    if (everywhere && !draft.may_change_account(name)) return draft.deny();
    accounts.insert(name);
  }
  for (const auto& [id, stored] : draft.now.associations) {
    const AssociationRecord& r = stored.record;
    if (stored.deleted || !r.user.empty() || accounts.count(r.account) == 0 ||
        !listed(where.clusters, r.cluster))
      continue;
    if (!draft.may_change(r.account, r.cluster)) return draft.deny();
    gone.insert(id);
  }
  for (const AssociationId id : Children(draft.now).below(gone)) gone.insert(id);
  if (accounts.empty()) return draft.nothing(" Nothing deleted");
  const std::string defaults = defaults_among(draft, gone);
  if (!defaults.empty() && !draft.now.rules.without_default_account)
    return draft.refuse(" Error with request: You can not remove the default account of a user\n" +
                        defaults +
                        " Please either remove the accounts listed above from list and resubmit,\n"
                        " or change these users' default accounts to remove the account(s).\n"
                        " Changes Discarded");
  for (const AssociationId id : gone) {
    StoredAssociation& stored = draft.now.associations[id];
    stored.deleted = true;
    // what was below goes with it, whatever its name
    if (stored.record.user.empty() && everywhere) accounts.insert(stored.record.account);
    draft.log("Remove Associations", fmt::format("id_assoc={}", id), "", &stored.record);
  }
  draft.show(everywhere ? " Deleting accounts..." : " Deleting account associations...");
  std::unordered_set<std::string> elsewhere;
  for (const auto& [id, stored] : draft.now.associations)
    if (!stored.deleted) elsewhere.insert(stored.record.account);
  for (const std::string& name : accounts) {
    // one that stands on another cluster stays
    if (elsewhere.count(name) != 0) continue;
    draft.now.accounts[name].deleted = true;
    draft.now.accounts[name].record.coordinators.clear();
    draft.log("Remove Accounts", fmt::format("(name='{}')", name), "");
    draft.transactions.back().accounts = {name};
    if (everywhere) draft.changed(name);
  }
  for (const AssociationId id : gone) {
    const AssociationRecord& r = draft.now.associations[id].record;
    if (!everywhere && r.user.empty()) draft.changed(deleted_line(r));
  }
  return true;
}

}  // namespace sluice::dbd
