// scontrol update and the limits of accounting: a job that moves to another account, QOS or
// partition is submitted there, and what an operator sets no limit holds.
#pragma once

#include "common/model/job_update.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// What operators have set of the job once it is updated: a user's own value is not one any more.
[[nodiscard]] AdminSet admin_set_after(const ClusterState& state, const Job& job,
                                       const JobUpdate& update, uint32_t by);
// Whom the job is charged to afterwards; null: as before. kJobNotPending: it has begun, and its QOS
// would be another one.
[[nodiscard]] Result<std::shared_ptr<const JobAccount>> changed_account(const ClusterState& state,
                                                                        const Job& job,
                                                                        const JobUpdate& update,
                                                                        uint32_t by, JobSpec& spec);
// Whether the job may wait in `account` (null: it stays), as at submission; it gets a time limit of
// MaxWall where it asks for none. kMaxSubmitLimit; operators pass.
[[nodiscard]] Status check_move(const ClusterState& state, const Job& job,
                                const JobAccount* account, uint32_t by, JobSpec& spec, Time now);

}  // namespace sluice::state
