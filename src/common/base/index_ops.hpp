// What goes through whole sets of indexes once, however many ranges they have.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/index_set.hpp"

namespace sluice {

// Of many, in any order: sorted once.
[[nodiscard]] IndexSet index_set_of(const std::vector<uint32_t>& indexes);

// Those of `set` that are not in `other`.
[[nodiscard]] IndexSet without(const IndexSet& set, const IndexSet& other);

}  // namespace sluice
