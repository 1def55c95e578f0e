// The one check that scheduler and engine share.
#include "ctld/state/rules/fits.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"
#include "ctld/state/core/indexes.hpp"
#include "ctld/state/rules/gang.hpp"
#include "ctld/state/rules/room.hpp"

namespace sluice::state {
namespace {

bool keeps_users_apart(const ClusterState& state) {
  return std::ranges::any_of(*state.partitions, [](const Partition& partition) {
    return partition.config->exclusive == ExclusiveMode::kUser;
  });
}

// Whether jobs of other users on the node let the job in.
bool users_agree(const ClusterState& state, const Node& node, const Job& job, bool one_user) {
  const bool apart = keeps_users_apart(state);
  return std::ranges::none_of(node.jobs, [&](JobId id) {
    const Job& other = state.jobs.at(id);
    if (other.spec->uid == job.spec->uid || !holds_processors(other)) return false;
    if (one_user) return true;
    return (apart || other.spec->sharing == Sharing::kUser) &&
           is_one_user(find_partition(state, other.partition.view()), *other.spec);
  });
}

// Whether each of the cores is held by fewer jobs of the partition than may share it, and by none
// that does not share or is of another partition.
bool cores_shareable(const ClusterState& state, const Partition& partition, const Node& node,
                     const Bitmap& cores, uint32_t sharers) {
  std::vector<uint32_t> held(node.config->cores());
  for (const JobId id : node.jobs) {
    const Job& other = state.jobs.at(id);
    const auto at = allocation_position(*other.allocation, node.id);
    if (!at || !counts_as_sharer(other)) continue;
    const bool shares = other.partition.view() == partition.config->name &&
                        !other.allocation->whole_nodes &&
                        sharers_of(*partition.config, *other.spec) > 1;
    other.allocation->nodes[*at].cores.for_each([&](size_t core) {
      if (core < held.size()) held[core] += shares ? 1 : sharers;
    });
  }
  bool free = true;
  cores.for_each([&](size_t core) { free = free && core < held.size() && held[core] < sharers; });
  return free;
}

// Whether the partition's jobs have not all that it lets them have of the node, or of a socket that
// is wanted.
bool within_bounds(const ClusterState& state, const Partition& partition, const Node& node,
                   const NodeAllocation& wanted) {
  const PartitionConfig& config = *partition.config;
  if (!bounds_cpus(config)) return true;
  const fit::PartitionUse use = use_of(state, partition, node);
  fit::PartitionUse more;
  more.add(wanted, *node.config);
  const uint64_t each = cpus_of_core(*node.config);
  for (size_t socket = 0; socket < std::min(use.cores.size(), more.cores.size()); ++socket) {
    if (more.cores[socket] > 0 && use.cores[socket] * each >= config.max_cpus_per_socket)
      return false;
  }
  return use.cpus < config.max_cpus_per_node;
}

Status fits_node(const ClusterState& state, const Job& job, const Partition& partition,
                 const NodeAllocation& wanted, bool whole) {
  const Node* node = state.nodes.find(wanted.node);
  if (node == nullptr || !partition.nodes.test(wanted.node) || !may_serve(state, *node)) {
    return failure(ErrorCode::kNodesNotAvailable);
  }
  const NodeConfig& config = *node->config;
  const SystemShare share = whole ? system_share(*job.spec, *state.config) : SystemShare{};
  if (wanted.cores.none() || wanted.cpus == 0 || wanted.cores.find_last() >= config.cores() ||
      wanted.cores.intersects(system_cores(config, share))) {
    return failure(ErrorCode::kNodesNotAvailable);
  }
  const bool shared = std::ranges::any_of(
      node->jobs, [&](JobId id) { return holds_processors(state.jobs.at(id)); });
  if (node->exclusive || (whole && shared)) return failure(ErrorCode::kNodesBusy);
  if (!whole && !within_bounds(state, partition, *node, wanted))
    return failure(ErrorCode::kNodesBusy);
  if (node->used_cores.intersects(wanted.cores)) {
    const uint32_t sharers = sharers_of(*partition.config, *job.spec);
    if (sharers < 2 || !cores_shareable(state, partition, *node, wanted.cores, sharers)) {
      return failure(ErrorCode::kNodesBusy);
    }
  }
  if (wanted.memory_mib > 0 &&
      node->used_memory_mib + wanted.memory_mib > usable_memory_mib(config)) {
    return failure(ErrorCode::kNodesBusy);
  }
  if (!wanted.gres.empty()) {
    const GresShares used = node->used_gres == nullptr ? GresShares{} : *node->used_gres;
    if (node->gres == nullptr || !has_free(*node->gres, used, wanted.gres))
      return failure(ErrorCode::kNodesBusy);
  }
  const bool one_user = is_one_user(&partition, *job.spec);
  if (!node->jobs.empty() && !users_agree(state, *node, job, one_user)) {
    return failure(ErrorCode::kNodesBusy);
  }
  return {};
}

}  // namespace

bool may_share_again(const ClusterState& state, const Job& job, const NodeAllocation& part) {
  const Partition* partition = find_partition(state, job.partition.view());
  if (partition == nullptr || job.allocation->whole_nodes) return false;
  const uint32_t sharers = sharers_of(*partition->config, *job.spec);
  return sharers > 1 && cores_shareable(state, *partition, state.nodes.at(part.node), part.cores,
                                        sharers + 1);  // it is one of them itself
}

Status fits(const ClusterState& state, const Job& job, const Partition& partition,
            const Allocation& allocation) {
  if (job.state != JobState::kPending || job.hold != HoldKind::kNone || !job.dependency.empty()) {
    return failure(ErrorCode::kJobNotPending);
  }
  const PartitionState partition_state = partition.config->state;
  if (partition_state == PartitionState::kDown || partition_state == PartitionState::kInactive) {
    return failure(ErrorCode::kPartitionNotAvailable);
  }
  const auto wanted = partitions_of(state, job);
  if (std::find(wanted.begin(), wanted.end(), partition.config->name) == wanted.end()) {
    return failure(ErrorCode::kInvalidPartition);
  }
  if (allocation.nodes.empty()) return failure(ErrorCode::kNodesNotAvailable);
  for (size_t i = 0; i < allocation.nodes.size(); ++i) {
    const NodeAllocation& part = allocation.nodes[i];
    if (i > 0 && part.node <= allocation.nodes[i - 1].node) {
      return failure(ErrorCode::kNodesNotAvailable);
    }
    if (Status fit = fits_node(state, job, partition, part, allocation.whole_nodes); !fit) {
      return fit;
    }
  }
  return {};
}

bool allows_node_count(const PartitionConfig& partition, const JobSpec& spec) {
  const bool more = spec.max_nodes == 0 && !spec.required_nodes.empty();  // than those it names
  // 0: any number
  const uint32_t most = spec.max_nodes != 0 || more ? spec.max_nodes : spec.min_nodes;
  if (std::max({1U, spec.min_nodes, most}) > partition.max_nodes) return false;
  return most == 0 || most >= partition.min_nodes;
}

Time planned_end(Time start, Minutes limit) {
  if (limit == kInfiniteMinutes || limit == 0) return start + std::chrono::hours(24 * 365);
  return start + std::chrono::minutes(limit);
}

Minutes limit_in(const Job& job, const PartitionConfig& partition) {
  if (job.spec->time_limit != 0) {
    // --time-min lets a partition lower the limit to what it allows
    const bool may_shrink = job.spec->time_min != 0 && job.spec->time_min <= partition.max_time;
    return may_shrink ? std::min(job.time_limit, partition.max_time) : job.time_limit;
  }
  return partition.default_time.value_or(partition.max_time);
}

bool is_too_late(const Job& job, Time now) {
  if (job.spec->deadline == kNoTime) return false;
  const Minutes least = job.spec->time_min != 0 ? job.spec->time_min : job.time_limit;
  const Duration run =
      least == kInfiniteMinutes ? Duration(0) : Duration(std::chrono::minutes(least));
  return now + run > job.spec->deadline;
}

Duration most_switch_wait(const ClusterConfig& config) {
  constexpr uint32_t kUsualSeconds = 300;
  const auto given = to_number<uint32_t>(
      option_value(config.scheduler_parameters, "max_switch_wait").value_or(""));
  return std::chrono::seconds(given.value_or(kUsualSeconds));
}

Minutes limit_before_deadline(const Job& job, Minutes limit, Time now) {
  if (job.spec->deadline == kNoTime || job.spec->time_min == 0) return limit;
  // as Slurm's clock has it, in whole seconds
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  const auto left = std::chrono::floor<std::chrono::minutes>(job.spec->deadline - second).count();
  if (left < job.spec->time_min || left >= limit) return limit;
  return static_cast<Minutes>(left);
}

}  // namespace sluice::state
