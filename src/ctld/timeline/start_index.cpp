#include "ctld/timeline/start_index.hpp"

#include <algorithm>
#include <functional>

namespace sluice::timeline {

StartIndex::StartIndex(const Timeline& timeline, const IndexedNodes& nodes,
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
  begin_anew();
}

void StartIndex::begin_anew() {
  floor_ = 0;
  const size_t count = nodes_.size();
  first_.assign(count, 0);
  last_.assign(count, 0);
  units_ = nodes_.most();
  versions_.assign(count, kUnknown);
  least_.assign((count + kBlock - 1) / kBlock, 0);
}

void StartIndex::renew_least(size_t block) {
  const size_t from = block * kBlock;
  least_[block] = least_of(first_.data() + from, std::min<size_t>(kBlock, nodes_.size() - from));
}

void StartIndex::learn_from(const Other& known) {
  const StartIndex& other = *known.index;
  if (!is_current() || !other.is_current() || other.floor_ > bound_) return;
  floor_ = std::max(floor_, other.floor_);
  const std::vector<NodeId>&ids = nodes_.ids(), &its_ids = other.nodes_.ids();
  if (known.same_nodes) {
    put_off(first_.data(), versions_.data(), other.first_.data(), first_.size(), kUnknown);
  }
  const bool copies = known.asks_the_same && other.duration_ == duration_;
  for (size_t mine = 0, its = 0; mine < ids.size() && (copies || !known.same_nodes); ++mine) {
    while (its < its_ids.size() && its_ids[its] != ids[mine]) ++its;
    if (its == its_ids.size()) break;
    if (first_[mine] > other.first_[its]) continue;
    if (first_[mine] < other.first_[its]) {
      first_[mine] = other.first_[its];
      versions_[mine] = kUnknown;
    }
    if (!copies || other.nodes_.most()[its] != nodes_.most()[mine] ||
        versions_[mine] == timeline_.version(ids[mine]))
      continue;
    last_[mine] = other.last_[its];
    units_[mine] = other.units_[its];
    versions_[mine] = other.versions_[its];
  }
  for (size_t block = 0; block < least_.size(); ++block) renew_least(block);
}

bool StartIndex::is_known(uint32_t position, Tick at) const {
  const bool passed = first_[position] <= at && last_[position] < at;
  return !passed && versions_[position] == timeline_.version(nodes_[position].id);
}

void StartIndex::look_at(uint32_t position, Tick from) {
  floor_ = std::max(floor_, from);
  const Tick before = first_[position];
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
  if (first_[position] > before && before == least_[position / kBlock])
    renew_least(position / kBlock);
}

bool StartIndex::serves(uint32_t position, Tick at) {
  if (first_[position] > at) return false;
  if (!is_known(position, at)) look_at(position, std::max(at, first_[position]));
  return first_[position] <= at;
}

uint32_t StartIndex::next_hopeful(uint32_t position, Tick at) const {
  const auto size = static_cast<uint32_t>(nodes_.size());
  while (position < size) {
    const uint32_t behind = std::min(size, (position / kBlock + 1) * kBlock);
    if (least_[position / kBlock] > at) {
      position = behind;
      continue;
    }
    for (; position < behind; ++position) {
      if (first_[position] <= at) return position;
    }
  }
  return size;
}

// What can be hoped for: nodes that changed have no more than they had.
Sum StartIndex::count_at(Tick at) const {
  const KnownStarts known{first_.data(), last_.data(), units_.data(), nodes_.most().data()};
  Sum sum;
  for (size_t block = 0; block < least_.size(); ++block) {
    const size_t from = block * kBlock;
    if (least_[block] > at) sum.later = std::min(sum.later, least_[block]);
    else add_serving(known, from, std::min<size_t>(from + kBlock, nodes_.size()), at, sum);
  }
  return sum;
}

Tick StartIndex::jump_from(Tick at, Enough enough) {
  const std::vector<uint32_t>& at_best = nodes_.most();
  Sum count;
  coming_.clear();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (first_[i] <= at) {
      ++count.nodes;
      count.units += at_best[i];
    } else if (first_[i] != kNoTick) {
      coming_.emplace_back(first_[i], at_best[i]);
    }
  }
  if (is_enough(count, enough)) return at;
  std::ranges::make_heap(coming_, std::greater());
  while (!coming_.empty()) {
    std::ranges::pop_heap(coming_, std::greater());
    const auto [first, most] = coming_.back();
    coming_.pop_back();
    ++count.nodes;
    count.units += most;
    if (is_enough(count, enough)) return first;
  }
  return kNoTick;
}

bool StartIndex::verify(Tick at, Enough enough, bool all, Sum& hoped,
                        std::vector<uint32_t>& serving) {
  serving.clear();
  for (const uint32_t position : required_) {
    if (serves(position, at)) continue;
    hoped.later = first_[position];
    return false;
  }
  if (!required_.empty()) hoped = count_at(at);  // they may have been looked at
  Sum found;
  const std::vector<uint32_t>& most = nodes_.most();
  const auto size = static_cast<uint32_t>(nodes_.size());
  for (uint32_t i = next_hopeful(0, at); i < size; i = next_hopeful(i + 1, at)) {
    if (!is_known(i, at)) {
      hoped.units -= last_[i] < at ? most[i] : units_[i];
      look_at(i, at);
      if (first_[i] > at) {
        --hoped.nodes;
        hoped.most -= most[i];
        hoped.later = std::min(hoped.later, first_[i]);
        if (!is_enough(hoped, enough)) return false;
        continue;
      }
      hoped.units += units_[i];
      if (units_[i] < most[i]) hoped.later = std::min(hoped.later, last_[i] + 1);
      if (!is_enough(hoped, enough)) return false;
    }
    serving.push_back(i);
    ++found.nodes;
    found.units += units_[i];
    if (!all && is_enough(found, enough)) return true;
  }
  return is_enough(found, enough);
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
    Sum hoped = count_at(at);
    if (is_enough(hoped, enough) && verify(at, enough, all, hoped, serving)) return at;
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
