#include "ctld/fit/choice.hpp"

namespace sluice::fit {

std::span<const Choice* const> shortest_run(std::span<const Choice* const> run, const Needs& needs,
                                            const RunBounds& bounds) {
  std::span<const Choice* const> best;
  if (bounds.most == 0) return best;
  Sum sum;
  size_t held = 0;  // required ones among first … end-1
  const auto serves = [&](size_t count) {
    return count > 0 && count >= bounds.least && held == bounds.required && sum.is_enough(needs);
  };
  for (size_t first = 0, end = 0; first < run.size() && (best.empty() || bounds.required > 0);
       ++first) {
    while (!serves(end - first) && end < run.size() && end - first < bounds.most) {
      held += run[end]->required ? 1 : 0;
      sum.add(run[end++]->most);
    }
    const bool good = serves(end - first);
    if (good && (best.empty() || end - first < best.size())) best = run.subspan(first, end - first);
    if (!good && end == run.size()) break;
    held -= run[first]->required ? 1 : 0;
    sum.remove(run[first]->most);
  }
  return best;
}

}  // namespace sluice::fit
