// Exit statuses as wait(2) gives them.
#pragma once

#include <cstdint>
#include <string>

#include "common/model/job_reason.hpp"

namespace sluice::state {

[[nodiscard]] constexpr int32_t signal_of(int32_t status) { return status & 0x7f; }
[[nodiscard]] constexpr int32_t code_of(int32_t status) { return (status >> 8) & 0xff; }

}  // namespace sluice::state
