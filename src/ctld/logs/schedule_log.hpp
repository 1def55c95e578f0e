// SlurmSchedLogFile: what each pass of the scheduler decided. A line for the pass and one for each
// start; for a job that waits one whenever its reason, its forecast or the nodes kept for it have
// changed.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "common/log/log_file.hpp"
#include "ctld/engine/scheduler_loop.hpp"

namespace sluice::ctld {

class ScheduleLog {
 public:
  // Writes what this pass decided to the file that its configuration names; level 0: nothing.
  void note(const engine::PassReport& report, uint32_t level);
  void reopen();

 private:
  std::string lines_of(const engine::PassReport& report);

  std::mutex mutex_;
  log::LogFile file_;
  bool complained_ = false;  // of a file that cannot be opened
  uint64_t pass_ = 0;
  std::map<JobId, std::string> waiting_;  // what was last said of each job that waits
};

}  // namespace sluice::ctld
