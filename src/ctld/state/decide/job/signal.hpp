// Cancelling and signalling what was found, however it was named; shared by scancel's two requests.
#pragma once

#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

// Without --signal, or with KILL for the whole job, the job ends. Of the orders the target is not
// looked at here.
[[nodiscard]] bool ends_the_job(const SignalJob& order);
[[nodiscard]] Status signal_job(Draft& draft, JobId id, const SignalJob& order, Time now);
[[nodiscard]] Status signal_step(Draft& draft, StepId id, const SignalJob& order, Time now);

}  // namespace sluice::state
