// QOS with the flag Relative: their limits of TRES are percentages of what the cluster has, or as
// the QOS of a partition, of what that has.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "common/model/job_account.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// What limits are read from, with numbers in place of percentages. For any number of accounts of
// one state, which outlives it: the nodes are added up once for each two QOS.
class RelativeNumbers {
 public:
  explicit RelativeNumbers(const ClusterState& state) : state_(state) {}
  // For limits of this account; the state's own where its QOS have none that are relative. O(nodes)
  // the first time.
  [[nodiscard]] const Accounting& accounting_for(const JobAccount& account);

 private:
  const ClusterState& state_;
  std::map<std::pair<QosId, QosId>, std::optional<Accounting>>
      known_;  // by QOS, and its partition's
};

}  // namespace sluice::state
