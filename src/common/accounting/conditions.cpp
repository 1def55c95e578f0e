#include "common/accounting/conditions.hpp"

#include <algorithm>
#include <span>
#include <string_view>

namespace sluice::accounting {
namespace {

using protocol::AccountingEntity;

// Names of AccountingConditions' fields.
using Fields = std::span<const std::string_view>;

constexpr std::string_view kOfAll[] = {"with_deleted", "with_sub_accounts", "only_defaults",
                                       "own_values"};
constexpr std::string_view kOfAccounts[] = {"accounts",     "clusters",      "parents",    "qos",
                                            "descriptions", "organizations", "default_qos"};
constexpr std::string_view kOfUsers[] = {"users",       "accounts", "clusters",
                                         "partitions",  "qos",      "default_accounts",
                                         "default_qos", "wckeys",   "admin_level"};
constexpr std::string_view kOfAssociations[] = {"ids",        "users",   "accounts", "clusters",
                                                "partitions", "parents", "qos",      "default_qos"};
constexpr std::string_view kOfCoordinators[] = {"users", "accounts"};
constexpr std::string_view kOfClusters[] = {"clusters"};
constexpr std::string_view kOfQos[] = {"names", "descriptions", "ids"};
constexpr std::string_view kOfTres[] = {"names", "types", "ids"};
constexpr std::string_view kOfWckeys[] = {"wckeys", "users", "clusters", "ids"};

bool has(Fields fields, std::string_view name) {
  return std::ranges::find(fields, name) != fields.end();
}

// Empty: any.
Fields fields_of(AccountingEntity entity) {
  switch (entity) {
    case AccountingEntity::kAccount: return kOfAccounts;
    case AccountingEntity::kUser: return kOfUsers;
    case AccountingEntity::kAssociation: return kOfAssociations;
    case AccountingEntity::kCoordinator: return kOfCoordinators;
    case AccountingEntity::kCluster: return kOfClusters;
    case AccountingEntity::kQos: return kOfQos;
    case AccountingEntity::kTres: return kOfTres;
    case AccountingEntity::kWckey: return kOfWckeys;
    case AccountingEntity::kTransaction:
    case AccountingEntity::kProblem: break;
  }
  return {};
}

}  // namespace

std::string ignored_condition(AccountingEntity entity,
                              const protocol::AccountingConditions& where) {
  const Fields fields = fields_of(entity);
  if (fields.empty()) return {};
  const protocol::AccountingConditions none;
  std::string ignored;
  protocol::AccountingConditions::describe([&](int, std::string_view name, auto member) {
    if (where.*member == none.*member || has(kOfAll, name) || has(fields, name)) return;
    if (ignored.empty()) ignored = name;
  });
  return ignored;
}

}  // namespace sluice::accounting
