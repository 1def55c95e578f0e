#include "ctld/sched/topology/switches.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "common/base/text.hpp"
#include "common/format/job_values.hpp"
#include "ctld/state/rules/fits.hpp"

namespace sluice::sched {
SwitchRequest switches_of(const JobSpec& spec, const ClusterConfig& config) {
  const std::string_view text = spec.switches;
  if (text.empty()) return {};
  const size_t at = text.find('@');
  SwitchRequest request;
  request.most = to_number<uint32_t>(text.substr(0, at)).value_or(0);
  request.wait = state::most_switch_wait(config);
  if (at != std::string_view::npos) request.wait = std::min(request.wait, switch_wait(spec));
  return request;
}

SwitchTree::SwitchTree(const state::ClusterState& state) {
  const std::vector<SwitchConfig>& lines = state.config->switches;
  std::map<std::string, Switch> done;
  // from the leaves up; reading the file has seen to it that there are no rings
  while (done.size() < lines.size()) {
    const size_t before = done.size();
    for (const SwitchConfig& line : lines) {
      const bool ready = std::ranges::all_of(
          line.switches, [&](const std::string& child) { return done.contains(child); });
      if (!ready || done.contains(line.name)) continue;
      Switch made;
      for (const std::string& name : line.nodes) {
        if (const Node* node = state::find_node(state, name)) made.nodes.set(node->id);
      }
      for (const std::string& child : line.switches) {
        made.level = std::max(made.level, done.at(child).level + 1);
        made.nodes |= done.at(child).nodes;
      }
      done.emplace(line.name, std::move(made));
    }
    if (done.size() == before) break;
  }
  for (const SwitchConfig& line : lines) {
    if (const auto at = done.find(line.name); at != done.end()) switches_.push_back(at->second);
  }
  std::ranges::stable_sort(switches_, {}, &Switch::level);
}

uint32_t SwitchTree::leaves_of(const std::vector<NodeAllocation>& nodes) const {
  std::set<size_t> leaves;
  uint32_t alone = 0;
  for (const NodeAllocation& part : nodes) {
    const auto at = std::ranges::find_if(
        switches_, [&](const Switch& s) { return s.level == 0 && s.nodes.test(part.node); });
    if (at == switches_.end()) ++alone;
    else leaves.insert(static_cast<size_t>(at - switches_.begin()));
  }
  return static_cast<uint32_t>(leaves.size()) + alone;
}

std::vector<const fit::Room*> SwitchTree::fullest_leaves_first(
    std::span<const fit::Room* const> rooms, const Bitmap* required) const {
  std::vector<std::vector<const fit::Room*>> groups;
  Bitmap grouped;
  for (const Switch& leaf : switches_) {
    if (leaf.level != 0) break;
    auto& group = groups.emplace_back();
    for (const fit::Room* room : rooms) {
      if (!leaf.nodes.test(room->node) || grouped.test(room->node)) continue;
      grouped.set(room->node);
      group.push_back(room);
    }
  }
  // those of required nodes go before
  const auto has_required = [&](const std::vector<const fit::Room*>& group) {
    return required != nullptr && std::ranges::any_of(group, [&](const fit::Room* room) {
             return required->test(room->node);
           });
  };
  std::ranges::stable_sort(groups, std::greater<>(), [&](const auto& group) {
    return std::pair(has_required(group), group.size());
  });
  std::vector<const fit::Room*> out;
  for (const auto& group : groups) out.insert(out.end(), group.begin(), group.end());
  for (const fit::Room* room : rooms) {
    if (!grouped.test(room->node)) out.push_back(room);
  }
  return out;
}

SwitchTree::Placed SwitchTree::place(const fit::Needs& needs,
                                     std::span<const fit::Room* const> rooms,
                                     const Bitmap* required, fit::Unit unit,
                                     const TopologyWish& wish) const {
  const auto good = [&](const Placed& placed) {
    return placed && (wish.most_switches == 0 || leaves_of(*placed) <= wish.most_switches);
  };
  std::vector<const fit::Room*> below;
  uint32_t level = 0;
  Placed best;
  uint32_t best_leaves = 0;
  size_t best_rooms = 0;
  for (const Switch& one : switches_) {
    if (best && one.level > level) break;  // nothing above uses fewer
    level = one.level;
    below.clear();
    for (const fit::Room* room : rooms) {
      if (one.nodes.test(room->node)) below.push_back(room);
    }
    if (below.empty()) continue;
    if (one.level > 0) below = fullest_leaves_first(below, required);
    Placed placed = fit::place(needs, below, required, unit);
    if (!placed) continue;
    const uint32_t leaves = leaves_of(*placed);
    // of leaves that hold it all the one that is nearly full
    const bool fuller = one.level == 0 && below.size() < best_rooms;
    if (best && leaves >= best_leaves && !fuller) continue;
    best = std::move(placed);
    best_leaves = leaves;
    best_rooms = below.size();
  }
  // nodes that are below no common switch
  if (!best) best = fit::place(needs, rooms, required, unit);
  return good(best) ? std::move(best) : std::nullopt;
}

}  // namespace sluice::sched
