#include "dbd/entities/change.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "common/accounting/conditions.hpp"
#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "dbd/entities/draft.hpp"

namespace sluice::dbd {

using protocol::AccountingEntity;
using protocol::AccountingVerb;
using protocol::TransactionRecord;

namespace {

template <class Map, class List>
void put_changed(const Map& before, const Map& after, List& out) {
  for (const auto& [key, value] : after) {
    const auto it = before.find(key);
    if (it == before.end() || !(it->second == value)) out.push_back(value);
  }
}

bool is_plain(std::string_view text, size_t most, std::string_view not_these) {
  return text.size() <= most && is_printable(text) &&
         text.find_first_of(not_these) == std::string_view::npos;
}

std::string like_none(std::string_view text) {
  return fmt::format(" Names and texts cannot be like '{}'.", escape_controls(text));
}

// Names in lower case, lists without what is said twice.
void tidy(std::vector<std::string>& names) {
  std::unordered_set<std::string> seen;
  std::erase_if(names, [&](std::string& name) {
    name = to_lower(name);
    return !seen.insert(name).second;
  });
}
void tidy(std::optional<std::string>& name) {
  if (name) *name = to_lower(*name);
}
protocol::ChangeAccountingRequest tidied(protocol::ChangeAccountingRequest request) {
  protocol::AccountingConditions& where = request.where;
  for (auto* list :
       {&where.clusters, &where.accounts, &where.users, &where.partitions, &where.parents,
        &where.names, &where.qos, &where.default_qos, &where.default_accounts})
    tidy(*list);
  protocol::AccountingSettings& settings = request.settings;
  for (auto* name :
       {&settings.new_name, &settings.parent, &settings.default_account, &settings.default_qos})
    tidy(*name);
  for (protocol::NameSet& set : settings.qos) tidy(set.names);
  for (protocol::NameSet& set : settings.preempt) tidy(set.names);
  return request;
}

// The first text that cannot be what it is to be; empty: all can.
std::string bad_text(const protocol::ChangeAccountingRequest& request) {
  const protocol::AccountingConditions& where = request.where;
  if (request.verb == AccountingVerb::kAdd) {
    for (const auto* list : {&where.clusters, &where.accounts, &where.users, &where.partitions,
                             &where.names, &where.wckeys}) {
      for (const std::string& name : *list)
        if (!is_name(name)) return name.empty() ? "''" : name;
    }
  }
  const protocol::AccountingSettings& settings = request.settings;
  for (const auto* name : {&settings.new_name, &settings.parent})
    if (*name && !is_name(**name)) return **name;
  // an empty one takes the default away
  for (const auto* name :
       {&settings.default_wckey, &settings.default_qos, &settings.default_account})
    if (*name && !(*name)->empty() && !is_name(**name)) return **name;
  for (const auto* text : {&settings.description, &settings.organization, &settings.comment})
    if (*text && !is_text(**text)) return **text;
  return {};
}

// Values that no client of ours sends: enums out of their range, TRES that are not there.
bool makes_sense(const Entities& entities, const protocol::AccountingSettings& settings) {
  const auto level = static_cast<int>(settings.admin_level.value_or(AdminLevel::kNone));
  const auto mode =
      static_cast<int>(settings.preempt_mode.value_or(QosPreemptMode::kClusterDefault));
  if (level > static_cast<int>(AdminLevel::kAdministrator) ||
      mode > static_cast<int>(QosPreemptMode::kWithinSuspend))
    return false;
  for (const protocol::LimitSetting& limit : settings.limits) {
    const int field = static_cast<int>(limit.field);
    if (field < static_cast<int>(protocol::LimitField::kFairshare) ||
        field > static_cast<int>(protocol::LimitField::kLimitFactor) ||
        (limit.real && !std::isfinite(*limit.real)))
      return false;
    for (const TresAmount& amount : limit.tres)
      if (entities.tres.count(amount.id) == 0) return false;
  }
  return true;
}

// About himself: he chooses among his accounts and wckeys.
bool is_about_himself(const protocol::ChangeAccountingRequest& request, const std::string& actor) {
  return request.verb == AccountingVerb::kModify && request.entity == AccountingEntity::kUser &&
         request.where.users.size() == 1 && !actor.empty() &&
         iequals(request.where.users.front(), actor);
}

bool decide(Draft& draft) {
  if (!draft.may_change_something() && !is_about_himself(draft.request, draft.actor()))
    return draft.deny();
  if (!draft.is_operator() && is_long(draft.request))
    return draft.refuse(" Too many names in one request.");
  if (!makes_sense(draft.now, draft.settings()))
    return draft.refuse(" A value of the request is none that there is.");
  if (draft.request.verb != AccountingVerb::kAdd) {
    const std::string ignored = accounting::ignored_condition(draft.request.entity, draft.where());
    if (!ignored.empty())
      return draft.refuse(
          fmt::format(" Unknown condition: {} does not tell these entities apart", ignored));
  }
  using Decide = bool (*)(Draft&);
  struct Row {
    AccountingVerb verb;
    AccountingEntity entity;
    Decide decide;
  };
  static constexpr Row kRows[] = {
      {AccountingVerb::kAdd, AccountingEntity::kAccount, add_accounts},
      {AccountingVerb::kAdd, AccountingEntity::kUser, add_users},
      {AccountingVerb::kAdd, AccountingEntity::kCoordinator, add_coordinators},
      {AccountingVerb::kAdd, AccountingEntity::kCluster, add_clusters},
      {AccountingVerb::kAdd, AccountingEntity::kQos, add_qos},
      {AccountingVerb::kModify, AccountingEntity::kAccount, modify_accounts},
      {AccountingVerb::kModify, AccountingEntity::kUser, modify_users},
      {AccountingVerb::kModify, AccountingEntity::kCluster, modify_clusters},
      {AccountingVerb::kModify, AccountingEntity::kQos, modify_qos},
      {AccountingVerb::kDelete, AccountingEntity::kAccount, delete_accounts},
      {AccountingVerb::kDelete, AccountingEntity::kUser, delete_users},
      {AccountingVerb::kDelete, AccountingEntity::kCoordinator, delete_coordinators},
      {AccountingVerb::kDelete, AccountingEntity::kCluster, delete_clusters},
      {AccountingVerb::kDelete, AccountingEntity::kQos, delete_qos},
  };
  for (const Row& row : kRows)
    if (row.verb == draft.request.verb && row.entity == draft.request.entity)
      return row.decide(draft);
  return draft.refuse(" This entity cannot be changed.");
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && is_plain(text, 250, " ,'\"`/|=:\\%");
}
bool is_text(std::string_view text) { return is_plain(text, 1024, ""); }

bool is_long(const protocol::AccountingConditions& where) {
  size_t names = where.ids.size();
  for (const auto* list :
       {&where.clusters, &where.accounts, &where.users, &where.partitions, &where.parents,
        &where.wckeys, &where.names, &where.descriptions, &where.organizations, &where.qos,
        &where.default_qos, &where.actions, &where.actors, &where.default_accounts, &where.types})
    names += list->size();
  return names > kMostNames;
}

bool is_long(const protocol::ChangeAccountingRequest& request) {
  const protocol::AccountingSettings& settings = request.settings;
  size_t values = settings.limits.size() + settings.qos_flags.size();
  for (const auto* sets : {&settings.qos, &settings.preempt})
    for (const protocol::NameSet& set : *sets) values += 1 + set.names.size();
  for (const protocol::LimitSetting& limit : settings.limits) values += limit.tres.size();
  return values > kMostNames || is_long(request.where);
}

bool is_administrator(const Entities& entities, const Actor& actor) {
  const UserRecord* user = actor.name.empty() ? nullptr : find_user(entities, actor.name);
  return actor.super || (user != nullptr && user->admin_level == AdminLevel::kAdministrator);
}

bool is_operator(const Entities& entities, const Actor& actor) {
  const UserRecord* user = actor.name.empty() ? nullptr : find_user(entities, actor.name);
  return actor.super || (user != nullptr && user->admin_level != AdminLevel::kNone);
}

bool may_ask(const Entities& entities, const protocol::ChangeAccountingRequest& request,
             const Actor& actor) {
  return is_operator(entities, actor) || is_about_himself(request, actor.name) ||
         (!entities.rules.without_coordinators && !Coordinated(entities, actor.name).empty());
}

protocol::ChangeAccountingReply denial(const protocol::ChangeAccountingRequest& request) {
  static const Entities nothing;
  Draft draft({}, nothing, request, {}, {});
  draft.deny();
  draft.reply.refused = true;
  return std::move(draft.reply);
}

bool EntityDiff::empty() const {
  return accounts.empty() && users.empty() && clusters.empty() && associations.empty() &&
         qos.empty() && tres.empty() && wckeys.empty() && transactions.empty();
}

EntityDiff difference(const Entities& before, const Entities& after) {
  EntityDiff out;
  out.version = after.version;
  put_changed(before.accounts, after.accounts, out.accounts);
  put_changed(before.users, after.users, out.users);
  put_changed(before.clusters, after.clusters, out.clusters);
  put_changed(before.associations, after.associations, out.associations);
  put_changed(before.qos, after.qos, out.qos);
  put_changed(before.tres, after.tres, out.tres);
  put_changed(before.wckeys, after.wckeys, out.wckeys);
  return out;
}

ChangeOutcome decide_change(const Entities& before,
                            const protocol::ChangeAccountingRequest& request, const Actor& actor,
                            Time now) {
  const protocol::ChangeAccountingRequest tidy_request = tidied(request);
  Draft draft(before, before, tidy_request, actor, now);
  const std::string bad = bad_text(tidy_request);
  bool ok = bad.empty();
  if (ok) ok = decide(draft);
  else draft.refuse(like_none(bad));
  ChangeOutcome out;
  if (ok) {
    draft.renew_lineages();
    ++draft.now.version;
    out.after = std::move(draft.now);
    out.transactions = std::move(draft.transactions);
  } else {
    draft.reply.refused = true;
    draft.reply.changed.clear();
    out.after = before;
  }
  out.reply = std::move(draft.reply);
  out.reply.version = out.after.version;
  return out;
}

bool change_in_place(Entities& entities, const protocol::ChangeAccountingRequest& request,
                     const Actor& actor, Time now, protocol::ChangeAccountingReply& reply,
                     std::vector<TransactionRecord>& transactions) {
  static const Entities nothing;
  const protocol::ChangeAccountingRequest tidy_request = tidied(request);
  const std::string bad = bad_text(tidy_request);
  Draft draft(std::move(entities), nothing, tidy_request, actor, now);
  draft.many = true;
  const bool ok = bad.empty() ? decide(draft) : draft.refuse(like_none(bad));
  if (ok) {
    draft.renew_lineages();
    ++draft.now.version;
    for (TransactionRecord& t : draft.transactions) transactions.push_back(std::move(t));
  } else {
    draft.reply.refused = true;
    draft.reply.changed.clear();
  }
  entities = std::move(draft.now);
  reply = std::move(draft.reply);
  return ok || reply.errors.empty();
}

bool register_cluster(Entities& entities, const protocol::ClusterRecord& cluster,
                      std::string_view actor, Time now,
                      std::vector<TransactionRecord>& transactions) {
  const bool known = has_cluster(entities, cluster.name);
  protocol::ClusterRecord& stored = entities.clusters[cluster.name];
  const protocol::ClusterRecord before = stored;
  uint32_t id = stored.id;
  if (id == 0) {
    for (const auto& [name, other] : entities.clusters) id = std::max(id, other.id);
    ++id;
  }
  const std::string classification = stored.classification;
  const std::vector<std::string> features = stored.features;
  stored = cluster;
  stored.id = id;
  stored.deleted = false;
  if (stored.classification.empty()) stored.classification = classification;
  if (stored.features.empty()) stored.features = features;
  if (known && stored == before) return false;
  if (!known) {
    protocol::ChangeAccountingRequest request;
    Draft draft(entities, entities, request, Actor{std::string(actor), true}, now);
    AssociationRecord& root = draft.add_association(cluster.name, "root", "", "", 0);
    for (const std::string& qos_name : entities.rules.default_qos)
      if (const Stored<QosRecord>* qos = find_qos(entities, to_lower(qos_name)))
        root.qos.push_back(qos->record.id);
    std::sort(root.qos.begin(), root.qos.end());
    // that which a new database has, unless it was deleted
    const Stored<QosRecord>* normal = find_qos(entities, "normal");
    if (root.qos.empty() && normal != nullptr) root.qos = {normal->record.id};
    const AssociationId parent = root.id;
    draft.log("Add Clusters", cluster.name, association_info(draft.now, root, now), &root);
    AssociationRecord& user = draft.add_association(cluster.name, "root", "root", "", parent);
    user.is_default = true;
    draft.log("Add Associations", fmt::format("id_assoc={}", user.id),
              association_info(draft.now, user, now), &user);
    draft.renew_lineages();
    entities = std::move(draft.now);
    for (TransactionRecord& t : draft.transactions) transactions.push_back(std::move(t));
  }
  if (known || cluster.control_port != 0) {
    TransactionRecord t;
    t.time = now;
    t.action = "Modify Clusters";
    t.actor = actor;
    t.where = fmt::format("name='{}'", cluster.name);
    t.info = fmt::format("control_host='{}', control_port={}, last_port={}, rpc_version={}",
                         cluster.control_host, cluster.control_port, cluster.control_port,
                         cluster.rpc_version);
    t.clusters = {cluster.name};
    transactions.push_back(std::move(t));
  }
  ++entities.version;
  return true;
}

TresId tres_id(Entities& entities, std::string_view type, std::string_view name) {
  TresId next = kFirstDynamicTres;
  for (const auto& [id, record] : entities.tres) {
    if (record.type == type && record.name == name) return id;
    next = std::max(next, id + 1);
  }
  entities.tres[next] = {next, std::string(type), std::string(name)};
  ++entities.version;
  return next;
}

}  // namespace sluice::dbd
