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

// How many times as long as a release build on a quiet machine this one may take.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kSlack = 60;
#elif defined(__OPTIMIZE__) && defined(NDEBUG)
inline constexpr int kSlack = 3;
#else
inline constexpr int kSlack = 8;
#endif

}  // namespace sluice
