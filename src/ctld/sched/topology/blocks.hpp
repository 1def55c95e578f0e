// TopologyPlugin=topology/block: blocks of nodes, and groups of as many of them in a row as
// BlockSizes of topology.conf says.
#pragma once

#include "ctld/sched/topology/topology.hpp"

namespace sluice::sched {

// A job is placed in one group of the lowest level that can ever hold it, or of a lower one; of
// several in the one that has the least free beside it. What no group holds is placed in few
// blocks.
class BlockTopology final : public Topology {
 public:
  explicit BlockTopology(const state::ClusterState& state);

  [[nodiscard]] Placed place(const fit::Needs& needs, std::span<const fit::Room* const> rooms,
                             const Bitmap* required, fit::Unit unit,
                             const TopologyWish& wish) const override;
  [[nodiscard]] uint32_t level_for(const fit::Needs& needs, std::span<const fit::Room* const> idle,
                                   const Bitmap* required, fit::Unit unit) const override;

 private:
  using Rooms = std::vector<const fit::Room*>;
  // Rooms of each group of a level.
  [[nodiscard]] static std::vector<Rooms> by_group(const std::vector<Bitmap>& groups,
                                                   std::span<const fit::Room* const> rooms);
  [[nodiscard]] Placed place_segments(const fit::Needs& needs,
                                      std::span<const fit::Room* const> rooms,
                                      const Bitmap* required, fit::Unit unit,
                                      const TopologyWish& wish) const;

  std::vector<std::vector<Bitmap>> levels_;  // NodeIds of each group; the first are the blocks
};

}  // namespace sluice::sched
