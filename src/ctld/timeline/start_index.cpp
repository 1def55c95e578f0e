#include "ctld/timeline/start_index.hpp"

#include <algorithm>
#include <functional>

namespace sluice::timeline {

StartIndex::StartIndex(const Of& of, Tick duration, bool every_change)
    : timeline_(of.timeline),
      nodes_(of.nodes),
      demand_(of.demand),
      duration_(std::max<Tick>(duration, 1)),
      every_change_(every_change),
      view_(of.view),
      busy_(of.busy) {
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
  if (known.asks_the_same && other.duration_ == duration_) return copy_from(other);
  if (known.same_nodes) {
    for (size_t block = 0, from = 0; block < least_.size(); ++block, from += kBlock) {
      least_[block] = timeline::put_off(first_.data() + from, other.first_.data() + from,
                                        std::min<size_t>(kBlock, first_.size() - from));
    }
    return;
  }
  const std::vector<NodeId>& ids = nodes_.ids();
  for (size_t mine = 0; mine < ids.size(); ++mine) {
    const uint32_t its = other.nodes_.position_of(ids[mine]);
    if (its != IndexedNodes::kNone) first_[mine] = std::max(first_[mine], other.first_[its]);
  }
  for (size_t block = 0; block < least_.size(); ++block) renew_least(block);
}

void StartIndex::copy_from(const StartIndex& other) {
  const std::vector<NodeId>& ids = nodes_.ids();
  for (size_t mine = 0; mine < ids.size(); ++mine) {
    const uint32_t its = other.nodes_.position_of(ids[mine]);
    if (its == IndexedNodes::kNone || first_[mine] > other.first_[its]) continue;
    first_[mine] = other.first_[its];
    if (other.nodes_.most()[its] != nodes_.most()[mine] || versions_[mine] >= other.versions_[its])
      continue;
    last_[mine] = other.last_[its];
    units_[mine] = other.units_[its];
    versions_[mine] = other.versions_[its];
  }
  for (size_t block = 0; block < least_.size(); ++block) renew_least(block);
}

bool StartIndex::is_known(uint32_t position, Tick at) const {
  const bool passed = first_[position] <= at && last_[position] < at;
  return !passed && versions_[position] == timeline_.version(nodes_.ids()[position]);
}

void StartIndex::put_off(uint32_t position, Tick from, Tick least) {
  floor_ = std::max(floor_, from);
  const auto block = position / kBlock;
  if (first_[position] == least_[block] && (put_off_in_.empty() || put_off_in_.back() != block))
    put_off_in_.push_back(block);
  first_[position] = least;
}

void StartIndex::renew_put_off() {
  for (const uint32_t block : put_off_in_) renew_least(block);
  put_off_in_.clear();
}

// Most nodes that are looked at do not serve then: of them it is enough to know that they do not
// before some later moment.
void StartIndex::look_at(uint32_t position, Tick from) {
  const IndexedNode node = nodes_[position];
  const NodeTimeline::Wanted wanted{.from = from,
                                    .duration = duration_,
                                    .most = every_change_ ? UINT32_MAX : node.most,
                                    .least = node.least,
                                    .busy = node.busy,
                                    .closings = node.closings};
  const NodeTimeline& timeline = timeline_.node(node.id, view_);
  const NodeTimeline::Open open = timeline.next_open(wanted);
  if (busy_ != nullptr && open.busy.to > 0) busy_->add(node.id, open.busy);
  Tick first = open.start;
  if (first == from) {
    const Starts starts = timeline.next_start(node.id, open, wanted, demand_, scratch_);
    first = starts.first;
    last_[position] = first == kNoTick ? kNoTick : starts.last;
    units_[position] = std::min(starts.units, node.most);
    versions_[position] = timeline_.version(node.id);
  }
  put_off(position, from, first);
}

bool StartIndex::serves(uint32_t position, Tick at) {
  if (first_[position] > at) return false;
  if (!is_known(position, at)) look_at(position, at);
  renew_put_off();
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

uint32_t StartIndex::Walk::next() {
  for (uint32_t i = next_hopeful(); i != end(); i = next_hopeful()) {
    if (index_.is_known(i, at_) || look_at(i)) return i;
    if (is_hopeless()) break;
  }
  return end();
}

uint32_t StartIndex::Walk::next_hopeful() {
  const size_t far = std::min(kAhead, 2 * taken_ + 2);  // many a job needs one node only
  while (found_ < taken_ + far && begin_ < end()) find();
  while (fetched_ < found_ && fetched_ < taken_ + far / 2) node(ahead(fetched_++)).prefetch(at_);
  return taken_ < found_ ? ahead(taken_++) : end();
}

void StartIndex::Walk::find() {
  const uint32_t position = index_.next_hopeful(begin_, at_);
  begin_ = position + 1;
  if (position == end() || most_[position] < wanted_.least || is_busy(position)) return;
  ahead(found_++) = position;
  const auto* header = reinterpret_cast<const char*>(&node(position));
  __builtin_prefetch(header);
  __builtin_prefetch(header + sizeof(NodeTimeline) / 2);
}

bool StartIndex::Walk::is_busy(uint32_t position) {
  if (index_.busy_ == nullptr) return false;
  const NodeId node = index_.nodes_.ids()[position];
  const Tick until = index_.busy_->busy_until(node, at_, at_ + index_.duration_);
  if (until == 0) return false;
  const uint32_t gave = given(position);
  index_.put_off(position, at_, until);
  count_failed(position, gave);
  return true;
}

// What was hoped for before a look.
uint32_t StartIndex::Walk::given(uint32_t position) const {
  return index_.last_[position] < at_ ? most_[position] : index_.units_[position];
}

// Whether it serves then.
bool StartIndex::Walk::look_at(uint32_t position) {
  const uint32_t gave = given(position);
  index_.look_at(position, at_);
  if (index_.first_[position] > at_) {
    count_failed(position, gave);
    return false;
  }
  if (!is_counted_) return true;
  hoped_.units = hoped_.units - gave + index_.units_[position];
  if (index_.units_[position] < most_[position])
    hoped_.later = std::min(hoped_.later, index_.last_[position] + 1);
  return true;
}

void StartIndex::Walk::count_failed(uint32_t position, uint32_t gave) {
  ++failed_;
  if (!is_counted_) return;
  hoped_.units -= gave;
  --hoped_.nodes;
  hoped_.most -= most_[position];
  hoped_.later = std::min(hoped_.later, index_.first_[position]);
}

bool StartIndex::Walk::is_hopeless() {
  return wanted_.enough != nullptr && failed_ >= kFewFail && !is_enough(hoped(), *wanted_.enough);
}

const Sum& StartIndex::Walk::hoped() {
  if (!is_counted_) {
    index_.renew_put_off();
    hoped_ = index_.count_at(at_);
  }
  is_counted_ = true;
  return hoped_;
}

// False: `hoped` is what may be there then, which is not enough, and when there may be more.
bool StartIndex::has_enough(Tick at, Enough enough, bool all, Sum& hoped,
                            std::vector<uint32_t>& serving) {
  serving.clear();
  for (const uint32_t position : required_) {
    if (serves(position, at)) continue;
    hoped.later = first_[position];
    return false;
  }
  Sum found;
  Walk walk(*this, at, {.enough = &enough});
  for (uint32_t i = walk.next(); i != walk.end(); i = walk.next()) {
    serving.push_back(i);
    ++found.nodes;
    found.units += units_[i];
    if (!all && is_enough(found, enough)) return true;
  }
  if (is_enough(found, enough)) return true;
  hoped = walk.hoped();
  return false;
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
  if (busy_ != nullptr) busy_->begin(epoch_);
  for (uint32_t step = 1; at < kHorizon; ++step) {
    Sum hoped;
    if (has_enough(at, enough, all, hoped, serving)) return at;
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
