// The journal tells events apart by their tags alone.
#include <algorithm>
#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "ctld/state/events/events.hpp"

namespace sluice::state {
namespace {

template <size_t... I>
constexpr bool all_differ(std::index_sequence<I...>) {
  std::array<uint32_t, sizeof...(I)> tags{std::variant_alternative_t<I, AnyEvent>::kTag...};
  std::ranges::sort(tags);
  return std::ranges::adjacent_find(tags) == tags.end();
}

TEST(EventTags, NoTwoAreAlike) {
  EXPECT_TRUE(all_differ(std::make_index_sequence<std::variant_size_v<AnyEvent>>()));
}

}  // namespace
}  // namespace sluice::state
