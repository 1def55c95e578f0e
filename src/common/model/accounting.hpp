// What accounting says of a site: TRES, accounts, users, associations, QOS. The accounting daemon
// owns these records; each controller follows those of its cluster and enforces their limits.
//
// A limit that is not set is an empty optional, or has no entry in its list of TRES; 0 is a limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.hpp"

namespace sluice {

// A trackable resource by its number: 1 to 8 are the same everywhere, others are given by the
// accounting daemon, from kFirstDynamicTres on, and never change.
using TresId = uint32_t;
inline constexpr TresId kTresCpu = 1;
inline constexpr TresId kTresMem = 2;  // MB
inline constexpr TresId kTresEnergy = 3;
inline constexpr TresId kTresNode = 4;
inline constexpr TresId kTresBilling = 5;
inline constexpr TresId kTresFsDisk = 6;
inline constexpr TresId kTresVmem = 7;
inline constexpr TresId kTresPages = 8;
inline constexpr TresId kFirstDynamicTres = 1001;  // GRES, licenses, burst buffers

struct TresRecord {
  TresId id = 0;
  std::string type;  // "cpu", "gres", "license"
  std::string name;  // "gpu:a100"; empty for those that need none
  bool operator==(const TresRecord&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &TresRecord::id);
    field(2, "type", &TresRecord::type);
    field(3, "name", &TresRecord::name);
  }
};

struct TresAmount {
  TresId id = 0;
  uint64_t count = 0;
  bool operator==(const TresAmount&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &TresAmount::id);
    field(2, "count", &TresAmount::count);
  }
};
using TresAmounts = std::vector<TresAmount>;  // sorted by id, each at most once

// The limits that associations and QOS have in common. Durations are of a second's precision.
struct GroupLimits {
  TresAmounts tres;           // GrpTRES: held at once by all that the record covers
  TresAmounts tres_mins;      // GrpTRESMins: TRES minutes, decayed usage against it
  TresAmounts tres_run_mins;  // GrpTRESRunMins: TRES minutes that running jobs may still use
  std::optional<uint32_t> jobs, jobs_accrue, submit;
  std::optional<Duration> wall;
  bool operator==(const GroupLimits&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "tres", &GroupLimits::tres);
    field(2, "tres_mins", &GroupLimits::tres_mins);
    field(3, "tres_run_mins", &GroupLimits::tres_run_mins);
    field(4, "jobs", &GroupLimits::jobs);
    field(5, "jobs_accrue", &GroupLimits::jobs_accrue);
    field(6, "submit", &GroupLimits::submit);
    field(7, "wall", &GroupLimits::wall);
  }
};

// Of one user or one account; of an association itself.
struct MemberLimits {
  TresAmounts tres;           // at once
  TresAmounts tres_run_mins;  // that running jobs may still use
  std::optional<uint32_t> jobs, jobs_accrue, submit;
  bool operator==(const MemberLimits&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "tres", &MemberLimits::tres);
    field(2, "tres_run_mins", &MemberLimits::tres_run_mins);
    field(3, "jobs", &MemberLimits::jobs);
    field(4, "jobs_accrue", &MemberLimits::jobs_accrue);
    field(5, "submit", &MemberLimits::submit);
  }
};

// Of one job.
struct JobLimits {
  TresAmounts tres;       // MaxTRES (per job)
  TresAmounts tres_node;  // MaxTRESPerNode
  TresAmounts tres_mins;  // MaxTRESMins (per job)
  TresAmounts min_tres;   // MinTRES (per job); QOS only
  std::optional<Duration> wall;
  std::optional<uint32_t> min_priority;  // MinPrioThreshold
  bool operator==(const JobLimits&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "tres", &JobLimits::tres);
    field(2, "tres_node", &JobLimits::tres_node);
    field(3, "tres_mins", &JobLimits::tres_mins);
    field(4, "min_tres", &JobLimits::min_tres);
    field(5, "wall", &JobLimits::wall);
    field(6, "min_priority", &JobLimits::min_priority);
  }
};

using AssociationId = uint32_t;
using QosId = uint32_t;

inline constexpr uint32_t kSharesOfParent = 0x7fffffff;  // Fairshare=parent
// Associations from the root of a tree to a user, both counted: what is asked of a tree costs that.
inline constexpr int kDeepestTree = 64;

struct AssociationRecord {
  AssociationId id = 0;      // unique in a database; 0: none
  AssociationId parent = 0;  // 0: the root account
  std::string cluster, account;
  std::string user;         // empty: of the account itself
  std::string partition;    // empty: of all partitions
  std::string lineage;      // "/root-account/account/0-user-partition/", as sacctmgr shows it
  bool is_default = false;  // the user's default account on this cluster
  uint32_t shares = 1;      // kSharesOfParent: uses those of its parent
  GroupLimits group;
  MemberLimits member;  // MaxJobs, MaxSubmitJobs, MaxTRESRunMins, …; its tres has no meaning
  JobLimits job;
  std::optional<uint32_t> priority;
  std::vector<QosId> qos;  // that its jobs may use, sorted; inherited ones included
  QosId default_qos = 0;   // 0: none
  std::string comment;
  // When it was made first, which tells it from that of another database with the same number;
  // kNoTime: before this was kept.
  Time created = kNoTime;
  bool operator==(const AssociationRecord&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &AssociationRecord::id);
    field(2, "parent", &AssociationRecord::parent);
    field(3, "cluster", &AssociationRecord::cluster);
    field(4, "account", &AssociationRecord::account);
    field(5, "user", &AssociationRecord::user);
    field(6, "partition", &AssociationRecord::partition);
    field(7, "lineage", &AssociationRecord::lineage);
    field(8, "is_default", &AssociationRecord::is_default);
    field(9, "shares", &AssociationRecord::shares);
    field(10, "group", &AssociationRecord::group);
    field(11, "member", &AssociationRecord::member);
    field(12, "job", &AssociationRecord::job);
    field(13, "priority", &AssociationRecord::priority);
    field(14, "qos", &AssociationRecord::qos);
    field(15, "default_qos", &AssociationRecord::default_qos);
    field(16, "comment", &AssociationRecord::comment);
    field(17, "created", &AssociationRecord::created);
  }
};

// A bit each; values are stored: add, never renumber.
using QosFlags = uint64_t;
inline constexpr QosFlags kQosPartitionMinNodes = 1U << 0;
inline constexpr QosFlags kQosPartitionMaxNodes = 1U << 1;
inline constexpr QosFlags kQosPartitionTimeLimit = 1U << 2;
inline constexpr QosFlags kQosEnforceUsageThreshold = 1U << 3;
inline constexpr QosFlags kQosNoReserve = 1U << 4;
inline constexpr QosFlags kQosRequiresReservation = 1U << 5;
inline constexpr QosFlags kQosDenyOnLimit = 1U << 6;
inline constexpr QosFlags kQosOverPartQos = 1U << 7;
inline constexpr QosFlags kQosNoDecay = 1U << 8;
inline constexpr QosFlags kQosUsageFactorSafe = 1U << 9;
inline constexpr QosFlags kQosRelative = 1U << 10;

enum class QosPreemptMode : uint8_t {
  kClusterDefault,
  kCancel,
  kGang,
  kRequeue,
  kSuspend,
  kWithin,  // jobs of the QOS preempt one another, too; the mode is the cluster's
  // the same with a mode of its own
  kWithinCancel,
  kWithinRequeue,
  kWithinSuspend,
};
[[nodiscard]] constexpr bool is_within(QosPreemptMode mode) {
  return mode >= QosPreemptMode::kWithin;
}
// The mode beside WITHIN.
[[nodiscard]] constexpr QosPreemptMode mode_beside_within(QosPreemptMode mode) {
  switch (mode) {
    case QosPreemptMode::kWithin: return QosPreemptMode::kClusterDefault;
    case QosPreemptMode::kWithinCancel: return QosPreemptMode::kCancel;
    case QosPreemptMode::kWithinRequeue: return QosPreemptMode::kRequeue;
    case QosPreemptMode::kWithinSuspend: return QosPreemptMode::kSuspend;
    default: return mode;
  }
}

struct QosRecord {
  QosId id = 0;  // 1 is "normal", which a new database has
  std::string name, description;
  QosFlags flags = 0;
  uint32_t priority = 0;
  GroupLimits group;
  MemberLimits user, account;  // …PerUser and …PerAccount
  JobLimits job;
  std::vector<QosId> preempt;  // whose jobs those of this one may preempt, sorted
  QosPreemptMode preempt_mode = QosPreemptMode::kClusterDefault;
  std::optional<Duration> grace_time, preempt_exempt_time;
  double usage_factor = 1.0;
  std::optional<double> usage_threshold, limit_factor;
  bool operator==(const QosRecord&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &QosRecord::id);
    field(2, "name", &QosRecord::name);
    field(3, "description", &QosRecord::description);
    field(4, "flags", &QosRecord::flags);
    field(5, "priority", &QosRecord::priority);
    field(6, "group", &QosRecord::group);
    field(7, "user", &QosRecord::user);
    field(8, "account", &QosRecord::account);
    field(9, "job", &QosRecord::job);
    field(10, "preempt", &QosRecord::preempt);
    field(11, "preempt_mode", &QosRecord::preempt_mode);
    field(12, "grace_time", &QosRecord::grace_time);
    field(13, "preempt_exempt_time", &QosRecord::preempt_exempt_time);
    field(14, "usage_factor", &QosRecord::usage_factor);
    field(15, "usage_threshold", &QosRecord::usage_threshold);
    field(16, "limit_factor", &QosRecord::limit_factor);
  }
};

struct AccountRecord {
  std::string name, description, organization;
  std::vector<std::string> coordinators;  // users, sorted
  bool users_are_coordinators = false;    // Flags=UsersAreCoords: all users of it and below
  bool operator==(const AccountRecord&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &AccountRecord::name);
    field(2, "description", &AccountRecord::description);
    field(3, "organization", &AccountRecord::organization);
    field(4, "coordinators", &AccountRecord::coordinators);
    field(5, "users_are_coordinators", &AccountRecord::users_are_coordinators);
  }
};

enum class AdminLevel : uint8_t { kNone, kOperator, kAdministrator };

struct UserRecord {
  std::string name;
  AdminLevel admin_level = AdminLevel::kNone;
  std::string default_wckey;
  bool operator==(const UserRecord&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &UserRecord::name);
    field(2, "admin_level", &UserRecord::admin_level);
    field(3, "default_wckey", &UserRecord::default_wckey);
  }
};

struct WckeyRecord {
  uint32_t id = 0;
  std::string cluster, user, name;
  bool is_default = false;
  bool operator==(const WckeyRecord&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &WckeyRecord::id);
    field(2, "cluster", &WckeyRecord::cluster);
    field(3, "user", &WckeyRecord::user);
    field(4, "name", &WckeyRecord::name);
    field(5, "is_default", &WckeyRecord::is_default);
  }
};

// All that a controller follows: what an accounting daemon answers it. `version` grows with each
// change; equal versions mean equal contents.
struct AccountingRecords {
  uint64_t version = 0;
  std::vector<TresRecord> tres;                 // by id
  std::vector<AccountRecord> accounts;          // by name
  std::vector<UserRecord> users;                // by name
  std::vector<AssociationRecord> associations;  // of one cluster, by id
  std::vector<QosRecord> qos;                   // by id
  std::vector<WckeyRecord> wckeys;              // of one cluster, by id
  bool operator==(const AccountingRecords&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "version", &AccountingRecords::version);
    field(2, "tres", &AccountingRecords::tres);
    field(3, "accounts", &AccountingRecords::accounts);
    field(4, "users", &AccountingRecords::users);
    field(5, "associations", &AccountingRecords::associations);
    field(6, "qos", &AccountingRecords::qos);
    field(7, "wckeys", &AccountingRecords::wckeys);
  }
};

}  // namespace sluice
