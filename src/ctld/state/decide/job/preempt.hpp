// Running jobs make room for others.
#pragma once

#include "ctld/state/messages/commands.hpp"
#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

// The job is suspended, ended, or told to end within its grace time; nothing when it need not make
// room any more.
void preempt(Draft& draft, const PlannedPreemption& plan, Time now);
// A job that was suspended for others goes on; nothing when its CPUs are not free.
void go_on(Draft& draft, const PlannedResume& plan, Time now);
// Its grace time is over: it is cancelled, or waits again (PreemptMode=REQUEUE).
void end_preempted(Draft& draft, JobId job, Time now);

}  // namespace sluice::state
