#include "dbd/entities/entities.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/accounting/limit_fields.hpp"
#include "common/model/standard_tres.hpp"
#include "dbd/entities/coordinators.hpp"

namespace sluice::dbd {

namespace {

const StoredAssociation* by_id(const Entities& entities, AssociationId id) {
  const auto it = entities.associations.find(id);
  return it == entities.associations.end() ? nullptr : &it->second;
}

// Fills in what is not set with what `above` has.
struct Inherit {
  accounting::LimitRef above;
  void operator()(std::monostate) const {}
  void operator()(uint32_t*) const {}
  void operator()(double*) const {}
  void operator()(TresAmounts* mine) const {
    for (const TresAmount& amount : *std::get<TresAmounts*>(above)) {
      const auto at = std::lower_bound(mine->begin(), mine->end(), amount.id,
                                       [](const TresAmount& a, TresId id) { return a.id < id; });
      if (at == mine->end() || at->id != amount.id) mine->insert(at, amount);
    }
  }
  template <class T>
  void operator()(std::optional<T>* mine) const {
    if (!*mine) *mine = *std::get<std::optional<T>*>(above);
  }
};

void inherit_limits(AssociationRecord& record, AssociationRecord above) {
  for (const accounting::LimitRow& row : accounting::limit_rows()) {
    if (!row.inherited || row.association == nullptr) continue;
    std::visit(Inherit{accounting::limit_of(above, row.field)},
               accounting::limit_of(record, row.field));
  }
}

std::vector<QosId> with_delta(std::vector<QosId> qos, const std::vector<int64_t>& delta) {
  for (const int64_t change : delta) {
    const auto id = static_cast<QosId>(change < 0 ? -change : change);
    const auto at = std::lower_bound(qos.begin(), qos.end(), id);
    const bool there = at != qos.end() && *at == id;
    if (change > 0 && !there) qos.insert(at, id);
    if (change < 0 && there) qos.erase(at);
  }
  return qos;
}

}  // namespace

std::string user_key(std::string_view user) { return std::string(user) + '\n'; }
std::string place_key(const AssociationRecord& r) {
  return user_key(r.user) + r.cluster + '\n' + r.account + '\n' + r.partition;
}
void renew_places(Entities& entities) {
  entities.places.clear();
  for (const auto& [id, stored] : entities.associations)
    entities.places[place_key(stored.record)] = id;
}

Entities new_entities() {
  Entities out;
  out.version = 1;
  for (TresId id = kTresCpu; id < kStandardTres.size(); ++id) {
    const std::string_view name = kStandardTres[id];
    const size_t slash = std::min(name.find('/'), name.size());
    out.tres[id] = {id, std::string(name.substr(0, slash)),
                    std::string(name.substr(std::min(slash + 1, name.size())))};
  }
  QosRecord normal;
  normal.id = 1;
  normal.name = "normal";
  normal.description = "Normal QOS default";
  out.qos[1] = {normal, false};
  AccountRecord root;
  root.name = "root";
  root.description = "default root account";
  root.organization = "root";
  out.accounts["root"] = {root, false};
  UserRecord user;
  user.name = "root";
  user.admin_level = AdminLevel::kAdministrator;
  out.users["root"] = {user, false};
  return out;
}

const StoredAssociation* find_association(const Entities& entities, std::string_view cluster,
                                          std::string_view account, std::string_view user,
                                          std::string_view partition) {
  AssociationRecord wanted;
  wanted.cluster = cluster;
  wanted.account = account;
  wanted.user = user;
  wanted.partition = partition;
  const auto place = entities.places.find(place_key(wanted));
  if (place == entities.places.end()) return nullptr;
  const StoredAssociation* found = by_id(entities, place->second);
  return found == nullptr || found->deleted ? nullptr : found;
}

const Stored<QosRecord>* find_qos(const Entities& entities, std::string_view name) {
  for (const auto& [id, stored] : entities.qos)
    if (!stored.deleted && stored.record.name == name) return &stored;
  return nullptr;
}

const AccountRecord* find_account(const Entities& entities, std::string_view name) {
  const auto it = entities.accounts.find(std::string(name));
  return it == entities.accounts.end() || it->second.deleted ? nullptr : &it->second.record;
}

const UserRecord* find_user(const Entities& entities, std::string_view name) {
  const auto it = entities.users.find(std::string(name));
  return it == entities.users.end() || it->second.deleted ? nullptr : &it->second.record;
}

bool has_cluster(const Entities& entities, std::string_view name) {
  const auto it = entities.clusters.find(std::string(name));
  return it != entities.clusters.end() && !it->second.deleted;
}

AssociationRecord effective(const Entities& entities, const StoredAssociation& association) {
  AssociationRecord out = association.record;
  std::vector<const StoredAssociation*> chain = {&association};
  for (int depth = 0; depth < kMaxDepth && chain.back()->record.parent != 0; ++depth) {
    const StoredAssociation* above = by_id(entities, chain.back()->record.parent);
    if (above == nullptr) break;
    inherit_limits(out, above->record);
    if (out.default_qos == 0) out.default_qos = above->record.default_qos;
    chain.push_back(above);
  }
  std::vector<QosId> qos;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it)
    qos = with_delta((*it)->record.qos.empty() ? qos : (*it)->record.qos, (*it)->qos_delta);
  out.qos = std::move(qos);
  return out;
}

std::string lineage_of(const Entities& entities, const AssociationRecord& record) {
  std::string out = "/";
  if (!record.user.empty()) {
    out = "/0-" + record.user + (record.partition.empty() ? "" : "-" + record.partition) + "/";
  }
  const AssociationRecord* at = &record;
  if (record.user.empty() && record.parent != 0) out = "/" + record.account + "/";
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const StoredAssociation* above = by_id(entities, at->parent);
    if (above == nullptr) break;
    at = &above->record;
    if (at->parent != 0) out.insert(0, "/" + at->account);  // root itself has no place in it
  }
  return out;
}

int depth_of(const Entities& entities, AssociationId id) {
  int depth = 0;
  for (const StoredAssociation* at = by_id(entities, id); at != nullptr && depth <= kMaxDepth;
       at = by_id(entities, at->record.parent))
    ++depth;
  return depth;
}

std::string depth_problem(const std::string& account, const std::string& cluster, int depth) {
  if (depth < kMaxDepth) return {};
  return fmt::format(
      " Account '{}' would be more than {} levels below root on cluster {}: that is the most.",
      account, kMaxDepth - 2, cluster);
}

bool is_below(const Entities& entities, AssociationId id, AssociationId ancestor) {
  for (int depth = 0; depth < kMaxDepth && id != 0; ++depth) {
    if (id == ancestor) return true;
    const StoredAssociation* at = by_id(entities, id);
    id = at == nullptr ? 0 : at->record.parent;
  }
  return false;
}

AccountingRecords records_of(const Entities& entities, std::string_view cluster) {
  std::map<std::string, std::vector<std::string>> coordinators =
      coordinators_by_account(entities, cluster);
  AccountingRecords out;
  out.version = entities.version;
  out.tres = tres_list(entities);
  for (const auto& [name, stored] : entities.accounts) {
    if (stored.deleted) continue;
    out.accounts.push_back(stored.record);
    out.accounts.back().coordinators = std::move(coordinators[name]);
  }
  for (const auto& [name, stored] : entities.users)
    if (!stored.deleted) out.users.push_back(stored.record);
  for (const auto& [id, stored] : entities.associations)
    if (!stored.deleted && stored.record.cluster == cluster)
      out.associations.push_back(effective(entities, stored));
  for (const auto& [id, stored] : entities.qos)
    if (!stored.deleted) out.qos.push_back(stored.record);
  for (const auto& [id, stored] : entities.wckeys)
    if (!stored.deleted && stored.record.cluster == cluster) out.wckeys.push_back(stored.record);
  return out;
}

std::vector<TresRecord> tres_list(const Entities& entities) {
  std::vector<TresRecord> out;
  out.reserve(entities.tres.size());
  for (const auto& [id, record] : entities.tres) out.push_back(record);
  return out;
}

}  // namespace sluice::dbd
