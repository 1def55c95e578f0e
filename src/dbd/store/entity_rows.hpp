// The entities' tables: reading all, and writing those that a change differs in. Called within a
// transaction; what SOCI throws is Database's to catch.
#pragma once

#include "dbd/entities/change.hpp"
#include "dbd/store/session.hpp"

namespace sluice::dbd {

[[nodiscard]] uint64_t stored_version(Session& sql);  // 0: there are none yet
// Throws std::runtime_error where a record cannot be read.
[[nodiscard]] Entities read_entities(Session& sql);
void write_difference(Session& sql, const EntityDiff& diff);
void write_transactions(Session& sql, const std::vector<protocol::TransactionRecord>& transactions);

}  // namespace sluice::dbd
