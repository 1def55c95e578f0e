#include "ctld/state/rules/node_groups.hpp"

#include <algorithm>

#include "common/base/text.hpp"

namespace sluice::state {

bool has_blocks(const ClusterConfig& config) {
  return iequals(config.topology_plugin, "topology/block");
}

uint32_t block_size(const ClusterConfig& config) {
  if (!config.block_sizes.empty()) return config.block_sizes.front();
  size_t least = 0;
  for (const SwitchConfig& one : config.switches)
    least = least == 0 ? one.nodes.size() : std::min(least, one.nodes.size());
  return static_cast<uint32_t>(least);
}

std::vector<uint32_t> blocks_of_levels(const ClusterConfig& config) {
  std::vector<uint32_t> out;
  for (size_t at = 1; at < config.block_sizes.size(); ++at)
    out.push_back(config.block_sizes[at] / config.block_sizes.front());
  return out;
}

bool wants_groups_alone(const ClusterState& state, const PartitionConfig* partition,
                        const JobSpec& spec) {
  if (state.config->switches.empty()) return false;
  return spec.sharing == Sharing::kTopo ||
         (partition != nullptr && partition->exclusive == ExclusiveMode::kTopo);
}

Bitmap with_groups(const std::vector<Bitmap>& groups, const Bitmap& nodes) {
  Bitmap out = nodes;
  for (const Bitmap& group : groups) {
    if (group.intersects(nodes)) out |= group;
  }
  return out;
}

bool groups_are_open(const ClusterState& state, const Job& job, const Partition& partition,
                     const Allocation& allocation) {
  if (state.config->switches.empty()) return true;
  const bool alone = wants_groups_alone(state, partition.config.get(), *job.spec);
  const auto is_in_the_way = [&](JobId id) {
    const Job& other = state.jobs.at(id);
    const bool together =
        job.het != nullptr && other.het != nullptr && other.het->leader == job.het->leader;
    if (id == job.id || together) return false;
    const Partition* its = find_partition(state, other.partition.view());
    return alone ||
           wants_groups_alone(state, its == nullptr ? nullptr : its->config.get(), *other.spec);
  };
  const bool may_be = alone || !state.group_alone.empty() ||
                      std::ranges::any_of(*state.partitions, [](const Partition& one) {
                        return one.config->exclusive == ExclusiveMode::kTopo;
                      });
  if (!may_be) return true;
  Bitmap nodes;
  for (const NodeAllocation& part : allocation.nodes) nodes.set(part.node);
  bool open = true;
  with_groups(*state.leaf_groups, nodes).for_each([&](size_t id) {
    const Node* node = state.nodes.find(static_cast<NodeId>(id));
    if (node == nullptr || !open) return;
    open = std::ranges::none_of(node->jobs, is_in_the_way);
  });
  return open;
}

}  // namespace sluice::state
