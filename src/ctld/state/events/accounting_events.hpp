// Events of accounting: what the accounting daemon says of the site, and how usage fades. A part of
// events.hpp, and of the journal's format in the same way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/accounting.hpp"

namespace sluice::state {

// A user as this cluster knows him.
struct AccountingUser {
  UserRecord record;
  uint32_t uid = UINT32_MAX;  // UINT32_MAX: the system does not know the name
  bool operator==(const AccountingUser&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "record", &AccountingUser::record);
    field(2, "uid", &AccountingUser::uid);
  }
};

// Records that are new or different, and those that are gone.
struct AccountingChanged {
  static constexpr uint32_t kTag = 260;
  static constexpr const char* kName = "AccountingChanged";
  uint64_t version = 0;  // of all of them, afterwards
  Time time = kNoTime;
  std::vector<TresRecord> tres;
  std::vector<AccountRecord> accounts;
  std::vector<AccountingUser> users;
  std::vector<AssociationRecord> associations;
  std::vector<QosRecord> qos;
  std::vector<WckeyRecord> wckeys;
  std::vector<std::string> gone_accounts, gone_users;
  std::vector<uint32_t> gone_associations, gone_qos, gone_wckeys;
  // Usage and jobs follow the names of records to other numbers. Events of before forgot the usage
  // of records that go, and left jobs at their numbers.
  bool by_name = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "version", &AccountingChanged::version);
    field(2, "time", &AccountingChanged::time);
    field(3, "tres", &AccountingChanged::tres);
    field(4, "accounts", &AccountingChanged::accounts);
    field(5, "users", &AccountingChanged::users);
    field(6, "associations", &AccountingChanged::associations);
    field(7, "qos", &AccountingChanged::qos);
    field(8, "wckeys", &AccountingChanged::wckeys);
    field(9, "gone_accounts", &AccountingChanged::gone_accounts);
    field(10, "gone_users", &AccountingChanged::gone_users);
    field(11, "gone_associations", &AccountingChanged::gone_associations);
    field(12, "gone_qos", &AccountingChanged::gone_qos);
    field(13, "gone_wckeys", &AccountingChanged::gone_wckeys);
    field(14, "by_name", &AccountingChanged::by_name);
  }
};

// What running jobs used until `time` is theirs; all usage so far is multiplied by `factor` before.
struct UsageDecayed {
  static constexpr uint32_t kTag = 261;
  static constexpr const char* kName = "UsageDecayed";
  Time time = kNoTime;
  double factor = 1.0;  // 0 … 1; 0: it is forgotten (PriorityUsageResetPeriod)
  template <class V>
  static void describe(V&& field) {
    field(1, "time", &UsageDecayed::time);
    field(2, "factor", &UsageDecayed::factor);
  }
};

// What was used is forgotten: by these associations and all below, which those above lose, too.
struct UsageReset {
  static constexpr uint32_t kTag = 262;
  static constexpr const char* kName = "UsageReset";
  std::vector<AssociationId> associations;
  std::vector<QosId> qos;
  // of records that are gone: all of their names; in small letters
  std::vector<std::string> gone_associations, gone_qos;
  template <class V>
  static void describe(V&& field) {
    field(1, "associations", &UsageReset::associations);
    field(2, "qos", &UsageReset::qos);
    field(3, "gone_associations", &UsageReset::gone_associations);
    field(4, "gone_qos", &UsageReset::gone_qos);
  }
};

}  // namespace sluice::state
