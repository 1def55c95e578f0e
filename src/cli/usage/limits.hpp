// The limits that hold for a user's jobs, and what counts against each.
#pragma once

#include <span>
#include <vector>

#include "cli/usage/report.hpp"

namespace sluice::cli {

// `chains`: each association of the user with the accounts above it, itself first.
using AssociationChain = std::vector<const protocol::AssociationInUse*>;
[[nodiscard]] std::vector<UsageLimit> usage_limits(const std::string& user,
                                                   const protocol::AssocMgrReply& all,
                                                   std::span<const AssociationChain> chains);

}  // namespace sluice::cli
