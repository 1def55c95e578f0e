// Jobs that share CPUs take turns (state/rules/gang.hpp).
#pragma once

#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

// Suspends those whose turn is over, and has others go on.
void rotate_gangs(Draft& draft, Time now);

}  // namespace sluice::state
