// What the controller knows of accounting: the records that it follows, the usage of associations
// and QOS, and what their jobs hold now. A part of ClusterState; a copy shares everything.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/shared_text.hpp"
#include "common/base/time.hpp"
#include "common/model/accounting.hpp"
#include "ctld/state/core/cow_table.hpp"
#include "ctld/state/core/fair_share.hpp"
#include "ctld/state/core/held.hpp"
#include "ctld/state/core/usage.hpp"
#include "ctld/state/events/accounting_events.hpp"

namespace sluice {
struct JobSpec;
}

namespace sluice::state {

using TresTable = std::vector<TresRecord>;  // by id
using AccountTable = std::map<std::string, AccountRecord, std::less<>>;
using UserTable = std::map<std::string, AccountingUser, std::less<>>;

// What a user, or an account, holds of a QOS. Those with one hash are in one record, in order.
struct MemberBucket {
  struct Entry {
    QosId qos = 0;
    uint32_t uid = UINT32_MAX;  // UINT32_MAX: of an account
    SharedText account;         // empty: of a user
    Held held;
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries;
  bool operator==(const MemberBucket&) const = default;
};

// A pass has a copy of its own, in which it starts jobs on trial.
struct HeldTables {
  CowTable<Held> associations;  // by id; those above a job's own count it, too
  CowTable<Held> qos;
  CowTable<MemberBucket> members;                                    // by hash
  [[nodiscard]] const Held* user_of(QosId qos, uint32_t uid) const;  // null: holds nothing
  [[nodiscard]] const Held* account_of(QosId qos, std::string_view account) const;
};

// Names; made again when records change.
struct AccountingNames {
  std::unordered_map<std::string, AssociationId> associations;  // by user, account and partition
  std::unordered_map<std::string, AssociationId> defaults;      // by user
  std::unordered_map<std::string, QosId> qos;                   // in small letters
  std::unordered_map<uint32_t, std::string> users;              // by uid
  bool by_partition = false;  // some association is of one partition only
};

struct Accounting {
  uint64_t version = 0;    // of the records; 0: none were received yet
  Time charged = kNoTime;  // until when running jobs were charged
  Time reset = kNoTime;    // when usage was forgotten last (PriorityUsageResetPeriod)
  std::shared_ptr<const TresTable> tres = std::make_shared<TresTable>();
  std::shared_ptr<const AccountTable> accounts = std::make_shared<AccountTable>();
  std::shared_ptr<const UserTable> users = std::make_shared<UserTable>();
  CowTable<AssociationRecord> associations;
  CowTable<QosRecord> qos;
  CowTable<WckeyRecord> wckeys;
  CowTable<Usage> association_usage;  // by id, with that of all below
  CowTable<Usage> qos_usage;
  std::shared_ptr<const GoneUsage> gone_usage = std::make_shared<GoneUsage>();

  // derived
  std::shared_ptr<const AccountingNames> names = std::make_shared<AccountingNames>();
  HeldTables held;
  // as of the last time that usage decayed or records changed, and of the start
  std::shared_ptr<const FairShares> shares = std::make_shared<FairShares>();
};

// --- looking things up ---------------------------------------------------------------------------

// What names an association within its cluster: user, account and partition.
[[nodiscard]] std::string name_key(const AssociationRecord& record);
// What it was made of, but the partition.
struct NameParts {
  std::string_view user, account;
};
[[nodiscard]] NameParts name_parts(std::string_view key);
// What is above an association that is gone, as far as it is known.
struct AboveGone {
  std::vector<std::string> gone;  // names, from below
  AssociationId live = 0;         // the next above these; 0: not known
};
[[nodiscard]] AboveGone above_gone(const Accounting& accounting, std::string_view key);
// Null: there is none.
[[nodiscard]] const AssociationRecord* find_association(const Accounting& accounting,
                                                        AssociationId id);
// That of the partition, else that of all partitions; `user` empty: of the account itself.
[[nodiscard]] const AssociationRecord* find_association(const Accounting& accounting,
                                                        std::string_view user,
                                                        std::string_view account,
                                                        std::string_view partition);
// That of a job: of its account, else of its user's default account.
[[nodiscard]] const AssociationRecord* find_association(const Accounting& accounting,
                                                        const JobSpec& spec,
                                                        std::string_view partition);
// The user's default account; empty: he has none.
[[nodiscard]] std::string default_account(const Accounting& accounting, std::string_view user);
[[nodiscard]] const QosRecord* find_qos(const Accounting& accounting, std::string_view name);
// 0: there is none of the name.
[[nodiscard]] QosId find_qos_id(const Accounting& accounting, std::string_view name);
// Of a job's wckey; a user's default one is shown with a `*` before it.
[[nodiscard]] inline std::string_view wckey_name(std::string_view shown) {
  return shown.substr(shown.starts_with('*') ? 1 : 0);
}
[[nodiscard]] const WckeyRecord* find_wckey(const Accounting& accounting, std::string_view user,
                                            std::string_view name);
[[nodiscard]] const AccountingUser* find_user(const Accounting& accounting, uint32_t uid);
[[nodiscard]] AdminLevel admin_level(const Accounting& accounting, uint32_t uid);
// Of this account, or of one above it.
[[nodiscard]] bool is_coordinator(const Accounting& accounting, uint32_t uid,
                                  std::string_view account);
// 0: nobody counts it. `type` is "gres", `name` "gpu:a100".
[[nodiscard]] TresId find_tres(const Accounting& accounting, std::string_view type,
                               std::string_view name);
// "cpu", "gres/gpu:a100"; of the eight that are always there also before any record came.
[[nodiscard]] std::string tres_name(const Accounting& accounting, TresId id);

// Calls visit(AssociationId, const AssociationRecord*) from this one up to the root; the record is
// null when it is gone.
template <class Visit>
void for_ancestors(const Accounting& accounting, AssociationId id, Visit&& visit) {
  // records from elsewhere could be their own parents
  for (int depth = 0; id != 0 && depth < kDeepestTree; ++depth) {
    const AssociationRecord* record = accounting.associations.find(id);
    visit(id, record);
    id = record == nullptr ? 0 : record->parent;
  }
}

// Names of accounts, users and QOS from the records.
void rebuild_names(Accounting& accounting);

}  // namespace sluice::state
