// Loops over what an index of starts knows of its nodes, in arrays by position. They are most of
// the time of a long plan on many nodes, so they are compiled for processors with wide registers as
// well, which is chosen when the program starts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ctld/timeline/node_timeline.hpp"

namespace sluice::timeline {

// Arrays of equal length; not owned.
struct KnownStarts {
  const Tick* first = nullptr;
  const Tick* last = nullptr;
  const uint32_t* units = nullptr;  // that the node gives from `first` up to `last`
  const uint32_t* most = nullptr;   // and at best
};

struct Sum {
  uint32_t nodes = 0;
  uint64_t units = 0;
  uint64_t most = 0;     // units of these nodes at best
  Tick later = kNoTick;  // when there may be more
};

// What the nodes of [from, to) give at that moment, as far as is known, is added.
void add_serving(const KnownStarts& known, size_t from, size_t to, Tick at, Sum& sum);

// The least of so many, kNoTick of none.
[[nodiscard]] Tick least_of(const Tick* ticks, size_t count);

// Of each the later one. The least of them, kNoTick of none.
Tick put_off(Tick* first, const Tick* others, size_t count);

}  // namespace sluice::timeline
