// Points in time and spans, in microseconds. The core never asks for the time: it is passed in.
#pragma once

#include <chrono>
#include <cstdint>

namespace sluice {

using Duration = std::chrono::microseconds;
using Time = std::chrono::sys_time<Duration>;  // Unix time, UTC

// "not set", shown as Unknown, None or N/A
inline constexpr Time kNoTime{};
inline constexpr Time kNever{Duration(INT64_C(1) << 61)};  // later than anything

// For deadlines: a clock that nobody sets. It says nothing of the time of day, and is not kept or
// sent.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
inline constexpr SteadyTime kNoDeadline{Duration(INT64_C(1) << 61)};  // later than anything

[[nodiscard]] constexpr int64_t to_seconds(Time t) {
  return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
}
[[nodiscard]] constexpr int64_t to_seconds(Duration d) {
  return std::chrono::duration_cast<std::chrono::seconds>(d).count();
}
[[nodiscard]] constexpr Time from_seconds(int64_t s) { return Time(std::chrono::seconds(s)); }

// Limits in whole minutes, as Slurm keeps them.
using Minutes = uint32_t;
inline constexpr Minutes kInfiniteMinutes = UINT32_MAX;  // UNLIMITED

}  // namespace sluice
