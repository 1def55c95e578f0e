// What this thread has used of a processor: a loaded machine changes nothing of it.
#pragma once

#include <chrono>
#include <ctime>

namespace sluice {

inline std::chrono::microseconds cpu_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_nsec / 1000);
}

}  // namespace sluice
