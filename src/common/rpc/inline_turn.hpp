// Whether a caller may do a short piece of work on its own thread that might hang: one caller at a
// time, and only as long as the work of late was fast. Who gets no turn hands the work to a thread
// that may wait. So a daemon that begins to hang holds one caller's thread, once, and handing work
// over costs nothing as long as it answers. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>

namespace sluice::net {

class InlineTurn {
 public:
  static constexpr std::chrono::milliseconds kFast{5};
  // so many fast ones in a row come before the first turn, and after a slow one
  static constexpr int kFastOnes = 16;

  // True: the caller does the work now, and gives the turn back.
  [[nodiscard]] bool take() {
    return fast_.load(std::memory_order_relaxed) >= kFastOnes &&
           !taken_.exchange(true, std::memory_order_acquire);
  }
  void give_back() { taken_.store(false, std::memory_order_release); }

  // How long the work took, whoever did it.
  void note(std::chrono::steady_clock::duration took) {
    if (took > kFast) fast_.store(0, std::memory_order_relaxed);
    else if (fast_.load(std::memory_order_relaxed) < kFastOnes)
      fast_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<int> fast_{0};
  std::atomic<bool> taken_{false};
};

}  // namespace sluice::net
