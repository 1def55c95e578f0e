// Which commands begin something, and so are refused while the journal has no room or too much
// waits already. Ends and reports are taken: they wait in memory until they can be written.
#pragma once

#include "ctld/state/messages/commands.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::engine {

[[nodiscard]] bool is_new_work(const state::Command& command);

// Whether a job gets a number by them: a new one, or a task that leaves its array's record.
[[nodiscard]] bool gives_job_ids(const state::Events& events);

}  // namespace sluice::engine
