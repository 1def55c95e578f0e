// Jobs with their steps, events and reservations of one cluster of a slurmdbd's database.
#pragma once

#include <string>

#include "dbd/import/entities.hpp"
#include "dbd/import/import.hpp"

namespace sluice::dbd {

[[nodiscard]] Status import_history(Session& source, const std::string& cluster,
                                    const SourceNames& names, Database& target,
                                    ImportCounts& counts, Time now);

}  // namespace sluice::dbd
