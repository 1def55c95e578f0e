#include "ctld/sched/policy/priority.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/text.hpp"

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

// The weighted sum of age, job size and partition. Fair-share, QOS and association factors are zero
// without accounting.
class MultifactorPriority final : public PriorityPolicy {
 public:
  explicit MultifactorPriority(const state::ClusterState& state) : config_(state.config) {
    for (const auto& partition : *state.partitions) {
      top_factor_ = std::max(top_factor_, partition.config->priority_job_factor);
      total_cpus_ = std::max(total_cpus_, partition.total_cpus);
      total_nodes_ = std::max(total_nodes_, static_cast<uint32_t>(partition.nodes.count()));
    }
  }
  uint32_t priority(const Job& job, const PartitionConfig& partition, Time now) const override {
    const ClusterConfig& c = *config_;
    double sum =
        c.priority_weight_partition * (double{1} * partition.priority_job_factor / top_factor_);
    if (c.priority_weight_age > 0 && job.accrue != kNoTime && now > job.accrue) {
      const double age = static_cast<double>((now - job.accrue).count()) /
                         static_cast<double>(std::max<int64_t>(1, c.priority_max_age.count()));
      sum += c.priority_weight_age * std::min(1.0, age);
    }
    if (c.priority_weight_job_size > 0) {
      const JobSpec& spec = *job.spec;
      const uint32_t asked =
          spec.min_cpus != 0 ? spec.min_cpus : spec.num_tasks * std::max(1U, spec.cpus_per_task);
      const double cpus = std::max(1U, asked);
      const double size =
          (cpus / total_cpus_ + static_cast<double>(std::max(1U, spec.min_nodes)) / total_nodes_) /
          2;
      sum += c.priority_weight_job_size *
             std::clamp(c.priority_favor_small ? 1 - size : size, 0.0, 1.0);
    }
    const double value = std::floor(sum) + job.spec->site_factor - job.spec->nice;
    return static_cast<uint32_t>(std::clamp(value, 1.0, 4'294'967'294.0));
  }

 private:
  std::shared_ptr<const ClusterConfig> config_;
  uint32_t top_factor_ = 1;
  uint32_t total_cpus_ = 1;
  uint32_t total_nodes_ = 1;
};

}  // namespace

std::shared_ptr<const PriorityPolicy> make_priority_policy(std::string_view type,
                                                           const state::ClusterState& state) {
  if (iequals(type, "priority/basic")) return std::make_shared<BasicPriority>();
  if (iequals(type, "priority/multifactor")) return std::make_shared<MultifactorPriority>(state);
  return nullptr;
}

Policies make_policies(const state::ClusterState& state) {
  auto priority = make_priority_policy(state.config->priority_type, state);
  if (!priority) priority = std::make_shared<MultifactorPriority>(state);
  return {std::move(priority)};
}

}  // namespace sluice::sched
