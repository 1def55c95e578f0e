#include "ctld/timeline/start_index.hpp"

#include <algorithm>

namespace sluice::timeline {

StartIndex::StartIndex(const Timeline& timeline, const std::vector<IndexedNode>& nodes,
                       const NodeDemand& demand, Tick duration, bool every_change)
    : timeline_(timeline),
      nodes_(nodes),
      demand_(demand),
      duration_(std::max<Tick>(duration, 1)),
      every_change_(every_change) {
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].required) required_.push_back(i);
  }
  epoch_ = timeline_.epoch();
  begin_anew();
}

void StartIndex::begin_anew() {
  floor_ = 0;
  const size_t count = nodes_.size();
  first_.assign(count, 0);
  last_.assign(count, 0);
  units_.resize(count);
  versions_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    units_[i] = nodes_[i].most;
    versions_[i] = timeline_.version(nodes_[i].id) - 1;  // another one: it was not looked at
  }
}

bool StartIndex::is_known(uint32_t position, Tick at) const {
  const bool passed = first_[position] <= at && last_[position] < at;
  return !passed && versions_[position] == timeline_.version(nodes_[position].id);
}

void StartIndex::look_at(uint32_t position, Tick from) {
  floor_ = std::max(floor_, from);
  const IndexedNode& node = nodes_[position];
  NodeTimeline::Wanted wanted{from, duration_, node.most, node.closings};
  if (every_change_) wanted.most = UINT32_MAX;
  const Starts starts = timeline_.node(node.id).next_start(node.id, wanted, demand_, scratch_);
  first_[position] = starts.first;
  last_[position] = starts.first == kNoTick ? kNoTick : starts.last;
  units_[position] = std::min(starts.units, node.most);
  versions_[position] = timeline_.version(node.id);
}

bool StartIndex::serves(uint32_t position, Tick at) {
  if (first_[position] > at) return false;
  if (!is_known(position, at)) look_at(position, std::max(at, first_[position]));
  return first_[position] <= at;
}

// What can be hoped for: nodes that changed have no more than they had.
StartIndex::Count StartIndex::count_at(Tick at) const {
  Count count;
  const size_t size = nodes_.size();
  for (size_t i = 0; i < size; ++i) {
    if (first_[i] > at) {
      count.later = std::min(count.later, first_[i]);
      continue;
    }
    const bool passed = last_[i] < at;
    const uint32_t units = passed ? nodes_[i].most : units_[i];
    ++count.nodes;
    count.units += units;
    if (units < nodes_[i].most) count.later = std::min(count.later, last_[i] + 1);
  }
  return count;
}

bool StartIndex::verify(Tick at, Enough enough, bool all, Count& hoped,
                        std::vector<uint32_t>& serving) {
  serving.clear();
  for (const uint32_t position : required_) {
    if (serves(position, at)) continue;
    hoped.later = first_[position];
    return false;
  }
  if (!required_.empty()) hoped = count_at(at);  // they may have been looked at
  Count found;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (first_[i] > at) continue;
    if (!is_known(i, at)) {
      hoped.units -= last_[i] < at ? nodes_[i].most : units_[i];
      --hoped.nodes;
      look_at(i, at);
      if (first_[i] > at) {
        hoped.later = std::min(hoped.later, first_[i]);
        if (!hoped.is_enough(enough)) return false;
        continue;
      }
      hoped.units += units_[i];
      ++hoped.nodes;
      if (units_[i] < nodes_[i].most) hoped.later = std::min(hoped.later, last_[i] + 1);
      if (!hoped.is_enough(enough)) return false;
    }
    serving.push_back(i);
    ++found.nodes;
    found.units += units_[i];
    if (!all && found.is_enough(enough)) return true;
  }
  return found.is_enough(enough);
}

Tick StartIndex::next(Tick from, Enough enough, bool all, std::vector<uint32_t>& serving) {
  const bool is_void = epoch_ != timeline_.epoch();
  if (is_void) {
    epoch_ = timeline_.epoch();
    bound_ = 0;
  }
  Tick at = std::max(from, bound_);
  if (is_void || at < floor_) begin_anew();
  while (at < kHorizon) {
    Count hoped = count_at(at);
    if (hoped.is_enough(enough) && verify(at, enough, all, hoped, serving)) return at;
    at = std::max(hoped.later, at + 1);
  }
  serving.clear();
  return kNoTick;
}

Tick StartIndex::next_change(Tick after) const {
  Tick next = kNoTick;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Tick change = first_[i] > after ? first_[i] : last_[i] + 1;
    if (change > after) next = std::min(next, change);
  }
  return next;
}

}  // namespace sluice::timeline
