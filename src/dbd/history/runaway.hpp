// Jobs that have no end in the database, and are over.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"
#include "common/protocol/accounting_usage.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

// They get one, and so do steps that have none; gives how many jobs did.
[[nodiscard]] Result<uint32_t> end_runaway_jobs(Database& database,
                                                const protocol::EndRunawayJobsRequest& request);

}  // namespace sluice::dbd
