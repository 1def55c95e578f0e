// The processes of a step: everything below the step daemon, which adopts orphans (it is their
// subreaper), so that nothing a task leaves behind gets away.
#pragma once

#include <vector>

#include <sys/types.h>

namespace sluice::stepd {

// Children, their children and so on of `root`, in no order; `root` itself is not among them.
// Zombies are.
[[nodiscard]] std::vector<pid_t> descendants(pid_t root);

// Whether all of it has ended, and a tracer that does not wait for it keeps that from its parent:
// nothing is left of it that could be killed.
[[nodiscard]] bool is_kept_dead(pid_t pid);

// Whether it has a handler for SIGTERM: it does not ignore it, nor die by it.
[[nodiscard]] bool catches_term(pid_t pid);

}  // namespace sluice::stepd
