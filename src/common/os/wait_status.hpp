// How child processes end: the status of waitpid().
#pragma once

#include <optional>

#include <sys/types.h>

namespace sluice {

// Until `child` has ended, whatever signals come meanwhile. Nothing when it is none of ours, or
// nobody kept its status.
std::optional<int> wait_for_child(pid_t child);

// What a shell makes of a status: the exit code, or 128 and the number of the signal.
[[nodiscard]] int shell_code(int status);

// Which status a step has, as in Slurm: of its tasks a signal counts more than an exit code, then
// the higher one does; srun ends so, too, with all of its tasks ...
[[nodiscard]] int worse_of_tasks(int a, int b);
// ... but of what nodes report, and of the steps of a job (DerivedExitCode), the higher status as
// it is: any exit code counts more than a signal.
[[nodiscard]] constexpr int worse_of_reports(int a, int b) { return a < b ? b : a; }

}  // namespace sluice
