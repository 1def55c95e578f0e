#include "ctld/sched/topology/topology.hpp"

#include "ctld/sched/topology/blocks.hpp"
#include "ctld/sched/topology/switches.hpp"
#include "ctld/state/rules/node_groups.hpp"

namespace sluice::sched {

std::unique_ptr<const Topology> Topology::of(const state::ClusterState& state) {
  const ClusterConfig& config = *state.config;
  if (config.switches.empty()) return nullptr;
  if (state::has_blocks(config)) return std::make_unique<BlockTopology>(state);
  return std::make_unique<SwitchTree>(state);
}

}  // namespace sluice::sched
