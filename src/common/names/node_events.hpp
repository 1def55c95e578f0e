// States of nodes as accounting keeps them.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// As sacctmgr shows the state of an event, of which `complete` is what node_state_complete() made:
// "DRAIN" of "IDLE+DRAIN". A text that it did not make stays.
[[nodiscard]] std::string node_event_state(std::string_view complete);

}  // namespace sluice
