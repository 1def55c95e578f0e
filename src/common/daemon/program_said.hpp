// What a program of the site's printed, in the daemon's log.
#pragma once

#include <string_view>

#include "common/os/program_output.hpp"

namespace sluice::daemon {

inline constexpr size_t kMostProgramOutput = 1U << 20;  // in memory, of one that runs

// The program is over with that status, as wait(2) gives it: of one that failed the last lines are
// logged, "WHO: LINE" (of another with DebugFlags=Script only), and no more is kept.
void log_what_it_said(ProgramOutput& output, std::string_view who, int status);

}  // namespace sluice::daemon
