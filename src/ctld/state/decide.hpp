// decide(): may a command be obeyed, and what happens then? It never changes the state; apply()
// does, with the events decided here. One verb a file in decide/.
#pragma once

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/commands.hpp"
#include "ctld/state/messages/effects.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::state {

// `events` may be empty: nothing changed and nothing needs to be journaled. The reply goes out when
// they are durable.
struct Decision {
  Events events;
  Reply reply;
  Effects effects;  // beside those of react(): what has to be done again although nothing changed
};

// An error carries Slurm's code and, where Slurm says more than the code's own sentence, the text.
[[nodiscard]] Result<Decision> decide(const ClusterState& state, const Command& command, Time now);

}  // namespace sluice::state
