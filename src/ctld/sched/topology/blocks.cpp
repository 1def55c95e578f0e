#include "ctld/sched/topology/blocks.hpp"

#include <algorithm>
#include <functional>

#include "ctld/state/rules/node_groups.hpp"

namespace sluice::sched {

BlockTopology::BlockTopology(const state::ClusterState& state) {
  levels_.push_back(*state.leaf_groups);
  const std::vector<Bitmap> blocks = levels_.front();
  for (const uint32_t in_a_row : state::blocks_of_levels(*state.config)) {
    std::vector<Bitmap>& groups = levels_.emplace_back();
    for (size_t at = 0; at < blocks.size(); ++at) {
      if (at % in_a_row == 0) groups.emplace_back();
      groups.back() |= blocks[at];
    }
  }
}

std::vector<BlockTopology::Rooms> BlockTopology::by_group(const std::vector<Bitmap>& groups,
                                                          std::span<const fit::Room* const> rooms) {
  std::vector<Rooms> out(groups.size());
  for (size_t at = 0; at < groups.size(); ++at) {
    for (const fit::Room* room : rooms) {
      if (groups[at].test(room->node)) out[at].push_back(room);
    }
  }
  return out;
}

BlockTopology::Placed BlockTopology::place(const fit::Needs& needs,
                                           std::span<const fit::Room* const> rooms,
                                           const Bitmap* required, fit::Unit unit,
                                           const TopologyWish& wish) const {
  if (wish.segment > 0) return place_segments(needs, rooms, required, unit, wish);
  for (size_t level = 0; level < levels_.size() && level <= wish.highest_level; ++level) {
    std::vector<Rooms> groups = by_group(levels_[level], rooms);
    std::ranges::stable_sort(groups, {}, &Rooms::size);
    for (const Rooms& group : groups) {
      if (group.size() < needs.min_nodes || group.empty()) continue;
      if (auto placed = fit::place(needs, group, required, unit)) return placed;
    }
  }
  if (wish.highest_level < levels_.size()) return std::nullopt;
  std::vector<Rooms> blocks = by_group(levels_.front(), rooms);
  std::ranges::stable_sort(blocks, std::greater(), &Rooms::size);
  Rooms all;
  for (const Rooms& block : blocks) all.insert(all.end(), block.begin(), block.end());
  // nodes that are in no block come last
  for (const fit::Room* room : rooms) {
    const auto has = [room](const Bitmap& block) { return block.test(room->node); };
    if (std::ranges::none_of(levels_.front(), has)) all.push_back(room);
  }
  return fit::place(needs, all, required, unit);
}

// Whole segments from as few blocks as can be, or from as many as there are segments.
BlockTopology::Placed BlockTopology::place_segments(const fit::Needs& needs,
                                                    std::span<const fit::Room* const> rooms,
                                                    const Bitmap* required, fit::Unit unit,
                                                    const TopologyWish& wish) const {
  const auto is_required = [&](const fit::Room* room) {
    return required != nullptr && required->test(room->node);
  };
  std::vector<Rooms> blocks = by_group(levels_.front(), rooms);
  for (Rooms& block : blocks) {
    std::ranges::stable_sort(block, std::greater(), [&](const fit::Room* room) {
      return std::pair(is_required(room), fit::capacity(needs, *room).tasks);
    });
  }
  std::ranges::stable_sort(blocks, std::greater(), [&](const Rooms& block) {
    return std::pair(std::ranges::count_if(block, is_required), block.size() / wish.segment);
  });
  size_t left = std::max(1U, needs.min_nodes) / wish.segment;
  Rooms chosen;
  for (const Rooms& block : blocks) {
    const size_t most = wish.spread_segments ? 1 : left;
    const size_t segments = std::min({block.size() / wish.segment, left, most});
    const auto end = block.begin() + static_cast<ptrdiff_t>(segments * wish.segment);
    chosen.insert(chosen.end(), block.begin(), end);
    left -= segments;
  }
  if (left > 0) return std::nullopt;
  return fit::place(needs, chosen, required, unit);
}

uint32_t BlockTopology::level_for(const fit::Needs& needs, std::span<const fit::Room* const> idle,
                                  const Bitmap* required, fit::Unit unit) const {
  for (uint32_t level = 0; level < levels_.size(); ++level) {
    for (const Rooms& group : by_group(levels_[level], idle)) {
      if (!group.empty() && fit::place(needs, group, required, unit)) return level;
    }
  }
  return UINT32_MAX;
}

}  // namespace sluice::sched
