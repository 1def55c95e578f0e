// Whose jobs a user may know of: with PrivateData=jobs his own and, for a coordinator, those of his
// accounts; operators see all.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// Of one answer: it remembers which accounts the user coordinates, and is not for several threads.
// The state outlives it.
class VisibleJobs {
 public:
  VisibleJobs() = default;  // all
  VisibleJobs(const ClusterState& state, uint32_t uid);

  [[nodiscard]] bool all() const { return state_ == nullptr; }
  [[nodiscard]] bool contains(const Job& job) const;

 private:
  const ClusterState* state_ = nullptr;  // null: all jobs are visible
  uint32_t uid_ = 0;
  mutable std::map<std::string, bool, std::less<>> coordinates_;  // by account
};

}  // namespace sluice::state
