// Whether a waiting job gains age.
#pragma once

#include "common/model/job.hpp"

namespace sluice {

// It has not begun to wait for resources, and no limit is why it gains no age.
[[nodiscard]] inline bool comes_later(const Job& j) {
  return j.accrue == kNoTime && !j.age_limited;
}

}  // namespace sluice
