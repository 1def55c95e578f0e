// TopologyPlugin: how near nodes are to each other, and placements that keep a job's nodes
// together.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/bitmap.hpp"
#include "ctld/fit/place.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::sched {

// What a job asks of the topology.
struct TopologyWish {
  uint32_t most_switches = 0;    // leaf switches; 0: any number
  uint32_t segment = 0;          // nodes of a segment, which is in one block; 0: all in one
  bool spread_segments = false;  // no two segments in one block
  // The lowest level at which a group of all nodes, idle, holds the job: it goes no higher than
  // that. UINT32_MAX: as high as it must.
  uint32_t highest_level = UINT32_MAX;
};

class Topology {
 public:
  using Placed = std::optional<std::vector<NodeAllocation>>;

  Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  virtual ~Topology() = default;

  // As the configuration says; null: all nodes are as near to each other.
  [[nodiscard]] static std::unique_ptr<const Topology> of(const state::ClusterState& state);

  // As fit::place(), of nodes that are near to each other; nullopt, too, where the wish is not
  // granted.
  [[nodiscard]] virtual Placed place(const fit::Needs& needs,
                                     std::span<const fit::Room* const> rooms,
                                     const Bitmap* required, fit::Unit unit,
                                     const TopologyWish& wish) const = 0;
  // TopologyWish::highest_level of such a job, with all nodes that it may have, idle.
  [[nodiscard]] virtual uint32_t level_for(const fit::Needs& needs,
                                           std::span<const fit::Room* const> idle,
                                           const Bitmap* required, fit::Unit unit) const = 0;
};

}  // namespace sluice::sched
