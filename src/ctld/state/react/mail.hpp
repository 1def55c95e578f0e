// Which mail a job's user asked for with --mail-type.
#pragma once

#include <memory>

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/effects.hpp"

namespace sluice::state {

void mail_start(const ClusterState& state, const Job& job, Effects& effects);
// A run is over; `record` is the job as it was then.
void mail_end(const ClusterState& state, const std::shared_ptr<const Job>& record, bool requeued,
              Effects& effects);
void mail_limit(const Job& job, uint32_t percent, Effects& effects);
void mail_invalid_dependency(const Job& job, Effects& effects);

}  // namespace sluice::state
