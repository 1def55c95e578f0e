// The site's programs that run now, each started and waited for by a thread of its own, so that
// they can be ended with the daemon. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include <sys/types.h>

namespace sluice::daemon {

class RunningPrograms {
 public:
  // While this is there the calling thread's child is one of them. `what` is for the log.
  class Here {
   public:
    Here(RunningPrograms& all, const std::string& what);
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;
    ~Here();

   private:
    RunningPrograms& all_;
    const pid_t thread_;
  };
  // Returns when none runs. Those that run still after `patience` are killed, with all of their
  // process groups.
  void end(std::chrono::milliseconds patience);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<pid_t, std::string> threads_;  // guarded by mutex_
};

}  // namespace sluice::daemon
