// What time does to reservations and to the jobs in them; a part of the tick.
#pragma once

#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

// Jobs in a reservation that is over (and ResvOverRun later) are over, too. Then it comes again, or
// is gone and the jobs that wait for it are held. Nodes that fail are replaced where that is
// wanted.
void tick_reservations(Draft& draft, Time now);

}  // namespace sluice::state
