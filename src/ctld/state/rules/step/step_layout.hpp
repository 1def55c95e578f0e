// Where a step's tasks run: nodes out of the job's allocation, CPUs and cores on each, and which
// task on which node. Distribution over sockets and cores inside a node is the step daemon's.
#pragma once

#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// kStepsBusy: the resources exist but other steps use them (srun tries again). kNodesNotAvailable,
// kTooManyCpus, kTooManyNodes, kInvalidNodeName, kTaskMemory: they never will.
// `taken`: positions of nodes that other parts of the step have, as each part has nodes of its own.
[[nodiscard]] Result<StepLayout> lay_out_step(const ClusterState& state, const Job& job,
                                              const StepSpec& spec, const Bitmap& taken = {});

// All that the job holds on a node, as a part of a step without tasks yet.
[[nodiscard]] StepNode whole_part(const ClusterState& state, const NodeAllocation& held);

enum class TaskOrder : uint8_t { kBlock, kCyclic, kPlane, kArbitrary };
struct Distribution {
  TaskOrder order = TaskOrder::kBlock;
  uint32_t plane_size = 0;
  bool pack = false;  // Pack, of blocks: fill a node before the next
};
// The part of --distribution that is about nodes ("cyclic:block,NoPack"). `given` is false when the
// text has none; `pack` is what counts where neither Pack nor NoPack is said.
[[nodiscard]] Result<Distribution> parse_distribution(std::string_view text, bool& given,
                                                      bool pack = false);

// Tasks of each node, in order: `counts[i]` tasks for node i.
[[nodiscard]] std::vector<std::vector<uint32_t>> assign_tasks(std::span<const uint32_t> counts,
                                                              const Distribution& distribution);

}  // namespace sluice::state
