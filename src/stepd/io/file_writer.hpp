// The process that writes what sbcast and srun --bcast send to a node: one a transfer. It is the
// user before it opens anything, so a link or a folder that somebody put there leads nowhere where
// the user could not go himself.
#pragma once

namespace sluice::stepd {

// Obeys the agent at the other end of `agent` until it closes; common/protocol/broadcast.hpp. What
// was begun and not ended is removed. The exit status.
int write_files(int agent);

}  // namespace sluice::stepd
