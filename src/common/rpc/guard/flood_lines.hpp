// Log lines of what a flood is made of: one each second, and the others are counted. Internal to
// rpc.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "common/base/time.hpp"

namespace sluice::net {

// Thread-safe.
class FloodLines {
 public:
  // Something that a line may be about. What to say behind it: nothing, or how many others there
  // were since the last line. nullopt: no line is due.
  [[nodiscard]] std::optional<std::string> next(SteadyTime now) {
    constexpr Duration kBetweenLines = std::chrono::seconds(1);
    const std::lock_guard lock(mutex_);
    ++unsaid_;
    if (now < said_ + kBetweenLines) return std::nullopt;
    std::string others =
        unsaid_ > 1 ? fmt::format(", and {} others since the last such line", unsaid_ - 1) : "";
    said_ = now;
    unsaid_ = 0;
    return others;
  }

 private:
  std::mutex mutex_;
  SteadyTime said_{};
  uint64_t unsaid_ = 0;
};

}  // namespace sluice::net
