// QOS with the flag Relative: their limits of TRES are percentages of what the cluster has, or as
// the QOS of a partition, of what that has.
#pragma once

#include <optional>

#include "common/model/job_account.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// With numbers in place of the percentages of this account's QOS; nullopt: it has none. O(nodes).
[[nodiscard]] std::optional<Accounting> with_numbers(const ClusterState& state,
                                                     const JobAccount& account);

}  // namespace sluice::state
