// What the controller knows of jobs, as sacct shows it, where the accounting daemon is away.
#pragma once

#include <functional>

#include "cli/shared/client.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice::cli {

[[nodiscard]] JobHistory current_history(const protocol::JobRecord& record);

// Jobs that wait, run, or ended a short while ago; of steps those that run.
[[nodiscard]] Status stream_current_jobs(Client& client,
                                         const protocol::QueryHistoryRequest& request,
                                         const std::function<void(protocol::HistoryChunk&&)>& take);

}  // namespace sluice::cli
