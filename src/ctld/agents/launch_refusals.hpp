// Why nodes refused the last launches: srun, which waits for its step to begin, can say it then.
// Any thread.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "common/base/ids.hpp"

namespace sluice::ctld {

class LaunchRefusals {
 public:
  void note(StepId step, std::string why) {
    const std::lock_guard lock(mutex_);
    if (last_.size() == kMost) last_.pop_front();
    last_.emplace_back(step, std::move(why));
  }
  // Empty: it was not refused, or too many were since.
  [[nodiscard]] std::string reason(StepId step) const {
    const std::lock_guard lock(mutex_);
    for (auto at = last_.rbegin(); at != last_.rend(); ++at) {
      if (at->first == step) return at->second;
    }
    return {};
  }

 private:
  static constexpr size_t kMost = 200;  // srun asks within seconds
  mutable std::mutex mutex_;
  std::deque<std::pair<StepId, std::string>> last_;  // guarded by mutex_
};

}  // namespace sluice::ctld
