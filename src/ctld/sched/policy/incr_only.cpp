#include "ctld/sched/policy/incr_only.hpp"

#include <algorithm>

#include "ctld/sched/pass.hpp"

namespace sluice::sched {

uint32_t IncreasingPriority::least(const Job& job) const {
  const bool several = job.spec->partitions.view().find(',') != std::string_view::npos;
  const SchedulerHints* before = several ? nullptr : before_->find(job.id);
  return before != nullptr ? before->priority : 0;
}

uint32_t IncreasingPriority::priority(const Job& job, const PartitionConfig& partition,
                                      Time now) const {
  return std::max(policy_->priority(job, partition, now), least(job));
}

std::optional<WeighedJob> IncreasingPriority::weigh(const Job& job,
                                                    const PartitionConfig& partition,
                                                    Time now) const {
  auto weighed = policy_->weigh(job, partition, now);
  if (weighed && !has_fixed_priority(job) && least(job) > weighed->priority)
    weighed->sum = weighed->priority = least(job);
  return weighed;
}

}  // namespace sluice::sched
