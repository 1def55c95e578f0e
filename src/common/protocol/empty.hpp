// The answer to a request that has none but that it was done.
#pragma once

#include "common/base/describe.hpp"

namespace sluice::protocol {

struct Empty {
  template <class V>
  static void describe(V&&) {}
};

}  // namespace sluice::protocol
