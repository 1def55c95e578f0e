#include "common/tables/distribution.hpp"

#include "common/base/text.hpp"

namespace sluice {

std::string distribution_of(std::string_view text, DistributionLevel level) {
  const auto levels = split(text.substr(0, text.find(',')), ':');
  const auto at = static_cast<size_t>(level);
  return at < levels.size() ? to_lower(levels[at]) : std::string();
}

}  // namespace sluice
