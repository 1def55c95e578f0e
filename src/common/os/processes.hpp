// The processes of this host, and signals to those that are meant.
#pragma once

#include <functional>
#include <vector>

#include <sys/types.h>

namespace sluice {

// All but this one and the first.
[[nodiscard]] std::vector<pid_t> other_processes();

// Sends the signal to a process that is_meant(). That is asked again through a descriptor of it:
// its number may be another's in the next moment. False: it is not meant, or gone.
bool signal_if(pid_t pid, int signal, const std::function<bool()>& is_meant);

// A process that a control group of version 1 keeps frozen ends by SIGKILL only once its groups are
// thawed. No-op for others.
void thaw(pid_t pid);

}  // namespace sluice
