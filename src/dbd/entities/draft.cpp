#include "dbd/entities/draft.hpp"

#include <algorithm>
#include <map>

#include "common/accounting/limit_fields.hpp"

namespace sluice::dbd {

using protocol::NameSet;
using protocol::SetChange;

Draft::Draft(Entities start, const Entities& before, const protocol::ChangeAccountingRequest& asked,
             const Actor& actor, Time when)
    : now(std::move(start)), request(asked), before_(before), actor_(actor.name), when_(when) {
  const UserRecord* user = find_user(now, actor.name);
  if (actor.super) level_ = AdminLevel::kAdministrator;
  else if (user != nullptr && !actor.name.empty()) level_ = user->admin_level;
}

const Coordinated& Draft::coordinated() const {
  if (!coordinated_)
    coordinated_ = now.rules.without_coordinators ? Coordinated() : Coordinated(before_, actor_);
  return *coordinated_;
}
bool Draft::may_change(const std::string& account, const std::string& cluster) const {
  return is_operator() || coordinated().on(cluster, account);
}
bool Draft::may_limit(const AssociationRecord& account) const {
  const auto parent = now.associations.find(account.parent);
  return is_operator() || (parent != now.associations.end() &&
                           may_change(parent->second.record.account, account.cluster));
}
bool Draft::may_change_account(const std::string& account) const {
  return is_operator() || coordinated().everywhere(account);
}
bool Draft::may_change_something() const { return is_operator() || !coordinated().empty(); }

bool Draft::refuse(std::string error) {
  reply.errors.push_back(std::move(error));
  return false;
}
bool Draft::nothing(std::string text) {
  reply.shown = std::move(text) + "\n";
  return false;
}
bool Draft::deny() {
  reply.shown.clear();
  if (request.verb == protocol::AccountingVerb::kAdd) {
    const char* what = request.entity == protocol::AccountingEntity::kAccount   ? "accounts"
                       : request.entity == protocol::AccountingEntity::kUser    ? "users"
                       : request.entity == protocol::AccountingEntity::kQos     ? "QOS"
                       : request.entity == protocol::AccountingEntity::kCluster ? "clusters"
                                                                                : "coordinator";
    return refuse(fmt::format(" Problem adding {}: Access/permission denied", what));
  }
  refuse("sacctmgr: error: Your user doesn't have privilege to perform this action");
  return refuse(" Error with request: Access/permission denied");
}
void Draft::changed(std::string line) {
  show("  " + line);
  reply.changed.push_back(std::move(line));
}

bool Draft::clusters(std::vector<std::string>& out) {
  if (where().clusters.empty()) {
    for (const auto& [name, cluster] : now.clusters)
      if (!cluster.deleted) out.push_back(name);
    if (out.empty()) return refuse("  No clusters defined.  Please contact your administrator.");
    return true;
  }
  bool ok = true;
  for (const std::string& name : where().clusters) {
    if (has_cluster(now, name)) {
      out.push_back(name);
      continue;
    }
    refuse(
        fmt::format(" This cluster '{}' doesn't exist.\n        Contact your admin to add it to "
                    "accounting.",
                    name));
    ok = false;
  }
  return ok;
}

AssociationRecord& Draft::add_association(const std::string& cluster, const std::string& account,
                                          const std::string& user, const std::string& partition,
                                          AssociationId parent) {
  StoredAssociation fresh;
  fresh.record.parent = parent;
  fresh.record.cluster = cluster;
  fresh.record.account = account;
  fresh.record.user = user;
  fresh.record.partition = partition;
  const AssociationId next = now.associations.empty() ? 1 : now.associations.rbegin()->first + 1;
  const AssociationId id = now.places.try_emplace(place_key(fresh.record), next).first->second;
  fresh.record.id = id;
  StoredAssociation& stored = now.associations[id];
  fresh.record.created = stored.record.id == id ? stored.record.created : when_;
  stored = std::move(fresh);
  stored.record.lineage = lineage_of(now, stored.record);
  return stored.record;
}

bool Draft::look_up_qos() {
  if (!qos_ids_.empty()) return true;
  std::map<std::string_view, QosId> by_name;
  for (const auto& [id, stored] : now.qos)
    if (!stored.deleted) by_name[stored.record.name] = id;
  for (const NameSet& set : settings().qos) {
    std::vector<QosId> ids;
    for (const std::string& name : set.names) {
      const auto qos = by_name.find(name);
      if (qos == by_name.end()) return refuse(fmt::format(" The qos '{}' does not exist.", name));
      ids.push_back(qos->second);
    }
    qos_ids_.push_back(std::move(ids));
  }
  return true;
}

bool Draft::set_qos_list(StoredAssociation& stored) {
  if (!look_up_qos()) return false;
  for (size_t i = 0; i < settings().qos.size(); ++i) {
    const NameSet& set = settings().qos[i];
    std::vector<QosId> ids = qos_ids_[i];
    std::vector<QosId>& own = stored.record.qos;
    if (set.change == SetChange::kReplace) {
      std::sort(ids.begin(), ids.end());
      own = std::move(ids);
      stored.qos_delta.clear();
      continue;
    }
    const bool add = set.change == SetChange::kAdd;
    for (const QosId id : ids) {
      const auto change = add ? static_cast<int64_t>(id) : -static_cast<int64_t>(id);
      if (own.empty()) {
        if (has(stored.qos_delta, change) && !has(stored.qos_delta, -change)) continue;
        std::erase(stored.qos_delta, change);
        std::erase(stored.qos_delta, -change);
        stored.qos_delta.push_back(change);
        continue;
      }
      const auto at = std::lower_bound(own.begin(), own.end(), id);
      const bool there = at != own.end() && *at == id;
      if (add && !there) own.insert(at, id);
      if (!add && there) own.erase(at);
    }
  }
  return true;
}

bool Draft::set_association(StoredAssociation& stored) {
  for (const protocol::LimitSetting& limit : settings().limits) {
    const accounting::LimitRow& row = accounting::limit_row(limit.field);
    if (row.association == nullptr)
      return refuse(fmt::format(" {} is no limit of an association.", row.qos));
    accounting::set_limit(accounting::limit_of(stored.record, limit.field), limit);
  }
  const auto may_use = [&](QosId id) {
    if (is_operator()) return true;
    const auto it = before_.associations.find(stored.record.id);
    const auto above = before_.associations.find(stored.record.parent);
    return (it != before_.associations.end() && !it->second.deleted &&
            has(effective(before_, it->second).qos, id)) ||
           (above != before_.associations.end() && has(effective(before_, above->second).qos, id));
  };
  if (!set_qos_list(stored)) return false;
  if (!settings().qos.empty()) {
    // a coordinator gives only what the account has
    for (const QosId id : effective(now, stored).qos)
      if (!may_use(id)) return deny();
  }
  if (settings().comment) stored.record.comment = *settings().comment;
  if (!settings().default_qos) return true;
  if (settings().default_qos->empty() || *settings().default_qos == "-1") {
    stored.record.default_qos = 0;
    return true;
  }
  const Stored<QosRecord>* qos = find_qos(now, *settings().default_qos);
  if (qos == nullptr)
    return refuse(fmt::format(" The qos '{}' does not exist.", *settings().default_qos));
  stored.record.default_qos = qos->record.id;
  return true;
}

std::string default_qos_problem(const Entities& entities) {
  std::string lines;
  for (const auto& [id, stored] : entities.associations) {
    if (stored.deleted) continue;
    const AssociationRecord record = effective(entities, stored);
    if (record.default_qos == 0 || has(record.qos, record.default_qos)) continue;
    const auto qos = entities.qos.find(record.default_qos);
    lines += fmt::format("\n  DefQOS = {:<10} {}",
                         qos == entities.qos.end() ? "" : qos->second.record.name,
                         modified_line(entities, record));
  }
  if (lines.empty()) return {};
  return " These associations don't have access to their default qos.\n Please give them access "
         "before they the default can be set to this." +
         lines;
}

bool Draft::default_qos_holds() {
  if (many || (settings().qos.empty() && !settings().default_qos && !settings().parent))
    return true;
  std::string problem = default_qos_problem(now);
  if (problem.empty()) return true;
  reply.shown.clear();
  return refuse(std::move(problem));
}

void Draft::renew_lineages() {
  if (!moved) return;
  for (auto& [id, stored] : now.associations)
    if (!stored.deleted) stored.record.lineage = lineage_of(now, stored.record);
}

void Draft::log(std::string action, std::string whom, std::string info,
                const AssociationRecord* association) {
  protocol::TransactionRecord t;
  t.time = when_;
  t.action = std::move(action);
  t.actor = actor_;
  t.where = std::move(whom);
  t.info = std::move(info);
  if (association != nullptr) {
    t.clusters = {association->cluster};
    t.accounts = {association->account};
    if (!association->user.empty()) t.users = {association->user};
  }
  transactions.push_back(std::move(t));
}

}  // namespace sluice::dbd
