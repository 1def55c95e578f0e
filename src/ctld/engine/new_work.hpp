// Which commands begin something, and so are refused while the journal has no room or too much waits
// already. Ends and reports are taken: they wait in memory until they can be written.
#pragma once

#include "ctld/state/commands.hpp"

namespace sluice::engine {

[[nodiscard]] bool is_new_work(const state::Command& command);

}  // namespace sluice::engine
