// The tables, by versions of the database. A landed step is never changed: add another one.
#pragma once

#include <soci/soci.h>

#include "common/base/result.hpp"

namespace sluice::dbd {

// Brings an empty database, or one of an earlier version, to the newest version. Within a
// transaction. Errors: a database of a later version, or of another program.
[[nodiscard]] Status migrate(soci::session& sql);

}  // namespace sluice::dbd
