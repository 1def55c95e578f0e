// What a job is charged for: the TRES that it holds, with their ids, and the billing that
// TRESBillingWeights of its partition make of them.
#pragma once

#include <memory>
#include <string_view>

#include "common/model/job_account.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/rules/requested_tres.hpp"

namespace sluice::state {

// By id; those that nobody counts (AccountingStorageTRES) are left out. Without billing.
[[nodiscard]] TresAmounts tres_amounts(const Accounting& accounting, const TresCounts& counts,
                                       std::string_view licenses);
// Exact, in millionths. PriorityFlags=MAX_TRES: the largest of what is weighed on nodes, and what
// is the cluster's (licenses); MAX_TRES_GRES: the largest of CPUs, memory and nodes, and each GRES.
// Without weights: the CPUs.
[[nodiscard]] uint64_t billing_micro(const ClusterConfig& config, const PartitionConfig& partition,
                                     const TresCounts& counts, std::string_view licenses);
// As commands show it, a whole number: of what the job asks for in its partition.
[[nodiscard]] uint64_t requested_billing(const ClusterState& state, const Job& job,
                                         const TresCounts& counts);
// Of what it holds.
[[nodiscard]] uint64_t shown_billing(const ClusterState& state, const Job& job,
                                     const TresCounts& counts);
// Of what the job asks for, at least; nothing where that contradicts itself.
[[nodiscard]] TresAmounts requested_amounts(const ClusterState& state, const JobSpec& spec,
                                            const PartitionConfig& partition);
[[nodiscard]] TresAmounts allocated_amounts(const ClusterState& state, const JobSpec& spec,
                                            const PartitionConfig& partition,
                                            const Allocation& allocation);
// The most that is held of each TRES on one node.
[[nodiscard]] TresAmounts largest_of_nodes(const Accounting& accounting,
                                           const Allocation& allocation);
// Of a job that starts with this allocation.
[[nodiscard]] std::shared_ptr<const JobCharge> charge_of(const ClusterState& state,
                                                         const JobSpec& spec,
                                                         const PartitionConfig& partition,
                                                         const Allocation& allocation,
                                                         const JobAccount& account);

}  // namespace sluice::state
