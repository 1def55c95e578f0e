// Numbers of associations, QOS and TRES are a database's. What the state keeps by them, usage and
// the accounts and charges of jobs, follows the names: where a record goes and comes back, and
// where a tree is loaded into another database, which gives other numbers.
#pragma once

#include <map>
#include <unordered_set>

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/events/accounting_events.hpp"

namespace sluice::state {

// What a change of records does to numbers.
struct NumberChanges {
  std::unordered_set<AssociationId> gone_associations, new_associations;
  std::unordered_set<QosId> gone_qos, new_qos;
  std::map<TresId, TresId> tres;  // from, to; to 0: nobody counts it any more
  // A number can be of another record afterwards: then it is gone and new.
};

// Before the records change: usage of those that go is kept under their names.
[[nodiscard]] NumberChanges leave_numbers(Accounting& accounting, const AccountingChanged& event);

// After the records and their names changed: what is kept under the names of new records is
// theirs, and jobs are of the records that have the names of their users, accounts and QOS. True
// where a job counts elsewhere now: rebuild_held() is due.
[[nodiscard]] bool follow_names(ClusterState& state, const NumberChanges& changes);

}  // namespace sluice::state
