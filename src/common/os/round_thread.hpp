// A thread that works in rounds and rests in between. It can be stopped while it rests.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "common/base/time.hpp"

namespace sluice {

class RoundThread {
 public:
  RoundThread() = default;
  RoundThread(const RoundThread&) = delete;
  RoundThread& operator=(const RoundThread&) = delete;
  ~RoundThread() { stop(); }

  // Once. `run` returns soon after rest() or is_stopped() tells it to.
  void start(std::function<void()> run) { thread_ = std::thread(std::move(run)); }
  // Waits until the thread has ended. False where it was stopped before.
  bool stop() {
    const bool first = stop_.request_stop();
    if (thread_.joinable()) thread_.join();
    return first;
  }

  // By the thread itself. False at once when it is to end.
  [[nodiscard]] bool rest(Duration pause) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop_.get_token(), pause, [] { return false; });
    return !is_stopped();
  }
  [[nodiscard]] bool is_stopped() const { return stop_.stop_requested(); }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace sluice
