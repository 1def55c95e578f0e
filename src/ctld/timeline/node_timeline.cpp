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

}  // namespace

size_t NodeTimeline::span_at(Tick tick) const {
  const auto after = std::ranges::upper_bound(spans_, tick, {}, &Span::from);
  return static_cast<size_t>(after - spans_.begin()) - 1;
}

size_t NodeTimeline::split(Tick tick) {
  const size_t at = span_at(tick);
  if (spans_[at].from == tick) return at;
  Span second = spans_[at];
  second.from = tick;
  spans_.insert(spans_.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(second));
  return at + 1;
}

void NodeTimeline::add(Tick from, Tick to, const Claim& claim) {
  if (from >= to) return;
  size_t at = split(from);
  const size_t end = to == kNoTick ? spans_.size() : split(to);
  for (; at < end; ++at) spans_[at].free.take(claim);
}

void NodeTimeline::window(Tick from, Tick to, Free& free) const {
  size_t at = span_at(from);
  free = spans_[at].free;
  for (++at; at < spans_.size() && spans_[at].from < to; ++at) free.intersect(spans_[at].free);
}

Tick NodeTimeline::free_until(const Claim& claim) const {
  const Free& first = spans_.front().free;
  for (size_t at = 1; at < spans_.size(); ++at) {
    const Free& free = spans_[at].free;
    const bool cores = claim.whole ? free.jobs == 0 : free.cores.contains(*claim.cores);
    const bool stays = cores && free.memory_mib >= claim.memory_mib &&
                       (claim.gres == nullptr || free.used_gres == first.used_gres ||
                        free.used_gres == nullptr || !uses_any(*free.used_gres, *claim.gres));
    if (!stays) return spans_[at].from;
  }
  return kNoTick;
}

Starts NodeTimeline::next_start(NodeId node, const Wanted& wanted, const NodeDemand& demand,
                                Free& scratch) const {
  Tick start = wanted.from;
  size_t first = span_at(start);
  while (true) {
    if (const Tick open = end_of_closing(wanted.closings, start, start + wanted.duration)) {
      if (open == kNoTick) return {};
      start = open;
      first = span_at(start);
      continue;
    }
    uint32_t units = demand.units(node, spans_[first].free);
    size_t at = first + 1;
    bool fits = units > 0;
    if (fits && at < spans_.size() && spans_[at].from < start + wanted.duration) {
      scratch = spans_[first].free;
      for (; fits && at < spans_.size() && spans_[at].from < start + wanted.duration; ++at) {
        scratch.intersect(spans_[at].free);
        units = demand.units(node, scratch);
        fits = units > 0;
      }
      // a span that is of no use by itself is in the way of all that begin before its end
      if (!fits && demand.units(node, spans_[at - 1].free) == 0) first = at - 1;
    } else if (fits) {
      scratch = spans_[first].free;
    }
    if (fits) {
      Starts starts{start, start, units};
      starts.last = last_start(first, at, starts, node, wanted, demand, scratch);
      return starts;
    }
    if (++first >= spans_.size()) return {};
    start = spans_[first].from;
  }
}

// `scratch` is what is free from the start on, up to the span at `behind`.
Tick NodeTimeline::last_start(size_t first, size_t behind, const Starts& starts, NodeId node,
                              const Wanted& wanted, const NodeDemand& demand, Free& scratch) const {
  Tick last = kNoTick - 1 - wanted.duration;
  if (starts.units < wanted.most && first + 1 < spans_.size()) last = spans_[first + 1].from - 1;
  const Tick closed = next_closing(wanted.closings, starts.first);
  if (closed != kNoTick) last = std::min(last, closed - wanted.duration);
  for (; behind < spans_.size() && spans_[behind].from - wanted.duration < last; ++behind) {
    scratch.intersect(spans_[behind].free);
    if (demand.units(node, scratch) < starts.units) return spans_[behind].from - wanted.duration;
  }
  return last;
}

}  // namespace sluice::timeline
