// QOS with the flag Relative: their limits of TRES are percentages of what the cluster has, or as
// the QOS of a partition, of what that has.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "common/model/job_account.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// With numbers in place of the percentages of this account's QOS; nullopt: it has none. O(nodes).
[[nodiscard]] std::optional<Accounting> with_numbers(const ClusterState& state,
                                                     const JobAccount& account);

// The same for many accounts of one state, which outlives it: the nodes are added up once for each
// two QOS.
class RelativeNumbers {
 public:
  explicit RelativeNumbers(const ClusterState& state) : state_(state) {}
  // What limits of this account are to be read from.
  [[nodiscard]] const Accounting& accounting_for(const JobAccount& account);

 private:
  const ClusterState& state_;
  std::map<std::pair<QosId, QosId>, std::optional<Accounting>>
      known_;  // by QOS, and its partition's
};

}  // namespace sluice::state
