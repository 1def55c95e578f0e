// Takes the records of controllers into the database.
#pragma once

#include "common/base/result.hpp"
#include "common/protocol/accounting.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

// In one transaction with the number of the last record: each counts once, however often it comes.
// A record that cannot be read, and a gap before `first`, is told in the log and passed over.
// Errors: those of the database, kBadRequest.
[[nodiscard]] Result<protocol::StoreHistoryReply> store_history(
    Database& database, const protocol::StoreHistoryRequest& request, Time now);

// The cluster's row, made where there is none. In a transaction that writes.
[[nodiscard]] int64_t cluster_row(Session& sql, const std::string& name, Time now);

}  // namespace sluice::dbd
