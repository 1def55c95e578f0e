// Scripts and environments that no job has used since a time go.
#pragma once

#include <string>

#include "dbd/archive/purge.hpp"

namespace sluice::dbd {

// Of one cluster. Those whose role is not known, of an older database, go when the rules of both
// want it. In files they are beside when they were last used.
[[nodiscard]] Status purge_blobs(Database& database, const PurgeRules& rules, long long cluster,
                                 const std::string& name, Time now, PurgeResult& result);

}  // namespace sluice::dbd
