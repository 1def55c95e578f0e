// Equality of described structs that define no operator of their own, field by field.
#pragma once

#include "common/base/describe.hpp"

namespace sluice::state {

template <Described T>
[[nodiscard]] bool described_equal(const T& a, const T& b) {
  bool same = true;
  T::describe([&](uint32_t, const char*, auto member) { same = same && a.*member == b.*member; });
  return same;
}

}  // namespace sluice::state
