#include "ctld/sched/policy/multifactor.hpp"

#include <algorithm>
#include <cmath>

#include "common/syntax/tres_weights.hpp"

namespace sluice::sched {
namespace {

PriorityWeights weights_of(const ClusterConfig& c) {
  PriorityWeights out;
  out.age = c.priority_weight_age;
  out.assoc = c.priority_weight_assoc;
  out.fair_share = c.priority_weight_fair_share;
  out.job_size = c.priority_weight_job_size;
  out.partition = c.priority_weight_partition;
  out.qos = c.priority_weight_qos;
  out.tres = parse_tres_weights(c.priority_weight_tres).value_or(std::vector<TresWeight>());
  return out;
}

double share_of(double part, double whole) {
  return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0.0;
}

// What the job has, or asks for as Slurm reads it: -N2-4 alone is for one CPU, -N3 for three.
ClusterSize size_of(const Job& job) {
  if (job.allocation != nullptr) return {job.allocation->nodes.size(), job.allocation->cpus};
  const JobSpec& spec = *job.spec;
  const uint64_t nodes = std::max(1U, spec.min_nodes);
  if (spec.min_cpus != 0) return {nodes, spec.min_cpus};
  const bool as_many = spec.max_nodes == 0 || spec.max_nodes == spec.min_nodes;
  const uint64_t on_nodes = (as_many ? nodes : 1) * std::max(1U, spec.ntasks_per_node);
  const uint64_t tasks = spec.num_tasks != 0 ? spec.num_tasks : on_nodes;
  const uint64_t cpus = tasks * std::max(1U, spec.cpus_per_task);
  return {nodes, std::max(cpus, nodes * spec.min_cpus_per_node)};
}

}  // namespace

MultifactorPriority::MultifactorPriority(const state::ClusterState& state,
                                         std::shared_ptr<const JobShares> shares)
    : config_(state.config),
      shares_(std::move(shares)),
      weights_(weights_of(*config_)),
      partitions_(state, weights_.tres),
      started_(state.epoch_start) {
  if (weights_.job_size > 0) cluster_ = sched::size_of(state);
  for (const state::Partition& partition : *state.partitions)
    top_factor_ = std::max(top_factor_, partition.config->priority_job_factor);
  const auto flag = [&](std::string_view name) {
    return has_option(config_->priority_flags, name);
  };
  small_relative_to_time_ = flag("SMALL_RELATIVE_TO_TIME");
  accrue_always_ = flag("ACCRUE_ALWAYS");
  const bool all = flag("NO_NORMAL_ALL");
  normal_assoc_ = !all && !flag("NO_NORMAL_ASSOC");
  normal_part_ = !all && !flag("NO_NORMAL_PART");
  normal_qos_ = !all && !flag("NO_NORMAL_QOS");
  normal_tres_ = !all && !flag("NO_NORMAL_TRES");
}

uint32_t MultifactorPriority::priority(const Job& job, const PartitionConfig& partition,
                                       Time now) const {
  return static_cast<uint32_t>(sum(job, factors(job, partition, now)));
}

std::optional<WeighedJob> MultifactorPriority::weigh(const Job& job,
                                                     const PartitionConfig& partition,
                                                     Time now) const {
  WeighedJob out;
  if (has_fixed_priority(job)) {
    out.factors.tres.resize(weights_.tres.size());
    out.sum = out.priority = job.spec->priority;
    return out;
  }
  out.factors = factors(job, partition, now);
  out.sum = sum(job, out.factors);
  out.priority = static_cast<uint32_t>(out.sum);
  return out;
}

Time MultifactorPriority::next_change(Time now) const {
  const Duration period = config_->priority_calc_period;
  if (period <= Duration(0) || now < started_) return kNever;
  return started_ + period * ((now - started_) / period + 1);
}

PriorityFactors MultifactorPriority::factors(const Job& job, const PartitionConfig& partition,
                                             Time now) const {
  PriorityFactors out;
  if (weights_.age > 0) out.age = age(job, now);
  if (weights_.job_size > 0) out.job_size = job_size(job, partition);
  if (weights_.partition > 0) {
    const double factor = partition.priority_job_factor;
    out.partition = normal_part_ ? share_of(factor, top_factor_) : factor;
  }
  if (!weights_.tres.empty()) add_tres(job, partition, out);
  if (shares_ == nullptr) return out;
  const auto normalised = [](uint32_t value, uint32_t highest, bool is_normal) {
    return is_normal ? share_of(value, highest) : double{1} * value;
  };
  if (weights_.fair_share > 0) out.fair_share = shares_->fair_share(job, partition.name);
  if (weights_.assoc > 0) {
    out.assoc = normalised(shares_->association_priority(job, partition.name),
                           shares_->highest_association_priority(), normal_assoc_);
  }
  if (weights_.qos > 0)
    out.qos = normalised(shares_->qos_priority(job), shares_->highest_qos_priority(), normal_qos_);
  return out;
}

// Of the time that it has been eligible, as it was when priorities were computed last.
double MultifactorPriority::age(const Job& job, Time now) const {
  const Time from = accrue_always_ ? job.submit : job.accrue;
  if (from == kNoTime) return 0;
  const Duration period = config_->priority_calc_period;
  if (period > Duration(0) && now >= started_)
    now = started_ + period * ((now - started_) / period);
  if (now <= from) return 0;
  return share_of(static_cast<double>((now - from).count()),
                  static_cast<double>(config_->priority_max_age.count()));
}

double MultifactorPriority::job_size(const Job& job, const PartitionConfig& partition) const {
  const ClusterSize asked = size_of(job);
  const double nodes =
      share_of(static_cast<double>(asked.nodes), static_cast<double>(cluster_.nodes));
  const double cpus = share_of(static_cast<double>(asked.cpus), static_cast<double>(cluster_.cpus));
  double size = (nodes + cpus) / 2;
  if (small_relative_to_time_) {
    const Minutes limit = job.time_limit != 0 ? job.time_limit : partition.max_time;
    size = std::max(nodes, cpus) / std::max(1U, limit);
  }
  return config_->priority_favor_small ? 1 - size : size;
}

void MultifactorPriority::add_tres(const Job& job, const PartitionConfig& partition,
                                   PriorityFactors& out) const {
  const PartitionSizes::Size* whole = partitions_.find(partition.name);
  state::TresCounts counts;
  if (job.allocation != nullptr) {
    counts = state::allocated_tres(*job.allocation);
  } else if (const auto asked = state::requested_tres(*job.spec, partition, *config_)) {
    counts.gres = asked->gres;
    const ClusterSize size = size_of(job);
    counts.nodes = size.nodes;
    counts.cpus = size.cpus;
    uint64_t on_node = asked->memory_per_node_mib;
    if (asked->all_memory && whole != nullptr) on_node = whole->node_memory_mib;
    counts.memory_mib = asked->memory_per_cpu_mib > 0 ? asked->memory_per_cpu_mib * size.cpus
                                                      : on_node * size.nodes;
  }
  out.tres = amounts_of(weights_.tres, counts, job.spec->licenses.view());
  if (!normal_tres_) return;
  for (size_t i = 0; i < out.tres.size(); ++i)
    out.tres[i] = whole == nullptr ? 0 : share_of(out.tres[i], whole->amounts[i]);
}

double MultifactorPriority::sum(const Job& job, const PriorityFactors& factors) const {
  double sum = weights_.age * factors.age + weights_.assoc * factors.assoc +
               weights_.fair_share * factors.fair_share + weights_.job_size * factors.job_size +
               weights_.partition * factors.partition + weights_.qos * factors.qos;
  for (size_t i = 0; i < factors.tres.size(); ++i) sum += weights_.tres[i].weight * factors.tres[i];
  return std::clamp(sum + job.spec->site_factor - job.spec->nice, 1.0, 4'294'967'294.0);
}

}  // namespace sluice::sched
