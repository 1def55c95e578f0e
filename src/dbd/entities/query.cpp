#include "dbd/entities/query.hpp"

#include <algorithm>
#include <set>

#include "common/accounting/limit_fields.hpp"
#include "dbd/entities/draft.hpp"

namespace sluice::dbd {

using protocol::AccountingEntity;
using protocol::QueryAccountingReply;
using protocol::QueryAccountingRequest;

namespace {

// Whose records the asker may see.
class View {
 public:
  View(const Entities& held, const Actor& actor, Privacy privacy)
      : entities(held), coordinators(coordinators_by_account(held, "")), privacy_(privacy) {
    all_ = is_operator(held, actor);
    if (all_ || actor.name.empty()) return;
    users_.insert(actor.name);
    const Coordinated coordinated(held, actor.name);
    accounts_ = coordinated.somewhere();
    std::set<std::string> own;
    for (const auto& [id, stored] : held.associations) {
      const AssociationRecord& r = stored.record;
      if (r.user.empty()) continue;
      const bool coordinates = coordinated.on(r.cluster, r.account);
      if (coordinates || r.user == actor.name) associations_.insert(id);
      if (stored.deleted) continue;
      if (coordinates) users_.insert(r.user);
      if (r.user == actor.name) own.insert(r.account);
    }
    accounts_.merge(own);
  }
  [[nodiscard]] bool user(const std::string& name) const {
    return all_ || !privacy_.users || users_.count(name) != 0;
  }
  [[nodiscard]] bool account(const std::string& name) const {
    return all_ || !privacy_.accounts || accounts_.count(name) != 0;
  }

  // A user's: his own, and of those whom the asker coordinates those in his accounts.
  [[nodiscard]] bool association(const AssociationRecord& record) const {
    if (record.user.empty()) return account(record.account);
    return all_ || !privacy_.users || associations_.count(record.id) != 0;
  }

  // As it is shown: coordinators whom the asker may see.
  [[nodiscard]] AccountRecord account(const AccountRecord& record, bool deleted,
                                      bool own_values) const {
    AccountRecord out = record;
    if (!own_values && !deleted) out.coordinators = coordinators.at(record.name);
    std::erase_if(out.coordinators, [&](const std::string& name) { return !user(name); });
    return out;
  }

  const Entities& entities;
  const std::map<std::string, std::vector<std::string>> coordinators;

 private:
  Privacy privacy_;
  bool all_ = false;
  std::set<std::string> users_, accounts_;
  std::set<AssociationId> associations_;
};

AssociationRecord shown(const Entities& entities, const StoredAssociation& stored, bool own) {
  if (!own) return effective(entities, stored);
  AssociationRecord out = stored.record;
  return out;
}

void list_associations(const View& view, const QueryAccountingRequest& request,
                       QueryAccountingReply& reply) {
  protocol::AccountingConditions where = request.where;
  for (const auto& [id, stored] : view.entities.associations) {
    const AssociationRecord& r = stored.record;
    if (!matches(view.entities, stored, where)) continue;
    if (!view.association(r)) continue;
    reply.associations.push_back(shown(view.entities, stored, where.own_values));
    if (stored.deleted) reply.deleted.push_back(std::to_string(id));
    if (where.own_values && !stored.qos_delta.empty())
      reply.qos_deltas.push_back({id, stored.qos_delta});
  }
  std::set<AssociationId> there;
  for (const AssociationRecord& record : reply.associations) there.insert(record.id);
  for (const AssociationRecord& record : reply.associations) {
    if (record.parent == 0 || !there.insert(record.parent).second) continue;
    const auto above = view.entities.associations.find(record.parent);
    if (above != view.entities.associations.end())
      reply.parents.push_back({record.parent, above->second.record.account});
  }
  std::stable_sort(reply.associations.begin(), reply.associations.end(),
                   [](const AssociationRecord& a, const AssociationRecord& b) {
                     return std::tie(a.cluster, a.lineage) < std::tie(b.cluster, b.lineage);
                   });
}

void list_accounts(const View& view, const QueryAccountingRequest& request,
                   QueryAccountingReply& reply) {
  for (const auto& [name, stored] : view.entities.accounts) {
    if ((stored.deleted && !request.where.with_deleted) ||
        !matches(view.entities, stored.record, request.where) || !view.account(name))
      continue;
    reply.accounts.push_back(view.account(stored.record, stored.deleted, request.where.own_values));
    if (stored.deleted) reply.deleted.push_back(name);
  }
  if (!request.with_associations) return;
  QueryAccountingRequest associations = request;
  list_associations(view, associations, reply);
}

void list_users(const View& view, const QueryAccountingRequest& request,
                QueryAccountingReply& reply) {
  const UsersMeant meant(view.entities, request.where);
  for (const auto& [name, stored] : view.entities.users) {
    if ((stored.deleted && !request.where.with_deleted) || !meant.has(stored.record) ||
        !view.user(name))
      continue;
    reply.users.push_back(stored.record);
    if (stored.deleted) reply.deleted.push_back(name);
  }
  // default accounts and what users coordinate are read of them, so they come always
  QueryAccountingRequest associations;
  associations.where.own_values = request.where.own_values;
  if (request.with_associations) {
    associations.where = request.where;
    associations.where.default_accounts.clear();
  }
  list_associations(view, associations, reply);
  std::erase_if(reply.associations,
                [](const AssociationRecord& record) { return record.user.empty(); });
  for (const auto& [name, stored] : view.entities.accounts) {
    if (stored.deleted || !view.account(name)) continue;
    reply.accounts.push_back(view.account(stored.record, false, request.where.own_values));
  }
}

void list_clusters(const View& view, const QueryAccountingRequest& request,
                   QueryAccountingReply& reply) {
  for (const auto& [name, record] : view.entities.clusters) {
    if ((record.deleted && !request.where.with_deleted) || !listed(request.where.clusters, name))
      continue;
    reply.clusters.push_back(record);
    if (record.deleted) reply.deleted.push_back(name);
    const StoredAssociation* root = find_association(view.entities, name, "root", "", "");
    if (root != nullptr)
      reply.associations.push_back(shown(view.entities, *root, request.where.own_values));
  }
}

void list_qos(const View& view, const QueryAccountingRequest& request,
              QueryAccountingReply& reply) {
  for (const auto& [id, stored] : view.entities.qos) {
    const QosRecord& r = stored.record;
    if ((stored.deleted && !request.where.with_deleted) || !listed(request.where.names, r.name) ||
        !listed(request.where.descriptions, r.description) ||
        (!request.where.ids.empty() && !has(request.where.ids, id)))
      continue;
    reply.qos.push_back(r);
    if (stored.deleted) reply.deleted.push_back(r.name);
  }
}

void list_tres(const View& view, const QueryAccountingRequest& request,
               QueryAccountingReply& reply) {
  for (const auto& [id, record] : view.entities.tres) {
    if (!listed(request.where.names, record.name) || !listed(request.where.types, record.type) ||
        (!request.where.ids.empty() && !has(request.where.ids, id)))
      continue;
    reply.tres.push_back(record);
  }
}

void list_wckeys(const View& view, const QueryAccountingRequest& request,
                 QueryAccountingReply& reply) {
  for (const auto& [id, stored] : view.entities.wckeys) {
    const WckeyRecord& r = stored.record;
    if ((stored.deleted && !request.where.with_deleted) ||
        !listed(request.where.clusters, r.cluster) || !listed(request.where.users, r.user) ||
        !listed(request.where.wckeys, r.name) ||
        (!request.where.ids.empty() && !has(request.where.ids, id)) || !view.user(r.user))
      continue;
    reply.wckeys.push_back(r);
  }
}

}  // namespace

bool may_list(const Entities& entities, AccountingEntity what, const Actor& actor,
              Privacy privacy) {
  const bool is_private =
      what == AccountingEntity::kProblem || what == AccountingEntity::kWckey ||
      (what == AccountingEntity::kTransaction && (privacy.users || privacy.accounts));
  return !is_private || is_operator(entities, actor);
}

QueryAccountingReply answer_query(const Entities& entities, const QueryAccountingRequest& request,
                                  const Actor& actor, Privacy privacy) {
  const View view(entities, actor, privacy);
  QueryAccountingReply reply;
  switch (request.entity) {
    case AccountingEntity::kAccount: list_accounts(view, request, reply); break;
    case AccountingEntity::kAssociation: list_associations(view, request, reply); break;
    case AccountingEntity::kUser: list_users(view, request, reply); break;
    case AccountingEntity::kCluster: list_clusters(view, request, reply); break;
    case AccountingEntity::kQos: list_qos(view, request, reply); break;
    case AccountingEntity::kTres: list_tres(view, request, reply); break;
    case AccountingEntity::kWckey: list_wckeys(view, request, reply); break;
    case AccountingEntity::kCoordinator:
    case AccountingEntity::kTransaction:
    case AccountingEntity::kProblem: break;
  }
  for (const auto& [id, stored] : entities.qos)
    if (!stored.deleted || request.where.with_deleted) reply.all_qos.push_back(stored.record);
  reply.all_tres = tres_list(entities);
  return reply;
}

std::vector<protocol::ProblemRecord> problems_of(
    const Entities& entities, const protocol::AccountingConditions& where,
    const std::function<bool(const std::string&)>& has_uid) {
  std::vector<protocol::ProblemRecord> out;
  std::set<AssociationId> used;  // accounts with users, and those above them
  for (const auto& [id, stored] : entities.associations) {
    if (stored.deleted || stored.record.user.empty()) continue;
    for (AssociationId at = stored.record.parent; at != 0 && used.insert(at).second;) {
      const auto above = entities.associations.find(at);
      at = above == entities.associations.end() ? 0 : above->second.record.parent;
    }
  }
  std::set<std::string> placed;
  for (const auto& [id, stored] : entities.associations) {
    const AssociationRecord& r = stored.record;
    if (stored.deleted) continue;
    placed.insert(r.user);
    if (!r.user.empty() || r.parent == 0 || !listed(where.clusters, r.cluster) ||
        !listed(where.accounts, r.account))
      continue;
    if (used.count(id) == 0) out.push_back({r.cluster, r.account, "", "Account has no users"});
  }
  for (const auto& [name, stored] : entities.users) {
    if (stored.deleted || !listed(where.users, name)) continue;
    if (placed.count(name) == 0)
      out.push_back({"", "", name, "User does not have any associations"});
    if (!has_uid(name)) out.push_back({"", "", name, "User does not have a uid"});
  }
  return out;
}

bool matches(const protocol::TransactionRecord& record,
             const protocol::AccountingConditions& where) {
  const auto any_of = [](const std::vector<std::string>& wanted,
                         const std::vector<std::string>& there) {
    return wanted.empty() || std::any_of(there.begin(), there.end(), [&](const std::string& name) {
             return listed(wanted, name);
           });
  };
  if (!listed(where.actions, record.action) || !listed(where.actors, record.actor)) return false;
  if (where.start && record.time < *where.start) return false;
  if (where.end && record.time > *where.end) return false;
  if (!where.ids.empty() && !has(where.ids, static_cast<uint32_t>(record.id))) return false;
  return any_of(where.clusters, record.clusters) && any_of(where.accounts, record.accounts) &&
         any_of(where.users, record.users);
}

}  // namespace sluice::dbd
