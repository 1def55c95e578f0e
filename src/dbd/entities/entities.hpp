// What an accounting database holds of a site: clusters, accounts, users, associations, QOS, TRES
// and wckeys, as values. Changes are decided on them by change.hpp, and stored by dbd/store.
//
// What is deleted stays as a record, so that history keeps its names, and comes back with its id
// when it is added again. Names of accounts, users, QOS and clusters are in lower case.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/accounting.hpp"
#include "common/protocol/accounting_admin.hpp"

namespace sluice::dbd {

template <class Record>
struct Stored {
  Record record;
  bool deleted = false;
  bool operator==(const Stored&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "record", &Stored::record);
    field(2, "deleted", &Stored::deleted);
  }
};

struct StoredAssociation {
  AssociationRecord record;        // its own values: a list of QOS that is empty is inherited
  std::vector<int64_t> qos_delta;  // to what it inherits: +ID of one more, -ID of one less
  bool deleted = false;
  bool operator==(const StoredAssociation&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "record", &StoredAssociation::record);
    field(2, "qos_delta", &StoredAssociation::qos_delta);
    field(3, "deleted", &StoredAssociation::deleted);
  }
};

// What slurmdbd.conf says of changes.
struct SiteRules {
  std::vector<std::string> default_qos;  // DefaultQOS: of new clusters; none: normal
  bool without_default_account = false;  // AllowNoDefAcct: a user may have none
  bool without_coordinators = false;     // DisableCoordDBD: they change nothing
  bool operator==(const SiteRules&) const = default;
};

struct Entities {
  uint64_t version = 0;  // grows with each change
  SiteRules rules;       // not stored
  std::map<std::string, Stored<AccountRecord>> accounts;
  std::map<std::string, Stored<UserRecord>> users;
  std::map<std::string, protocol::ClusterRecord> clusters;
  std::map<AssociationId, StoredAssociation> associations;
  // by place_key(): also of those that are deleted
  std::map<std::string, AssociationId> places;
  std::map<QosId, Stored<QosRecord>> qos;
  std::map<TresId, TresRecord> tres;
  std::map<uint32_t, Stored<WckeyRecord>> wckeys;
  bool operator==(const Entities&) const = default;
};

inline constexpr int kMaxDepth = kDeepestTree;  // more is a circle

// Those of one user stand together: they begin with user_key().
[[nodiscard]] std::string place_key(const AssociationRecord& record);
[[nodiscard]] std::string user_key(std::string_view user);
void renew_places(Entities& entities);
// Calls visit(id, stored) for each association of a user that is not deleted.
template <class Held, class Visit>
void each_of_user(Held& entities, std::string_view user, Visit visit) {
  const std::string key = user_key(user);
  for (auto it = entities.places.lower_bound(key);
       it != entities.places.end() && it->first.compare(0, key.size(), key) == 0; ++it) {
    auto found = entities.associations.find(it->second);
    if (found != entities.associations.end() && !found->second.deleted)
      visit(found->first, found->second);
  }
}

// The records of an empty database: QOS normal, TRES 1 to 8, account root, user root.
[[nodiscard]] Entities new_entities();

// Those that are not deleted; null where there is none.
[[nodiscard]] const StoredAssociation* find_association(const Entities& entities,
                                                        std::string_view cluster,
                                                        std::string_view account,
                                                        std::string_view user,
                                                        std::string_view partition);
[[nodiscard]] const Stored<QosRecord>* find_qos(const Entities& entities, std::string_view name);
[[nodiscard]] const AccountRecord* find_account(const Entities& entities, std::string_view name);
[[nodiscard]] const UserRecord* find_user(const Entities& entities, std::string_view name);
[[nodiscard]] bool has_cluster(const Entities& entities, std::string_view name);

// With what it inherits: limits from the nearest account above that has one, QOS, default QOS.
[[nodiscard]] AssociationRecord effective(const Entities& entities,
                                          const StoredAssociation& association);
// Where it stands in its cluster: "/physics/0-alice/".
[[nodiscard]] std::string lineage_of(const Entities& entities, const AssociationRecord& record);
// How many associations there are from the root to this one, both counted; 0: it is not there.
[[nodiscard]] int depth_of(const Entities& entities, AssociationId id);
// Why an account cannot stand so deep: below it there is to be room for users. Empty: it can.
[[nodiscard]] std::string depth_problem(const std::string& account, const std::string& cluster,
                                        int depth);
// True where `id` is `ancestor` or below it.
[[nodiscard]] bool is_below(const Entities& entities, AssociationId id, AssociationId ancestor);

// What a controller follows.
[[nodiscard]] AccountingRecords records_of(const Entities& entities, std::string_view cluster);
[[nodiscard]] std::vector<TresRecord> tres_list(const Entities& entities);

}  // namespace sluice::dbd
