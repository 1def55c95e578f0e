#include "ctld/timeline/sweep.hpp"

#include <algorithm>

// Not under sanitizers: what chooses runs before they are ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SLUICE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define SLUICE_WIDE
#endif

namespace sluice::timeline {

SLUICE_WIDE void add_serving(const KnownStarts& known, size_t from, size_t to, Tick at, Sum& sum) {
  const Tick *first = known.first, *last = known.last;
  const uint32_t *units = known.units, *most = known.most;
  Tick later = kNoTick;
  uint32_t count = 0;
  uint64_t given = 0, at_best = 0;
  for (size_t i = from; i < to; ++i) {
    const bool serves = first[i] <= at;
    const uint32_t gives = last[i] < at ? most[i] : units[i];
    const Tick changes = gives < most[i] ? last[i] + 1 : kNoTick;
    later = std::min(later, serves ? changes : first[i]);
    count += serves ? 1 : 0;
    given += serves ? gives : 0;
    at_best += serves ? most[i] : 0;
  }
  sum.nodes += count;
  sum.units += given;
  sum.most += at_best;
  sum.later = std::min(sum.later, later);
}

SLUICE_WIDE Tick least_of(const Tick* ticks, size_t count) {
  Tick least = kNoTick;
  for (size_t i = 0; i < count; ++i) least = std::min(least, ticks[i]);
  return least;
}

SLUICE_WIDE Tick put_off(Tick* first, const Tick* others, size_t count) {
  Tick least = kNoTick;
  for (size_t i = 0; i < count; ++i) {
    first[i] = std::max(first[i], others[i]);
    least = std::min(least, first[i]);
  }
  return least;
}

}  // namespace sluice::timeline
