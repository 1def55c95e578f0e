// TopologyPlugin=topology/tree: which nodes hang on which leaf switches, and placements that use
// few of them.
#pragma once

#include "ctld/sched/topology/topology.hpp"

namespace sluice::sched {

// --switches=COUNT[@TIME] as a job has it.
struct SwitchRequest {
  uint32_t most = 0;  // leaf switches; 0: any number
  Duration wait{};    // how long the job waits for that
};
[[nodiscard]] SwitchRequest switches_of(const JobSpec& spec, const ClusterConfig& config);

class SwitchTree final : public Topology {
 public:
  explicit SwitchTree(const state::ClusterState& state);

  // Below the lowest switch that can; then on the fullest leaves first.
  [[nodiscard]] Placed place(const fit::Needs& needs, std::span<const fit::Room* const> rooms,
                             const Bitmap* required, fit::Unit unit,
                             const TopologyWish& wish) const override;
  [[nodiscard]] uint32_t level_for(const fit::Needs& /*needs*/,
                                   std::span<const fit::Room* const> /*idle*/,
                                   const Bitmap* /*required*/, fit::Unit /*unit*/) const override {
    return UINT32_MAX;
  }

 private:
  // Leaf switches of these nodes; each node without a switch counts as one of its own.
  [[nodiscard]] uint32_t leaves_of(const std::vector<NodeAllocation>& nodes) const;

  struct Switch {
    uint32_t level = 0;
    Bitmap nodes;  // NodeIds below it
  };
  [[nodiscard]] std::vector<const fit::Room*> fullest_leaves_first(
      std::span<const fit::Room* const> rooms, const Bitmap* required) const;

  std::vector<Switch> switches_;  // the lowest level first
};

}  // namespace sluice::sched
