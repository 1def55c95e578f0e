// A change while it is decided: the entities as they would be, who asks and what they may, and the
// words of the answer. Private to dbd/entities.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dbd/entities/change.hpp"
#include "dbd/entities/coordinators.hpp"

namespace sluice::dbd {

template <class T>
[[nodiscard]] bool has(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

class Draft {
 public:
  // `start` is changed; `before` is what rights are read of, and may be empty where an operator
  // asks.
  Draft(Entities start, const Entities& before, const protocol::ChangeAccountingRequest& request,
        const Actor& actor, Time when);

  Entities now;
  const protocol::ChangeAccountingRequest& request;
  protocol::ChangeAccountingReply reply;
  bool moved = false;  // an association has another parent or name: lineages are made anew
  bool many = false;   // one of many changes, after which default QOS are looked at
  std::vector<protocol::TransactionRecord> transactions;
  [[nodiscard]] const protocol::AccountingConditions& where() const { return request.where; }
  [[nodiscard]] const protocol::AccountingSettings& settings() const { return request.settings; }
  [[nodiscard]] const std::string& actor() const { return actor_; }
  [[nodiscard]] Time when() const { return when_; }

  // --- rights
  [[nodiscard]] bool is_operator() const { return level_ != AdminLevel::kNone; }
  [[nodiscard]] bool is_administrator() const { return level_ == AdminLevel::kAdministrator; }
  // Coordinator of `account` on that cluster as it was before the change, or an operator.
  [[nodiscard]] bool may_change(const std::string& account, const std::string& cluster) const;
  // The same of an account above it: for what it may use, and where it stands.
  [[nodiscard]] bool may_limit(const AssociationRecord& account) const;
  // Coordinator on each cluster where it stands: for the account itself.
  [[nodiscard]] bool may_change_account(const std::string& account) const;
  // An operator, or coordinator of anything at all.
  [[nodiscard]] bool may_change_something() const;

  // --- answers; each gives false, for `return draft.refuse(…)`
  bool refuse(std::string error);  // for stderr
  bool nothing(std::string text);  // for stdout: " Nothing modified"
  bool deny();                     // Access/permission denied
  void show(std::string_view line) { reply.shown.append(line).push_back('\n'); }
  void changed(std::string line);  // shown, indented, and listed

  // --- changes
  // The clusters that are meant: all where none was named. Those that are not there are refused.
  [[nodiscard]] bool clusters(std::vector<std::string>& out);
  // A new association or a deleted one of the same place, with values of a new one.
  AssociationRecord& add_association(const std::string& cluster, const std::string& account,
                                     const std::string& user, const std::string& partition,
                                     AssociationId parent);
  // Limits, QOS and default QOS of the settings, on its own values. False where refused.
  bool set_association(StoredAssociation& stored);
  bool set_qos_list(StoredAssociation& stored);
  bool look_up_qos();
  // After all changes: whoever has a default QOS must have it. False where refused.
  bool default_qos_holds();
  void renew_lineages();
  void log(std::string action, std::string where, std::string info,
           const AssociationRecord* association = nullptr);

 private:
  [[nodiscard]] const Coordinated& coordinated() const;  // made when it is needed

  const Entities& before_;
  mutable std::optional<Coordinated> coordinated_;
  std::vector<std::vector<QosId>> qos_ids_;  // of settings().qos, once they were looked up
  std::string actor_;
  AdminLevel level_ = AdminLevel::kNone;
  Time when_;
};

// Verb by entity; false where refused.
bool add_accounts(Draft& draft);
bool add_users(Draft& draft);
bool add_coordinators(Draft& draft);
bool add_clusters(Draft& draft);
bool add_qos(Draft& draft);
bool modify_accounts(Draft& draft);
bool modify_users(Draft& draft);
bool modify_clusters(Draft& draft);
bool modify_qos(Draft& draft);
bool delete_accounts(Draft& draft);
bool delete_users(Draft& draft);
bool delete_coordinators(Draft& draft);
bool delete_clusters(Draft& draft);
bool delete_qos(Draft& draft);

// --- texts (texts.cpp)
// "C = ref        A = chem of physics", "C = ref        A = chem                 U = bob      "
[[nodiscard]] std::string modified_line(const Entities& entities, const AssociationRecord& record);
// "C = ref        A = chem       U = bob      "
[[nodiscard]] std::string deleted_line(const AssociationRecord& record);
// The lines of limits and QOS of an association that were given, each with its newline.
[[nodiscard]] std::string association_settings(const Entities& entities,
                                               const protocol::AccountingSettings& settings);
[[nodiscard]] std::string qos_settings(const Entities& entities,
                                       const protocol::AccountingSettings& settings);
[[nodiscard]] bool sets_association(const protocol::AccountingSettings& settings);
// The users below whom these settings of an association reach, a line each (change_accounts.cpp).
[[nodiscard]] std::string lines_of_heirs(const Entities& now, AssociationId top,
                                         const protocol::AccountingSettings& settings);
// For transactions.
[[nodiscard]] std::string association_info(const Entities& entities,
                                           const AssociationRecord& record, Time now);
[[nodiscard]] std::string settings_info(const Entities& entities,
                                        const protocol::AccountingSettings& settings);
[[nodiscard]] std::string qos_info(const Entities& entities, const QosRecord& record, Time now);

// --- conditions (conditions.cpp)
[[nodiscard]] bool listed(const std::vector<std::string>& list, std::string_view name);
// Those of the request that concern an association itself (cluster, account, partition, QOS).
[[nodiscard]] bool matches(const Entities& entities, const StoredAssociation& stored,
                           const protocol::AccountingConditions& where);
[[nodiscard]] bool matches(const Entities& entities, const AccountRecord& record,
                           const protocol::AccountingConditions& where);
// Users that a request means. Who has its wckeys is looked up once for all of them.
class UsersMeant {
 public:
  UsersMeant(const Entities& entities, const protocol::AccountingConditions& where);
  [[nodiscard]] bool has(const UserRecord& record) const;

 private:
  const Entities& entities_;
  const protocol::AccountingConditions& where_;
  std::set<std::string> have_wckey_;  // where there are such conditions
};
[[nodiscard]] std::string default_account_of(const Entities& entities, std::string_view user,
                                             std::string_view cluster);

}  // namespace sluice::dbd
