// TopologyPlugin=topology/tree: which nodes hang on which leaf switches, and placements that use
// few of them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/base/bitmap.hpp"
#include "ctld/fit/place.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::sched {

// --switches=COUNT[@TIME] as a job has it.
struct SwitchRequest {
  uint32_t most = 0;  // leaf switches; 0: any number
  Duration wait{};    // how long the job waits for that
};
[[nodiscard]] SwitchRequest switches_of(const JobSpec& spec, const ClusterConfig& config);

class SwitchTree {
 public:
  using Placed = std::optional<std::vector<NodeAllocation>>;

  explicit SwitchTree(const state::ClusterState& state);
  [[nodiscard]] bool empty() const { return switches_.empty(); }

  // As fit::place(), below the lowest switch that can; then on the fullest leaves first. nullopt,
  // too, when it would need more than `most` leaves (0: any number).
  [[nodiscard]] Placed place(const fit::Needs& needs, std::span<const fit::Room* const> rooms,
                             const Bitmap* required, fit::Unit unit, uint32_t most) const;
  // Leaf switches of these nodes; each node without a switch counts as one of its own.
  [[nodiscard]] uint32_t leaves_of(const std::vector<NodeAllocation>& nodes) const;

 private:
  struct Switch {
    uint32_t level = 0;
    Bitmap nodes;  // NodeIds below it
  };
  [[nodiscard]] std::vector<const fit::Room*> fullest_leaves_first(
      std::span<const fit::Room* const> rooms) const;

  std::vector<Switch> switches_;  // the lowest level first
};

}  // namespace sluice::sched
