// What the kernel counts in the control groups of a step; nothing where there are none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace sluice::stepd {

class GroupCounts {
 public:
  virtual ~GroupCounts() = default;
  [[nodiscard]] virtual bool exists() const = 0;  // it counts at all
  [[nodiscard]] virtual std::vector<pid_t> processes_of(uint32_t local_task) const = 0;
  // Processes that were killed for want of memory.
  [[nodiscard]] virtual uint64_t oom_kills() const = 0;
  [[nodiscard]] virtual uint64_t oom_kills_of(uint32_t local_task) const = 0;
  // "python3 (pid 123, task 0)" for each process of the step that the kernel's log names.
  [[nodiscard]] virtual std::vector<std::string> oom_victims() const = 0;
  // How often, since this step began, a process of the job could have no other for want of room
  // below its limit.
  [[nodiscard]] virtual uint64_t fork_refusals() const = 0;
  [[nodiscard]] virtual uint64_t most_pids() const = 0;
};

}  // namespace sluice::stepd
