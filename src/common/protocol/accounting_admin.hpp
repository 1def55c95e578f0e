// What administrators ask the accounting daemon (sacctmgr), and what a controller follows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/accounting.hpp"

namespace sluice::protocol {

// A controller: the records of its cluster once they differ from those it has.
struct QueryAccountingRecordsRequest {
  static constexpr std::string_view kMethod = "Accounting/QueryAccountingRecords";
  using Reply = struct QueryAccountingRecordsReply;
  std::string cluster;
  uint64_t known_version = 0;  // 0: none; the answer waits up to 30 s while nothing differs
  // what the cluster is registered with; without an id: of nobody that registers
  std::string cluster_id;
  std::string control_host;
  uint32_t control_port = 0;
  uint32_t protocol_version = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &QueryAccountingRecordsRequest::cluster);
    field(2, "known_version", &QueryAccountingRecordsRequest::known_version);
    field(3, "cluster_id", &QueryAccountingRecordsRequest::cluster_id);
    field(4, "control_host", &QueryAccountingRecordsRequest::control_host);
    field(5, "control_port", &QueryAccountingRecordsRequest::control_port);
    field(6, "protocol_version", &QueryAccountingRecordsRequest::protocol_version);
  }
};
struct QueryAccountingRecordsReply {
  bool unchanged = false;  // then `records` is empty
  AccountingRecords records;
  template <class V>
  static void describe(V&& field) {
    field(1, "unchanged", &QueryAccountingRecordsReply::unchanged);
    field(2, "records", &QueryAccountingRecordsReply::records);
  }
};

// Values travel: add, never renumber.
enum class AccountingEntity : uint8_t {
  kAccount = 0,
  kAssociation = 1,
  kUser = 2,
  kCoordinator = 3,
  kCluster = 4,
  kQos = 5,
  kTres = 6,
  kWckey = 7,
  kTransaction = 8,
  kProblem = 9,
};
enum class AccountingVerb : uint8_t { kAdd = 0, kModify = 1, kDelete = 2 };

// Which entities are meant. A list that is empty says nothing; names are compared without case.
struct AccountingConditions {
  std::vector<std::string> clusters, accounts, users, partitions, parents, wckeys;
  std::vector<std::string> names;  // of QOS, of TRES
  std::vector<std::string> descriptions, organizations;
  std::vector<std::string> qos;          // associations that have one of these
  std::vector<std::string> default_qos;  // associations with one of these as default
  std::vector<std::string> actions, actors;
  std::vector<uint32_t> ids;
  std::vector<std::string> default_accounts;
  std::optional<AdminLevel> admin_level;
  std::optional<Time> start, end;  // of transactions
  bool with_deleted = false, with_sub_accounts = false, only_defaults = false;
  // WOPInfo, WOPLimits, Raw: an association's own values, without what it inherits
  bool own_values = false;
  std::vector<std::string> types;  // of TRES
  bool operator==(const AccountingConditions&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "clusters", &AccountingConditions::clusters);
    field(2, "accounts", &AccountingConditions::accounts);
    field(3, "users", &AccountingConditions::users);
    field(4, "partitions", &AccountingConditions::partitions);
    field(5, "parents", &AccountingConditions::parents);
    field(6, "wckeys", &AccountingConditions::wckeys);
    field(7, "names", &AccountingConditions::names);
    field(8, "descriptions", &AccountingConditions::descriptions);
    field(9, "organizations", &AccountingConditions::organizations);
    field(10, "qos", &AccountingConditions::qos);
    field(11, "default_qos", &AccountingConditions::default_qos);
    field(12, "actions", &AccountingConditions::actions);
    field(13, "actors", &AccountingConditions::actors);
    field(14, "ids", &AccountingConditions::ids);
    field(15, "default_accounts", &AccountingConditions::default_accounts);
    field(16, "admin_level", &AccountingConditions::admin_level);
    field(17, "start", &AccountingConditions::start);
    field(18, "end", &AccountingConditions::end);
    field(19, "with_deleted", &AccountingConditions::with_deleted);
    field(20, "with_sub_accounts", &AccountingConditions::with_sub_accounts);
    field(21, "only_defaults", &AccountingConditions::only_defaults);
    field(22, "own_values", &AccountingConditions::own_values);
    field(23, "types", &AccountingConditions::types);
  }
};

// A number of an association or QOS that can be set. Values travel: add, never renumber.
enum class LimitField : uint8_t {
  kFairshare = 1,
  kPriority = 2,
  kGrpJobs = 3,
  kGrpJobsAccrue = 4,
  kGrpSubmitJobs = 5,
  kGrpTres = 6,
  kGrpTresMins = 7,
  kGrpTresRunMins = 8,
  kGrpWall = 9,
  kMaxJobs = 10,  // of a QOS: PerUser, as the next two
  kMaxJobsAccrue = 11,
  kMaxSubmitJobs = 12,
  kMaxTresPerJob = 13,
  kMaxTresPerNode = 14,
  kMaxTresMinsPerJob = 15,
  kMaxTresRunMins = 16,  // of a QOS: PerUser
  kMaxWall = 17,
  kMinPrioThreshold = 18,
  // of a QOS alone
  kMaxJobsPerAccount = 19,
  kMaxJobsAccruePerAccount = 20,
  kMaxSubmitJobsPerAccount = 21,
  kMaxTresPerUser = 22,
  kMaxTresPerAccount = 23,
  kMaxTresRunMinsPerAccount = 24,
  kMinTresPerJob = 25,
  kGraceTime = 26,
  kPreemptExemptTime = 27,
  kUsageFactor = 28,
  kUsageThreshold = 29,
  kLimitFactor = 30,
};
inline constexpr uint64_t kClearTres = UINT64_MAX;  // as a TRES's count: has no limit any more

struct LimitSetting {
  LimitField field = LimitField::kFairshare;
  std::optional<int64_t> number;  // durations in seconds; empty (as real): no limit any more
  std::optional<double> real;     // factors and thresholds
  TresAmounts tres;               // those that change
  bool operator==(const LimitSetting&) const = default;
  template <class V>
  static void describe(V&& visit) {
    visit(1, "field", &LimitSetting::field);
    visit(2, "number", &LimitSetting::number);
    visit(3, "real", &LimitSetting::real);
    visit(4, "tres", &LimitSetting::tres);
  }
};

enum class SetChange : uint8_t { kReplace = 0, kAdd = 1, kRemove = 2 };
struct NameSet {
  std::vector<std::string> names;
  SetChange change = SetChange::kReplace;
  bool operator==(const NameSet&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "names", &NameSet::names);
    field(2, "change", &NameSet::change);
  }
};
struct FlagSet {
  QosFlags flags = 0;
  SetChange change = SetChange::kReplace;
  bool operator==(const FlagSet&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "flags", &FlagSet::flags);
    field(2, "change", &FlagSet::change);
  }
};

// What new entities get and those that are there are changed to.
struct AccountingSettings {
  std::optional<std::string> new_name;  // of a user
  std::optional<std::string> description, organization, parent, comment;
  std::optional<std::string> default_account, default_wckey;
  std::optional<std::string> default_qos;  // empty: none any more
  std::optional<AdminLevel> admin_level;
  std::optional<bool> users_are_coordinators;
  std::vector<NameSet> qos;  // in their order
  std::vector<NameSet> preempt;
  std::vector<FlagSet> qos_flags;
  std::optional<QosPreemptMode> preempt_mode;
  std::vector<LimitSetting> limits;
  bool operator==(const AccountingSettings&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "new_name", &AccountingSettings::new_name);
    field(2, "description", &AccountingSettings::description);
    field(3, "organization", &AccountingSettings::organization);
    field(4, "parent", &AccountingSettings::parent);
    field(5, "comment", &AccountingSettings::comment);
    field(6, "default_account", &AccountingSettings::default_account);
    field(7, "default_wckey", &AccountingSettings::default_wckey);
    field(8, "default_qos", &AccountingSettings::default_qos);
    field(9, "admin_level", &AccountingSettings::admin_level);
    field(10, "users_are_coordinators", &AccountingSettings::users_are_coordinators);
    field(11, "qos", &AccountingSettings::qos);
    field(12, "preempt", &AccountingSettings::preempt);
    field(13, "qos_flags", &AccountingSettings::qos_flags);
    field(14, "preempt_mode", &AccountingSettings::preempt_mode);
    field(15, "limits", &AccountingSettings::limits);
  }
};

// sacctmgr add, modify, delete. Asked twice where the user is to confirm: without `commit`, which
// changes nothing and says what would change, and with it, when everything is decided anew on what
// the database holds then.
struct ChangeAccountingRequest {
  static constexpr std::string_view kMethod = "Accounting/ChangeAccounting";
  using Reply = struct ChangeAccountingReply;
  AccountingVerb verb = AccountingVerb::kAdd;
  AccountingEntity entity = AccountingEntity::kAccount;
  AccountingConditions where;   // of Add: the names of what is new, and where
  AccountingSettings settings;  // of Delete: nothing
  bool commit = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "verb", &ChangeAccountingRequest::verb);
    field(2, "entity", &ChangeAccountingRequest::entity);
    field(3, "where", &ChangeAccountingRequest::where);
    field(4, "settings", &ChangeAccountingRequest::settings);
    field(5, "commit", &ChangeAccountingRequest::commit);
  }
};
// A change that is refused is answered as well, since its words are for the user.
struct ChangeAccountingReply {
  std::vector<std::string> changed;  // a line each of what changes, as sacctmgr indents it
  std::string shown;                 // for stdout: the whole text before the question; may be empty
  std::vector<std::string> errors;   // for stderr, without the command's name
  bool refused = false;              // nothing was or would be changed, exit status 1
  bool committed = false;
  uint64_t version = 0;  // of the records after it
  template <class V>
  static void describe(V&& field) {
    field(1, "changed", &ChangeAccountingReply::changed);
    field(2, "shown", &ChangeAccountingReply::shown);
    field(3, "errors", &ChangeAccountingReply::errors);
    field(4, "refused", &ChangeAccountingReply::refused);
    field(5, "committed", &ChangeAccountingReply::committed);
    field(6, "version", &ChangeAccountingReply::version);
  }
};

// sacctmgr load: changes that are decided in their order and committed together, or not at all.
struct LoadAccountingRequest {
  static constexpr std::string_view kMethod = "Accounting/LoadAccounting";
  using Reply = struct LoadAccountingReply;
  // encoded ChangeAccountingRequests, whose own `commit` says nothing. Each is a dozen bytes, and a
  // thousand once it is decoded: that is done with one after the other.
  std::vector<std::string> changes;
  bool commit = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "changes", &LoadAccountingRequest::changes);
    field(2, "commit", &LoadAccountingRequest::commit);
  }
};
struct LoadAccountingReply {
  std::vector<ChangeAccountingReply> replies;  // one each, until the first that is no-one's right
  bool committed = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "replies", &LoadAccountingReply::replies);
    field(2, "committed", &LoadAccountingReply::committed);
  }
};

struct ClusterRecord {
  uint32_t id = 0;
  std::string name, control_host, classification, nodes;
  uint32_t control_port = 0;  // 0: its controller is not there
  uint32_t rpc_version = 0;
  TresAmounts tres;
  uint32_t node_count = 0;
  std::vector<std::string> features;
  bool deleted = false;
  std::string controller_id;  // cluster id of the controller whose cluster it is; empty: not yet
  bool operator==(const ClusterRecord&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &ClusterRecord::id);
    field(2, "name", &ClusterRecord::name);
    field(3, "control_host", &ClusterRecord::control_host);
    field(4, "classification", &ClusterRecord::classification);
    field(5, "nodes", &ClusterRecord::nodes);
    field(6, "control_port", &ClusterRecord::control_port);
    field(7, "rpc_version", &ClusterRecord::rpc_version);
    field(8, "tres", &ClusterRecord::tres);
    field(9, "node_count", &ClusterRecord::node_count);
    field(10, "features", &ClusterRecord::features);
    field(11, "deleted", &ClusterRecord::deleted);
    field(12, "controller_id", &ClusterRecord::controller_id);
  }
};

struct TransactionRecord {
  uint64_t id = 0;
  Time time;
  std::string action, actor, where, info;
  // whom it concerns, for filters
  std::vector<std::string> clusters, accounts, users;
  bool operator==(const TransactionRecord&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &TransactionRecord::id);
    field(2, "time", &TransactionRecord::time);
    field(3, "action", &TransactionRecord::action);
    field(4, "actor", &TransactionRecord::actor);
    field(5, "where", &TransactionRecord::where);
    field(6, "info", &TransactionRecord::info);
    field(7, "clusters", &TransactionRecord::clusters);
    field(8, "accounts", &TransactionRecord::accounts);
    field(9, "users", &TransactionRecord::users);
  }
};

struct ProblemRecord {
  std::string cluster, account, user, problem;
  bool operator==(const ProblemRecord&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &ProblemRecord::cluster);
    field(2, "account", &ProblemRecord::account);
    field(3, "user", &ProblemRecord::user);
    field(4, "problem", &ProblemRecord::problem);
  }
};

// sacctmgr list. PrivateData decides what others than administrators see.
struct QueryAccountingRequest {
  static constexpr std::string_view kMethod = "Accounting/QueryAccounting";
  using Reply = struct QueryAccountingReply;
  AccountingEntity entity = AccountingEntity::kAccount;
  AccountingConditions where;
  bool with_associations = false;   // of accounts and users that are answered
  uint64_t transactions_after = 0;  // those behind this number: as the answer before said
  template <class V>
  static void describe(V&& field) {
    field(1, "entity", &QueryAccountingRequest::entity);
    field(2, "where", &QueryAccountingRequest::where);
    field(3, "with_associations", &QueryAccountingRequest::with_associations);
    field(4, "transactions_after", &QueryAccountingRequest::transactions_after);
  }
};
// Of an account whose association is none of those that are answered.
struct AccountName {
  AssociationId association = 0;
  std::string account;
  bool operator==(const AccountName&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "association", &AccountName::association);
    field(2, "account", &AccountName::account);
  }
};
// What an association changes of the QOS that it inherits: +ID of one more, -ID of one less.
struct QosDelta {
  AssociationId association = 0;
  std::vector<int64_t> changes;
  bool operator==(const QosDelta&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "association", &QosDelta::association);
    field(2, "changes", &QosDelta::changes);
  }
};
// The lists that the entity has; those of QOS and TRES always (all of them), because others name
// them by their ids.
struct QueryAccountingReply {
  std::vector<AccountRecord> accounts;
  std::vector<UserRecord> users;
  std::vector<AssociationRecord> associations;  // a parent before those below it, else by name
  std::vector<QosRecord> qos, all_qos;
  std::vector<TresRecord> tres, all_tres;
  std::vector<WckeyRecord> wckeys;
  std::vector<ClusterRecord> clusters;
  std::vector<TransactionRecord> transactions;
  std::vector<ProblemRecord> problems;
  std::vector<std::string> deleted;      // names (of associations: ids) of those that are deleted
  std::vector<QosDelta> qos_deltas;      // with `own_values`
  std::vector<AccountName> parents;      // of associations whose parent is not among them
  uint64_t more_transactions_after = 0;  // 0: `transactions` are all; else to be asked again
  template <class V>
  static void describe(V&& field) {
    field(1, "accounts", &QueryAccountingReply::accounts);
    field(2, "users", &QueryAccountingReply::users);
    field(3, "associations", &QueryAccountingReply::associations);
    field(4, "qos", &QueryAccountingReply::qos);
    field(5, "all_qos", &QueryAccountingReply::all_qos);
    field(6, "tres", &QueryAccountingReply::tres);
    field(7, "all_tres", &QueryAccountingReply::all_tres);
    field(8, "wckeys", &QueryAccountingReply::wckeys);
    field(9, "clusters", &QueryAccountingReply::clusters);
    field(10, "transactions", &QueryAccountingReply::transactions);
    field(11, "problems", &QueryAccountingReply::problems);
    field(12, "deleted", &QueryAccountingReply::deleted);
    field(13, "qos_deltas", &QueryAccountingReply::qos_deltas);
    field(14, "parents", &QueryAccountingReply::parents);
    field(15, "more_transactions_after", &QueryAccountingReply::more_transactions_after);
  }
};

}  // namespace sluice::protocol
