// What the kernel's log says of processes that it killed for want of memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace sluice::cgroup {

struct OomVictim {
  pid_t pid = 0;
  std::string name;   // of its program, cut to 15 characters by the kernel
  std::string group;  // where it was, as Tree::kernel_name() says it
};

// Those of `log` that were in `group` or below, oldest first.
[[nodiscard]] std::vector<OomVictim> oom_victims(std::string_view log, std::string_view group);

// The lines of the kernel's log that tell of such ends; empty when it may not be read.
[[nodiscard]] std::string read_oom_log();

}  // namespace sluice::cgroup
