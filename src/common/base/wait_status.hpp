// How child processes end: the status of waitpid().
#pragma once

#include <optional>

#include <sys/types.h>

namespace sluice {

// Until `child` has ended, whatever signals come meanwhile. Nothing when it is none of ours, or nobody kept its status.
std::optional<int> wait_for_child(pid_t child);

// What a shell makes of a status: the exit code, or 128 and the number of the signal.
[[nodiscard]] int shell_code(int status);

}  // namespace sluice
