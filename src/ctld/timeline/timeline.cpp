#include "ctld/timeline/timeline.hpp"

namespace sluice::timeline {
namespace {

// So many more of what is counted are gone, and nothing else.
void take_count(NodeTimeline& seen, const Closing& when, const ReservedCounts& what,
                uint64_t count) {
  const GresShares shares{{what.name, what.type, count, {}, {}}};
  seen.add(when.from, when.to, Claim{.gres = &shares, .parked = true});
}

}  // namespace

Bitmap Timeline::View::reserved(NodeId node, Tick before) const {
  Bitmap cores;
  const auto at = reserved_.parts.find(node);
  if (at == reserved_.parts.end()) return cores;
  for (const Reserved& one : at->second) {
    if (one.from < before) cores |= one.cores;
  }
  return cores;
}

void Timeline::View::reset(NodeId node, const NodeTimeline& base) {
  const auto parts = reserved_.parts.find(node);
  const auto counts = reserved_.counts.find(node);
  if (parts == reserved_.parts.end() && counts == reserved_.counts.end()) return;
  NodeTimeline& seen = nodes_[node] = base;
  if (parts != reserved_.parts.end()) {
    for (const Reserved& one : parts->second)
      seen.add(one.from, one.to, Claim{.cores = &one.cores, .gres = &one.units, .uid = one.uid});
  }
  if (counts == reserved_.counts.end()) return;
  std::vector<CounterTimeline>& counters = counters_[node];
  counters.clear();
  for (const ReservedCounts& what : counts->second) {
    CounterTimeline& counter = counters.emplace_back(what.total);
    const CounterTimeline::Viewer viewer{reserved_.group, what.most};
    const uint64_t closed = counter.closed_to(viewer);
    if (closed > 0) take_count(seen, {0, kNoTick}, what, closed);
    for (const CounterTimeline::Change& kept : what.kept) {
      counter.change_for(viewer, kept, [&](Tick from, Tick to, uint64_t less) {
        take_count(seen, {from, to}, what, less);
      });
    }
  }
}

void Timeline::View::add_counted(NodeId node, NodeTimeline& seen, const Closing& when,
                                 const Claim& claim) {
  const auto counts = reserved_.counts.find(node);
  if (counts == reserved_.counts.end()) return seen.add(when.from, when.to, claim);
  GresShares others = *claim.gres;
  for (size_t i = 0; i < counts->second.size(); ++i) {
    const ReservedCounts& what = counts->second[i];
    uint64_t count = 0;
    std::erase_if(others, [&](const GresShare& share) {
      const bool same = share.name == what.name && share.type == what.type;
      if (same) count += share.count;
      return same;
    });
    if (count == 0) continue;
    counters_[node][i].change_for(
        {reserved_.group, what.most},
        {.from = when.from, .to = when.to, .count = count, .group = claim.group},
        [&](Tick from, Tick to, uint64_t less) {
          take_count(seen, {from, to}, what, less);
        });
  }
  Claim rest = claim;
  rest.gres = &others;
  seen.add(when.from, when.to, rest);
}

const Timeline::View& Timeline::add_view(ReservedForOthers reserved) {
  View& view = views_.emplace_back(std::move(reserved));
  for (const auto& [node, list] : view.reserved_.parts) view.reset(node, nodes_[node]);
  for (const auto& [node, list] : view.reserved_.counts) {
    if (!view.reserved_.parts.contains(node)) view.reset(node, nodes_[node]);
  }
  return view;
}

}  // namespace sluice::timeline
