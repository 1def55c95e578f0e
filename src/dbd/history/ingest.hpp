// Takes the records of controllers into the database.
#pragma once

#include <vector>

#include "common/base/result.hpp"
#include "common/model/history.hpp"
#include "common/protocol/accounting.hpp"
#include "dbd/store/blob_role.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

// In one transaction with the number of the last record: each counts once, however often it comes.
// A record that cannot be read, and a gap before `first`, is told in the log and passed over.
// Errors: those of the database, kBadRequest.
[[nodiscard]] Result<protocol::StoreHistoryReply> store_history(
    Database& database, const protocol::StoreHistoryRequest& request, Time now);

// Jobs, steps, reservations and blobs of a cluster's past, from elsewhere than its controller, in
// one transaction; what is there of them is replaced. Of events of nodes and of the cluster those
// with a beginning that is not known are added.
struct PastEvent {
  Time start = kNoTime, end = kNoTime;  // kNoTime: not over
  HistoryRecord record;                 // a node's or the cluster's
};
[[nodiscard]] Status store_past(Database& database, const std::string& cluster,
                                const std::vector<HistoryRecord>& records,
                                const std::vector<PastEvent>& events, Time now);

// Puts jobs and steps back that were purged; those that are there stay as they are, and a step
// without its job is passed over. In a transaction that writes. Gives how many were put.
[[nodiscard]] uint64_t restore_history(Session& sql, int64_t cluster,
                                       const std::vector<HistoryRecord>& records);

// Puts a script or an environment back that was purged; `used`: when it last was, in microseconds.
// In a transaction that writes. False: it was there.
bool restore_blob(Session& sql, int64_t cluster, const BlobHistory& blob, BlobRole role,
                  int64_t used);

// The cluster's row, made where there is none. In a transaction that writes.
[[nodiscard]] int64_t cluster_row(Session& sql, const std::string& name, Time now);

}  // namespace sluice::dbd
