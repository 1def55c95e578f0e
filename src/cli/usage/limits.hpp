// The limits that hold for a user's jobs, and what counts against each.
#pragma once

#include <span>
#include <vector>

#include "cli/usage/report.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice::cli {

// `chains`: each association of the user with the accounts above it, itself first. `partitions`:
// those that are shown to the user, whose QOS are theirs, too.
using AssociationChain = std::vector<const protocol::AssociationInUse*>;
[[nodiscard]] std::vector<UsageLimit> usage_limits(
    const std::string& user, const protocol::AssocMgrReply& all,
    std::span<const AssociationChain> chains,
    std::span<const protocol::PartitionRecord> partitions);

}  // namespace sluice::cli
