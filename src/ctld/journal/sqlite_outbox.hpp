// The outbox of the SQLite store: what the accounting daemon is to be told, in the journal's own
// file, so that it is durable with what it tells of.
#pragma once

#include <string>
#include <vector>

#include "ctld/journal/sqlite_db.hpp"
#include "ctld/journal/store.hpp"

namespace sluice::journal {

// In the transaction that is open.
Status add_outgoing(Database& database, const std::vector<std::string>& records);
Result<OutboxBatch> read_outgoing(Database& database, size_t records, size_t bytes);

// The stream that the numbers belong to; made when there is none: in a new file, and in a copy.
Result<std::string> outbox_stream(Database& database, const std::string& fresh);
// So that the numbers of a copy are not taken for those that follow in the original.
Status forget_outbox_stream(Database& database);

// The highest number that was given when the store was opened, kept until the accounting daemon has
// said that it knows no higher one of the stream.
Status mark_unchecked(Database& database);
Result<int64_t> unchecked_from(Database& database);
Status mark_checked(Database& database);

}  // namespace sluice::journal
