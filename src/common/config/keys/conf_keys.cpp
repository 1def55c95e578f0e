// Look-ups over the tables of keys.
#include "common/config/keys/conf_keys.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace sluice::tables {
namespace {

// Letters to change, add or leave out to make one name of the other, whatever their case.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const bool same = std::tolower(static_cast<unsigned char>(a[i])) ==
                        std::tolower(static_cast<unsigned char>(b[j]));
      const size_t next = std::min({row[j + 1] + 1, row[j] + 1, diagonal + (same ? 0 : 1)});
      diagonal = row[j + 1];
      row[j + 1] = next;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known) {
  constexpr size_t kLongestCompared = 64;
  if (name.size() > kLongestCompared) return {};
  std::string_view nearest;
  size_t least = std::max<size_t>(name.size() / 4, 2) + 1;
  for (const std::string_view candidate : known) {
    const size_t steps = distance(name, candidate);
    if (steps >= least) continue;
    least = steps;
    nearest = candidate;
  }
  return nearest.empty() ? "" : "; did you mean \"" + std::string(nearest) + "\"?";
}

}  // namespace sluice::tables
