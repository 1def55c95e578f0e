#include "ctld/sched/policy/priority.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "ctld/sched/policy/accounting_shares.hpp"
#include "ctld/sched/policy/incr_only.hpp"
#include "ctld/sched/policy/multifactor.hpp"

namespace sluice::sched {
namespace {

// First submitted, first served: a number that falls with each job id.
class BasicPriority final : public PriorityPolicy {
 public:
  uint32_t priority(const Job& job, const PartitionConfig&, Time) const override {
    constexpr uint32_t kTop = 4'294'901'760;  // Slurm's first
    const int64_t value = int64_t{kTop} - job.id - job.spec->nice;
    return static_cast<uint32_t>(std::clamp<int64_t>(value, 1, UINT32_MAX - 1));
  }
};

}  // namespace

std::shared_ptr<const PriorityPolicy> make_priority_policy(
    std::string_view type, const state::ClusterState& state,
    std::shared_ptr<const JobShares> shares) {
  if (iequals(type, "priority/basic")) return std::make_shared<BasicPriority>();
  if (iequals(type, "priority/multifactor"))
    return std::make_shared<MultifactorPriority>(state, std::move(shares));
  return nullptr;
}

Policies make_policies(const state::ClusterState& state,
                       std::shared_ptr<const PriorityMemory> before,
                       std::shared_ptr<const JobShares> shares) {
  if (shares == nullptr) shares = shares_of(state.accounting);
  auto priority = make_priority_policy(state.config->priority_type, state, shares);
  if (!priority) priority = std::make_shared<MultifactorPriority>(state, std::move(shares));
  if (before != nullptr && only_increases(*state.config))
    priority = std::make_shared<IncreasingPriority>(std::move(priority), std::move(before));
  return {std::move(priority)};
}

bool has_fixed_priority(const Job& job) {
  // 0: a hold of former times, and released
  return job.spec->priority != UINT32_MAX && job.spec->priority != 0;
}

uint32_t priority_of(const PriorityPolicy& policy, const Job& job, const PartitionConfig& partition,
                     Time now) {
  return has_fixed_priority(job) ? job.spec->priority : policy.priority(job, partition, now);
}

}  // namespace sluice::sched
