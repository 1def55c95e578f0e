// Fair share: how much of what is theirs associations used, and who is owed most. Fair Tree, or
// with PriorityFlags=NO_FAIR_TREE the classic formula.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "common/model/accounting.hpp"

namespace sluice::state {

struct Accounting;

struct Share {
  double norm_shares = 0;      // Fair Tree: among siblings; classic: of the whole cluster
  uint64_t level_shares = 0;   // raw shares of it and its siblings
  double norm_usage = 0;       // of all usage of the cluster
  double effective_usage = 0;  // Fair Tree: among siblings; classic: with a part of its siblings'
  double level_fs = 0;         // Fair Tree: norm_shares / effective_usage; infinity: nothing used
  double factor = 0;           // 0 … 1, of users
};

struct FairShares {
  std::unordered_map<AssociationId, Share> by_association;
  uint32_t highest_priority = 0;                          // Priority= of an association
  [[nodiscard]] const Share& of(AssociationId id) const;  // of none: nothing
};

struct FairShareRules {
  bool fair_tree = true;
  double dampening = 1;  // FairShareDampeningFactor
};

// O(n log n) of the associations.
[[nodiscard]] FairShares fair_shares(const Accounting& accounting, const FairShareRules& rules);

}  // namespace sluice::state
