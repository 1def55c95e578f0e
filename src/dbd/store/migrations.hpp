// The tables, by versions of the database. A landed step is never changed: add another one.
#pragma once

#include "common/base/result.hpp"
#include "dbd/store/session.hpp"

namespace sluice::dbd {

// Brings an empty database, or one of an earlier version, to the newest version, in a transaction
// of its own; MariaDB commits each statement, and goes on where it was interrupted. Errors: a
// database of a later version, or of another program.
[[nodiscard]] Status migrate(Session& sql);

}  // namespace sluice::dbd
