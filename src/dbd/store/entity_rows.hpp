// The entities' tables: reading all, and writing those that a change differs in. Called within a
// transaction; what SOCI throws is Database's to catch.
#pragma once

#include <soci/soci.h>

#include "dbd/entities/change.hpp"

namespace sluice::dbd {

[[nodiscard]] uint64_t stored_version(soci::session& sql);  // 0: there are none yet
// Throws std::runtime_error where a record cannot be read.
[[nodiscard]] Entities read_entities(soci::session& sql);
void write_difference(soci::session& sql, const EntityDiff& diff);

}  // namespace sluice::dbd
