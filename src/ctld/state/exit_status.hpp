// Exit statuses as wait(2) gives them.
#pragma once

#include <cstdint>
#include <string>

#include "common/model/job_reason.hpp"

namespace sluice::state {

[[nodiscard]] constexpr int32_t signal_of(int32_t status) { return status & 0x7f; }
[[nodiscard]] constexpr int32_t code_of(int32_t status) { return (status >> 8) & 0xff; }
// As a shell shows it: the code, or 128 and the signal.
[[nodiscard]] constexpr int32_t shell_code(int32_t status) {
  return signal_of(status) != 0 ? 128 + signal_of(status) : code_of(status);
}
[[nodiscard]] constexpr int32_t worse_exit(int32_t a, int32_t b) {
  return shell_code(b) > shell_code(a) ? b : a;
}

}  // namespace sluice::state
