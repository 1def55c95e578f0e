#include "ctld/timeline/node_timeline.hpp"

#include <algorithm>

namespace sluice::timeline {
namespace {

// The end of a closing that a job would meet; 0: it meets none.
Tick end_of_closing(const std::vector<Closing>* closings, Tick from, Tick to) {
  if (closings == nullptr) return 0;
  for (const Closing& one : *closings) {
    if (one.from >= to) break;
    if (from < one.to) return one.to;
  }
  return 0;
}

Tick next_closing(const std::vector<Closing>* closings, Tick from) {
  if (closings == nullptr) return kNoTick;
  for (const Closing& one : *closings) {
    if (one.from >= from) return one.from;
  }
  return kNoTick;
}

bool uses_any(const GresShares& held, const GresShares& wanted) {
  return std::ranges::any_of(wanted, [&](const GresShare& one) {
    return std::ranges::any_of(held, [&](const GresShare& other) {
      return other.name == one.name && (one.units.none() || other.units.intersects(one.units));
    });
  });
}

bool has_room_for(const Free& free, const Claim& claim) {
  if (claim.whole && free.jobs > 0) return false;
  if (fit::bars(free.jobs, free.user, claim.uid, free.one_user || claim.one_user)) return false;
  const bool cores = claim.whole || free.cores.contains(*claim.cores);
  return cores && free.memory_mib >= claim.memory_mib &&
         (claim.gres == nullptr || free.used_gres == nullptr ||
          !uses_any(*free.used_gres, *claim.gres));
}

}  // namespace

NodeTimeline::NodeTimeline(Free base) : spans_{{0, base.core_count, base.memory_mib}} {
  free_.push_back(std::move(base));
}

size_t NodeTimeline::span_at(Tick tick) const {
  const Span *span = spans_.data() + least_span_at(tick), *end = spans_.data() + spans_.size();
  while (span + 1 != end && span[1].from <= tick) ++span;
  return static_cast<size_t>(span - spans_.data());
}

// A number that is too small is only a longer way.
void NodeTimeline::index_split(Tick tick) {
  if (tick >> part_bits_ < kParts) {
    const size_t behind = (size_t{tick} + (Tick{1} << part_bits_) - 1) >> part_bits_;
    for (size_t part = behind; part < kParts; ++part) {
      uint16_t& span = span_of_part_[part];
      if (span < UINT16_MAX) ++span;
    }
    return;
  }
  while (tick >> part_bits_ >= kParts) ++part_bits_;
  size_t span = 0;
  for (size_t part = 0; part < kParts; ++part) {
    while (span + 1 < spans_.size() && spans_[span + 1].from <= part << part_bits_) ++span;
    span_of_part_[part] = static_cast<uint16_t>(std::min<size_t>(span, UINT16_MAX));
  }
}

size_t NodeTimeline::split(Tick tick) {
  const size_t at = span_at(tick);
  if (spans_[at].from == tick) return at;
  const auto behind = static_cast<ptrdiff_t>(at) + 1;
  Span span = spans_[at];
  span.from = tick;
  spans_.insert(spans_.begin() + behind, span);
  free_.insert(free_.begin() + behind, Free(free_[at]));
  index_split(tick);
  return at + 1;
}

void NodeTimeline::add(Tick from, Tick to, const Claim& claim) {
  if (from >= to) return;
  size_t at = split(from);
  const size_t end = to == kNoTick ? spans_.size() : split(to);
  for (; at < end; ++at) {
    free_[at].take(claim);
    spans_[at].cores = free_[at].core_count;
    spans_[at].memory_mib = free_[at].memory_mib;
  }
}

void NodeTimeline::window(Tick from, Tick to, Free& free) const {
  size_t at = span_at(from);
  free = free_[at];
  for (++at; at < spans_.size() && spans_[at].from < to; ++at) free.intersect(free_[at]);
}

bool NodeTimeline::is_free(Tick from, Tick to, const Claim& claim) const {
  for (size_t at = span_at(from);
       at < spans_.size() && (spans_[at].from < to || spans_[at].from == from); ++at) {
    if (!has_room_for(free_[at], claim)) return false;
  }
  return true;
}

Tick NodeTimeline::next_free(Tick from, Tick duration, const Claim& claim) const {
  Tick start = from;
  for (size_t at = span_at(from); at < spans_.size(); ++at) {
    const bool last = at + 1 == spans_.size();
    if (!has_room_for(free_[at], claim)) start = last ? kNoTick : spans_[at + 1].from;
    else if (last || spans_[at + 1].from >= start + duration) return start;
  }
  return start;
}

Tick NodeTimeline::free_until(const Claim& claim) const {
  const Free& first = free_.front();
  for (size_t at = 1; at < spans_.size(); ++at) {
    const Free& free = free_[at];
    const bool cores = claim.whole ? free.jobs == 0 : free.cores.contains(*claim.cores);
    const bool stays = cores && free.memory_mib >= claim.memory_mib &&
                       (claim.gres == nullptr || free.used_gres == first.used_gres ||
                        free.used_gres == nullptr || !uses_any(*free.used_gres, *claim.gres));
    if (!stays) return spans_[at].from;
  }
  return kNoTick;
}

size_t NodeTimeline::span_behind(size_t first, Tick to) const {
  constexpr size_t kFew = 8;  // most windows hold few spans
  size_t at = first + 1;
  for (; at < spans_.size() && at < first + kFew; ++at) {
    if (spans_[at].from >= to) return at;
  }
  const auto begin = spans_.begin() + static_cast<ptrdiff_t>(at);
  return static_cast<size_t>(std::ranges::lower_bound(begin, spans_.end(), to, {}, &Span::from) -
                             spans_.begin());
}

NodeTimeline::Open NodeTimeline::next_open(Tick start, size_t first, const Wanted& wanted) const {
  while (true) {
    const Tick end = start + wanted.duration;
    if (const Tick open = end_of_closing(wanted.closings, start, end)) {
      if (open == kNoTick) return {};
      start = open;
      first = span_at(start);
      continue;
    }
    // a span that is of no use by itself is in the way of all that begin before its end
    const size_t behind = span_behind(first, end);
    const size_t useless = last_useless(first, behind, wanted);
    if (useless == kNone) return {start, first, behind, {}};
    first = useless + 1;
    if (first >= spans_.size()) return {};
    start = spans_[first].from;
  }
}

NodeTimeline::Open NodeTimeline::next_open(const Wanted& wanted) const {
  const size_t first = span_at(wanted.from);
  Open open = next_open(wanted.from, first, wanted);
  if (open.start == wanted.from) return open;
  // the one at the moment that was asked for, or else the last one before the start
  size_t begin = first;
  if (!has_less(begin, wanted.busy)) {
    begin = open.start == kNoTick ? spans_.size() - 1 : open.first;
    while (begin > first && !has_less(begin, wanted.busy)) --begin;
    if (begin == first) return open;
  }
  size_t end = begin + 1;
  while (end < spans_.size() && has_less(end, wanted.busy)) ++end;
  while (begin > 0 && has_less(begin - 1, wanted.busy)) --begin;
  open.busy = {spans_[begin].from, end < spans_.size() ? spans_[end].from : kNoTick};
  return open;
}

Starts NodeTimeline::next_start(NodeId node, const Open& from, const Wanted& wanted,
                                const NodeDemand& demand, Free& scratch) const {
  Open open = from;
  while (open.start != kNoTick) {
    uint32_t units = demand.units(node, free_[open.first]);
    if (units > 0) {
      scratch = free_[open.first];
      for (size_t at = open.first + 1; units > 0 && at < open.behind; ++at) {
        scratch.intersect(free_[at]);
        units = demand.units(node, scratch);
      }
    }
    if (units > 0) {
      Starts starts{open.start, open.start, units};
      starts.last = last_start(open, starts, node, wanted, demand, scratch);
      return starts;
    }
    const size_t next = open.first + 1;
    if (next >= spans_.size()) break;
    open = next_open(spans_[next].from, next, wanted);
  }
  return {};
}

// `scratch` is what is free in all spans that are met.
Tick NodeTimeline::last_start(const Open& open, const Starts& starts, NodeId node,
                              const Wanted& wanted, const NodeDemand& demand, Free& scratch) const {
  Tick last = kNoTick - 1 - wanted.duration;
  if (starts.units < wanted.most && open.first + 1 < spans_.size())
    last = spans_[open.first + 1].from - 1;
  const Tick closed = next_closing(wanted.closings, starts.first);
  if (closed != kNoTick) last = std::min(last, closed - wanted.duration);
  size_t behind = open.behind;
  for (; behind < spans_.size() && spans_[behind].from - wanted.duration < last; ++behind) {
    if (!has_less(behind, wanted.least)) {
      scratch.intersect(free_[behind]);
      if (demand.units(node, scratch) >= starts.units) continue;
    }
    return spans_[behind].from - wanted.duration;
  }
  return last;
}

}  // namespace sluice::timeline
