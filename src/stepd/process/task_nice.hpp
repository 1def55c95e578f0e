// PropagatePrioProcess: the nice value of tasks.
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::stepd {

// What a task gets; nothing: it inherits the daemon's. `rule` is the key's value, `submitted` that
// of the command which submitted the task, `daemon` the one here. Only root's tasks go before the
// daemon, and with rule 2 nobody's.
[[nodiscard]] std::optional<int> task_nice(uint32_t rule, int submitted, int daemon, bool is_root);

}  // namespace sluice::stepd
