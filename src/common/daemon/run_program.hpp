// Runs one program of the site and waits for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::daemon {

// Who the program runs as; an empty name: as this process, and so does everybody where this is not
// root. Another than root has bounds: 1 GiB of address space a process, 64 threads at once beside
// those that he has on this host, and the kernel ends his program first where memory is short.
struct ProgramUser {
  std::string name;
  uint32_t uid = 0, gid = 0;
};

// The status as wait(2) gives it; -1 when it could not be started. The first word is its path. What
// runs longer than `most` (0: no limit) is killed with all of its session. `of` begins each line of
// the log: "JobId=17: ".
[[nodiscard]] int run_program(const std::vector<std::string>& words,
                              const std::map<std::string, std::string>& environment,
                              const ProgramUser& user, std::chrono::milliseconds most = {},
                              const std::string& of = {});

}  // namespace sluice::daemon
