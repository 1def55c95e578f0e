// When jobs that wait begin to gain age: as soon as they could start, and as many of them as
// GrpJobsAccrue and MaxJobsAccrue let.
#pragma once

#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

// A pending job could start from now on, and was not until now: is_eligible().
void begin_to_wait(Draft& draft, JobId id, Time now);
// Those that were limited, the oldest first, as far as there is room for them. Of an array the
// first tasks get records of their own.
void tick_age(Draft& draft, Time now);

}  // namespace sluice::state
