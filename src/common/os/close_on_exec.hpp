// Descriptors that a program which is started is not to have.
#pragma once

namespace sluice {

// This one and all above it are closed when another program is executed, whoever opened them. May
// be called between fork and exec.
void close_on_exec_from(int first);

}  // namespace sluice
