// When a file was written last, by the clock of who wrote it.
#pragma once

#include <chrono>

#include <sys/stat.h>

#include "common/base/time.hpp"

namespace sluice {

[[nodiscard]] inline Time modified(const struct stat& file) {
  return Time(std::chrono::seconds(file.st_mtim.tv_sec) +
              std::chrono::microseconds(file.st_mtim.tv_nsec / 1000));
}

}  // namespace sluice
