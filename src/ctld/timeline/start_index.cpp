#include "ctld/timeline/start_index.hpp"

#include <algorithm>
#include <functional>

namespace sluice::timeline {

StartIndex::StartIndex(const Timeline& timeline, const std::vector<IndexedNode>& nodes,
                       const NodeDemand& demand, Tick duration, bool every_change,
                       const Timeline::View* view)
    : timeline_(timeline),
      nodes_(nodes),
      demand_(demand),
      duration_(std::max<Tick>(duration, 1)),
      every_change_(every_change),
      view_(view) {
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].required) required_.push_back(i);
  }
  epoch_ = timeline_.epoch();
  most_.reserve(nodes_.size());
  for (const IndexedNode& node : nodes_) most_.push_back(node.most);
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
    units_[i] = most_[i];
    versions_[i] = timeline_.version(nodes_[i].id) - 1;  // another one: it was not looked at
  }
}

void StartIndex::learn_from(const StartIndex& other, bool same_on_nodes) {
  if (!other.is_current() || other.floor_ > other.bound_ || other.bound_ < bound_) return;
  bound_ = floor_ = other.bound_;
  for (size_t mine = 0, its = 0; mine < nodes_.size(); ++mine) {
    while (its < other.nodes_.size() && other.nodes_[its].id != nodes_[mine].id) ++its;
    if (its == other.nodes_.size()) break;
    first_[mine] = std::max(first_[mine], other.first_[its]);
    if (!same_on_nodes || other.duration_ != duration_ || other.most_[its] != most_[mine]) continue;
    last_[mine] = other.last_[its];
    units_[mine] = other.units_[its];
    versions_[mine] = other.versions_[its];
  }
}

bool StartIndex::is_known(uint32_t position, Tick at) const {
  const bool passed = first_[position] <= at && last_[position] < at;
  return !passed && versions_[position] == timeline_.version(nodes_[position].id);
}

void StartIndex::look_at(uint32_t position, Tick from) {
  floor_ = std::max(floor_, from);
  const IndexedNode& node = nodes_[position];
  NodeTimeline::Wanted wanted{.from = from,
                              .duration = duration_,
                              .most = node.most,
                              .least_cores = node.least_cores,
                              .least_memory_mib = node.least_memory_mib,
                              .closings = node.closings};
  if (every_change_) wanted.most = UINT32_MAX;
  const Starts starts =
      timeline_.node(node.id, view_).next_start(node.id, wanted, demand_, scratch_);
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
  const size_t size = nodes_.size();
  const Tick *first = first_.data(), *last = last_.data();
  const uint32_t *units = units_.data(), *most = most_.data();
  Tick later = kNoTick;
  uint32_t count = 0;
  uint64_t sum = 0, sum_of_most = 0;
  for (size_t i = 0; i < size; ++i) {
    const bool serves = first[i] <= at;
    const uint32_t gives = last[i] < at ? most[i] : units[i];
    const Tick changes = gives < most[i] ? last[i] + 1 : kNoTick;
    later = std::min(later, serves ? changes : first[i]);
    count += serves ? 1 : 0;
    sum += serves ? gives : 0;
    sum_of_most += serves ? most[i] : 0;
  }
  return {count, sum, sum_of_most, later};
}

Tick StartIndex::jump_from(Tick at, Enough enough) {
  Count count;
  coming_.clear();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (first_[i] <= at) {
      ++count.nodes;
      count.units += most_[i];
    } else if (first_[i] != kNoTick) {
      coming_.emplace_back(first_[i], most_[i]);
    }
  }
  if (count.is_enough(enough)) return at;
  std::ranges::make_heap(coming_, std::greater());
  while (!coming_.empty()) {
    std::ranges::pop_heap(coming_, std::greater());
    const auto [first, most] = coming_.back();
    coming_.pop_back();
    ++count.nodes;
    count.units += most;
    if (count.is_enough(enough)) return first;
  }
  return kNoTick;
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
  const auto size = static_cast<uint32_t>(nodes_.size());
  const Tick* first = first_.data();
  for (uint32_t i = 0; i < size; ++i) {
    if (first[i] > at) continue;
    if (!is_known(i, at)) {
      hoped.units -= last_[i] < at ? most_[i] : units_[i];
      look_at(i, at);
      if (first[i] > at) {
        --hoped.nodes;
        hoped.most -= most_[i];
        hoped.later = std::min(hoped.later, first[i]);
        if (!hoped.is_enough(enough)) return false;
        continue;
      }
      hoped.units += units_[i];
      if (units_[i] < most_[i]) hoped.later = std::min(hoped.later, last_[i] + 1);
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
  constexpr uint32_t kSteps = 8;  // before it is worth to work out how far to go
  Tick at = std::max(from, bound_);
  if (is_void || at < floor_) begin_anew();
  for (uint32_t step = 1; at < kHorizon; ++step) {
    Count hoped = count_at(at);
    if (hoped.is_enough(enough) && verify(at, enough, all, hoped, serving)) return at;
    const bool too_few = hoped.nodes < enough.nodes || hoped.most < enough.units;
    at = std::max(hoped.later, at + 1);
    if (too_few && step % kSteps == 0 && at != kNoTick) at = std::max(at, jump_from(at, enough));
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
